// One upstream for all domains of an http tunnel, with exceptions: for tunnels with more domains than fields fit on a page.

import type { DomainUpstream } from './connect-form.ts';

/** More domains get a field for all. */
export const singleFieldsMost = 8;

/** What most of the domains have; of two that as many have, the first. */
export function commonUpstream(upstreams: readonly DomainUpstream[]): string {
  const counts = new Map<string, number>();
  for (const { upstream } of upstreams) counts.set(upstream, (counts.get(upstream) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return [...counts].find(([, count]) => count === most)?.[0] ?? '';
}

/** Domains with an upstream of their own keep it. */
export function replaceCommon(upstreams: readonly DomainUpstream[], text: string): readonly DomainUpstream[] {
  const common = commonUpstream(upstreams);
  return upstreams.map((entry) => (entry.upstream === common ? { ...entry, upstream: text } : entry));
}
