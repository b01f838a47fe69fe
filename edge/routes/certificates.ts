// Certificates by host, as contexts for the TLS server: the host's own, or that of the wildcard above it.

import { createSecureContext, type SecureContext } from 'node:tls';
import { servingNames } from '@underpass/rules/hostname.ts';
import type { FeedCertificate } from '@underpass/wire/feed.ts';
import type { Logger } from 'pino';

interface Entry {
  readonly certificate: FeedCertificate;
  /** Built on first use; null if the PEM is unusable. */
  context: SecureContext | null | undefined;
}

export class Certificates {
  readonly #entries = new Map<string, Entry>();
  #byHost = new Map<string, Entry>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  put(certificate: FeedCertificate): void {
    this.#entries.set(certificate.id, { certificate, context: undefined });
  }

  drop(id: string): void {
    this.#entries.delete(id);
  }

  /** Call it after a batch of changes. The certificate that expires last wins a host. */
  reindex(): void {
    const byHost = new Map<string, Entry>();
    for (const entry of this.#entries.values()) {
      for (const host of entry.certificate.hosts) {
        const other = byHost.get(host);
        if (other === undefined || other.certificate.notAfterMs < entry.certificate.notAfterMs) byHost.set(host, entry);
      }
    }
    this.#byHost = byHost;
  }

  contextOf(host: string): SecureContext | null {
    const entry = this.#entryOf(host);
    if (entry === undefined) return null;
    if (entry.context === undefined) entry.context = this.#build(entry.certificate);
    return entry.context;
  }

  /** The host's own certificate until it expires: one that replaced a wildcard for a while is not renewed. */
  #entryOf(host: string): Entry | undefined {
    const own = this.#byHost.get(host);
    if (own !== undefined && own.certificate.notAfterMs > Date.now()) return own;
    return this.#byHost.get(servingNames(host)[1]) ?? own;
  }

  #build({ id, certificatePem, privateKeyPem }: FeedCertificate): SecureContext | null {
    try {
      return createSecureContext({ cert: certificatePem, key: privateKeyPem, minVersion: 'TLSv1.2' });
    } catch (error) {
      this.#log.error({ certificate: id, error: String(error) }, 'certificate cannot be used');
      return null;
    }
  }
}
