// What the edges' reports say about a region: who is connected, or only that they do not know. Pure.

import type { EdgeHealth } from '@underpass/rules/entity/resource.ts';
import type { ProjectFacts } from '@underpass/rules/tunnel/attention.ts';
import type { StandingTunnel } from './list.ts';

/** An edge tells its clients within seconds of its first word; until then a region's tunnels may be carried or not. */
export const firstReportMs = 60_000;

/**
 * `known`: all edges are there and have reported. `partial`: one is silent, so its clients may be connected or not. `settling`: one has
 * just come. `down`: none is there. `absent`: no edge has been heard yet, or all have been silent for long.
 */
type RegionPresence = 'known' | 'partial' | 'settling' | 'down' | 'absent';

export function presenceOf(
  edges: readonly EdgeHealth[],
  region: string,
  nowMs: number,
  settleMs = firstReportMs,
): RegionPresence {
  const own = edges.filter((edge) => edge.region === region);
  const connected = own.filter((edge) => edge.connected);
  if (connected.length === 0) return own.length === 0 ? 'absent' : 'down';
  if (connected.some((edge) => nowMs - Date.parse(edge.since) <= settleMs)) return 'settling';
  return connected.length === own.length ? 'known' : 'partial';
}

/** A client was there, and nobody stopped it. */
export const isExpected = ({ standing: { last, clients } }: Pick<StandingTunnel, 'standing'>): boolean =>
  clients > 0 || (last.seen !== null && !last.left?.onPurpose);

/** The regions that serve none of the project's tunnels. `also`: what else than `down` counts. */
export function findDownRegions(
  tunnels: readonly StandingTunnel[],
  edges: readonly EdgeHealth[],
  nowMs: number,
  also: RegionPresence = 'down',
): ProjectFacts['downRegions'] {
  const regions = Map.groupBy(tunnels.filter(isExpected), ({ region }) => region);
  return [...regions].flatMap(([region, affected]) => {
    const presence = presenceOf(edges, region, nowMs);
    if (presence !== 'down' && presence !== also) return [];
    const heard = edges.filter((edge) => edge.region === region).map(({ lastSeenAt }) => lastSeenAt);
    return [{ region, since: heard.toSorted().at(-1), affected: affected.length }];
  });
}
