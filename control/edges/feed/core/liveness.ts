// Whether a tunnel's route, and the certificates that it needs, have been acknowledged. Pure.
// Progressing until the region has acknowledged both.

import { servingNames } from '@underpass/rules/names/hostname.ts';
import type { FeedTunnel } from '@underpass/wire/feed/feed.ts';

export interface SentCertificate {
  readonly notAfterMs: number;
  /** The number of the message that brought it. */
  readonly seq: number;
}

/** The number of the message after which an edge can serve this tunnel; undefined while a certificate is missing. */
export function readySeq(
  tunnel: Pick<FeedTunnel, 'type' | 'hosts'>,
  tunnelSeq: number,
  certificatesNamed: (name: string) => Iterable<SentCertificate>,
  nowMs: number,
): number | undefined {
  switch (tunnel.type) {
    case 'ingress':
    case 'tcp':
      return tunnelSeq;
    case 'http':
      return certifiedSeq(tunnel.hosts, tunnelSeq, certificatesNamed, nowMs);
  }
}

/** The same for a tunnel whose hosts all need a certificate at the edge. */
export function certifiedSeq(
  hosts: readonly string[],
  tunnelSeq: number,
  certificatesNamed: (name: string) => Iterable<SentCertificate>,
  nowMs: number,
): number | undefined {
  let seq = tunnelSeq;
  for (const host of hosts) {
    const serving = servingNames(host).flatMap((name) => [...certificatesNamed(name)]);
    const usable = serving.filter((certificate) => certificate.notAfterMs > nowMs);
    if (usable.length === 0) return undefined;
    seq = Math.max(seq, Math.min(...usable.map((certificate) => certificate.seq)));
  }
  return seq;
}
