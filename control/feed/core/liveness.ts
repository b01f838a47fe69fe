// Whether a tunnel's route, and the certificates that it needs, have been acknowledged by an edge. Pure.
// design 4: Progressing until an edge of the region has acknowledged both.

import type { FeedCertificate, FeedTunnel } from '@underpass/wire/feed.ts';

/** One wildcard label, leftmost only (RFC 9525 6.3). */
export function certificateCovers(hosts: readonly string[], host: string): boolean {
  const parent = `*.${host.slice(host.indexOf('.') + 1)}`;
  return hosts.includes(host) || (host.includes('.') && hosts.includes(parent));
}

export interface SentCertificate {
  readonly hosts: readonly string[];
  readonly notAfterMs: number;
  readonly seq: number;
}

/** The number of the message after which an edge can serve this tunnel; undefined while something is missing. */
export function readySeq(
  tunnel: Pick<FeedTunnel, 'type' | 'hosts'>,
  tunnelSeq: number,
  certificates: readonly SentCertificate[],
  nowMs: number,
): number | undefined {
  if (tunnel.type === 'ingress') return tunnelSeq;
  let seq = tunnelSeq;
  for (const host of tunnel.hosts) {
    const usable = certificates.filter((each) => each.notAfterMs > nowMs && certificateCovers(each.hosts, host));
    if (usable.length === 0) return undefined;
    seq = Math.max(seq, Math.min(...usable.map((each) => each.seq)));
  }
  return seq;
}

export const needsCertificate = (
  tunnel: FeedTunnel,
  certificates: readonly Pick<FeedCertificate, 'hosts'>[],
): readonly string[] =>
  tunnel.type === 'http' ? tunnel.hosts.filter((host) => !certificates.some((each) => certificateCovers(each.hosts, host))) : [];
