// The certificates that a region's edges have been sent, by the names that they serve.

import type { FeedCertificate } from '@underpass/wire/feed/feed.ts';
import type { SentCertificate } from './core/liveness.ts';

interface SentCertificates {
  readonly put: (certificate: FeedCertificate, seq: number) => void;
  readonly drop: (id: string) => void;
  readonly named: (name: string) => Iterable<SentCertificate>;
  readonly idsFor: (name: string) => readonly string[];
}

export function createSentCertificates(): SentCertificates {
  const namesById = new Map<string, readonly string[]>();
  const byName = new Map<string, Map<string, SentCertificate>>();

  const drop = (id: string): void => {
    for (const name of namesById.get(id) ?? []) {
      const held = byName.get(name);
      held?.delete(id);
      if (held?.size === 0) byName.delete(name);
    }
    namesById.delete(id);
  };

  const put = ({ id, hosts, notAfterMs }: FeedCertificate, seq: number): void => {
    drop(id);
    namesById.set(id, hosts);
    for (const name of hosts) {
      const held = byName.get(name) ?? new Map<string, SentCertificate>();
      byName.set(name, held.set(id, { notAfterMs, seq }));
    }
  };

  return {
    put,
    drop,
    named: (name) => byName.get(name)?.values() ?? [],
    idsFor: (name) => [...(byName.get(name)?.keys() ?? [])],
  };
}
