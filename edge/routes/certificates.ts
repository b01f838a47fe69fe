// Certificates by host, as contexts that the TLS server takes. A name without one of its own, or under a wildcard, has none.

import { createSecureContext, type SecureContext } from 'node:tls';
import type { FeedCertificate } from '@underpass/wire/feed.ts';
import type { Logger } from 'pino';

interface Entry {
  readonly certificate: FeedCertificate;
  /** Made when first asked for; null where the PEM is unusable. */
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

  /** After a batch of changes: the certificate that ends last wins a host. */
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

  /** Its own while it lives: one that stood in for a wildcard is not renewed once the wildcard is back. */
  #entryOf(host: string): Entry | undefined {
    const own = this.#byHost.get(host);
    if (own !== undefined && own.certificate.notAfterMs > Date.now()) return own;
    return this.#byHost.get(`*${host.slice(host.indexOf('.'))}`) ?? own;
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
