// When an edge last saw a client of a tunnel, how the last one left, and what last kept one from working. Pure. Times are of our steady clock.

import { ClientErrorCode } from '@underpass/rules/entity/resource.ts';
import type { FeedTunnelReport } from '@underpass/wire/feed/feed.ts';

interface Sighting {
  readonly atMs: number;
  readonly address: string;
}

export interface ClientTrouble extends Sighting {
  readonly code: ClientErrorCode;
}

export interface Leave {
  readonly atMs: number;
  readonly onPurpose: boolean;
}

export interface LastSeen {
  readonly seen?: Sighting | undefined;
  /** Undefined while a client is there. */
  readonly left?: Leave | undefined;
  readonly error?: ClientTrouble | undefined;
}

type Reported = Pick<FeedTunnelReport, 'clients' | 'refused' | 'left'>;

/** `reportAtMs`: the edge's clock. Only differences to it are used, so the clocks may differ. */
export function nextLastSeen(
  last: LastSeen,
  { clients, refused, left: leave }: Reported,
  reportAtMs: number,
  nowMs: number,
): LastSeen {
  const toOurs = (edgeMs: number): number => nowMs - Math.max(0, reportAtMs - edgeMs);
  let { seen, error } = last;
  for (const { provenAtMs, address, healthy } of clients) {
    if (provenAtMs === null) continue;
    seen = latest(seen, { atMs: toOurs(provenAtMs), address });
    if (!healthy) error = latest(error, { atMs: toOurs(provenAtMs), address, code: 'upstream-down' });
  }
  const code = ClientErrorCode.options.find((known) => known === refused?.code);
  // A report repeats its refusal: the first one dates it.
  if (refused && code && toOurs(refused.atMs) > (error?.atMs ?? Number.NEGATIVE_INFINITY) + sameMs)
    error = { atMs: toOurs(refused.atMs), address: refused.address, code };
  return { seen, left: nextLeave(last, clients.length, leave && { ...leave, atMs: toOurs(leave.atMs) }), error };
}

/** A report repeats the leave too. */
function nextLeave(last: LastSeen, clients: number, leave: Leave | undefined): Leave | undefined {
  if (clients > 0) return undefined;
  return leave === undefined || Math.abs(leave.atMs - (last.left?.atMs ?? Number.NEGATIVE_INFINITY)) < sameMs ? last.left : leave;
}

/** The clocks of two machines drift apart by less between two reports. */
const sameMs = 1000;

export function latest<T extends { readonly atMs: number }>(a: T | undefined, b: T | undefined): T | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return b.atMs >= a.atMs ? b : a;
}
