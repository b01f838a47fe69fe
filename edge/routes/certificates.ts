// Certificates by host, as contexts for the TLS server: the host's own, or that of the wildcard above it.

import { createSecureContext, type SecureContext } from 'node:tls';
import { servingNames } from '@underpass/rules/names/hostname.ts';
import type { FeedCertificate } from '@underpass/wire/feed/feed.ts';
import type { Logger } from 'pino';

interface Entry {
  readonly certificate: FeedCertificate;
  /** Built on first use; null if the PEM is unusable. */
  context: SecureContext | null | undefined;
}

const byPreference = ({ certificate: one }: Entry, { certificate: other }: Entry): number =>
  Number(other.own ?? false) - Number(one.own ?? false) || other.notAfterMs - one.notAfterMs;

const isValid = ({ certificate }: Entry): boolean => certificate.notAfterMs > Date.now();

export class Certificates {
  readonly #entries = new Map<string, Entry>();
  /** Puts those that a project gave first, then the one that ends last. */
  readonly #byHost = new Map<string, readonly Entry[]>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  put(certificate: FeedCertificate): void {
    this.drop(certificate.id);
    const entry = { certificate, context: undefined };
    this.#entries.set(certificate.id, entry);
    for (const host of certificate.hosts) {
      const others = this.#byHost.get(host) ?? [];
      this.#byHost.set(host, [...others, entry].sort(byPreference));
    }
  }

  drop(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    for (const host of entry.certificate.hosts) {
      const others = (this.#byHost.get(host) ?? []).filter((other) => other !== entry);
      if (others.length === 0) this.#byHost.delete(host);
      else this.#byHost.set(host, others);
    }
  }

  contextOf(host: string): SecureContext | null {
    const entry = this.#entryOf(host);
    if (entry === undefined) return null;
    if (entry.context === undefined) entry.context = this.#build(entry.certificate);
    return entry.context;
  }

  /** The host's own certificate until it expires: one that replaced a wildcard for a while is not renewed. */
  #entryOf(host: string): Entry | undefined {
    const [name, wildcard] = servingNames(host);
    const exact = this.#byHost.get(name);
    const valid = exact?.find(isValid);
    if (valid !== undefined) return valid;
    const above = this.#byHost.get(wildcard);
    return above?.find(isValid) ?? above?.[0] ?? exact?.[0];
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
