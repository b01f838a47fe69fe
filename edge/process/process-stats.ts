// The figures of one edge process, gathered from what it holds.

import type { VisitorError } from '../core/visitor-error.ts';
import type { Reach } from '../hop/hop-network.ts';
import type { EdgeStats } from '../metrics/stats.ts';
import type { VisitorContext } from '../visitor/visitor-context.ts';

/** The control of a carrier before its first PING, and where the system does not say. */
const unknown = 'unknown';

export function readStats(
  { table, deadlines, limiter, counters }: VisitorContext,
  reach: Reach,
  sockets: number,
): Omit<EdgeStats, 'accessLinesDropped' | 'otlpDropped' | 'tcpPorts' | 'portProblems'> {
  const tunnels = [...table.active];
  const clients = tunnels.flatMap((tunnel) => tunnel.clients);
  const sum = (key: 'rxBytes' | 'txBytes' | 'connections' | 'requests'): number =>
    tunnels.reduce((total, tunnel) => total + tunnel[key], table.retired[key]);
  return {
    ...reach,
    sockets,
    deadlines: deadlines.watched,
    open: limiter.open,
    openLimit: limiter.limits.total,
    addresses: limiter.addresses,
    refused: { ...limiter.refused },
    clients: clients.length,
    carriersBy: countBy(clients.map(({ session }) => session.congestion ?? unknown)),
    streams: clients.reduce((total, { session }) => total + session.openStreams, 0),
    rxBytes: sum('rxBytes'),
    txBytes: sum('txBytes'),
    connections: sum('connections'),
    requests: sum('requests'),
    unrouted: counters.unrouted,
    responses: [...counters.responses],
    errors: Object.fromEntries(counters.errors) as Partial<Record<VisitorError, number>>,
    acceptedBy: Object.fromEntries(counters.accepted),
  };
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
