// The figures of one edge process, gathered from what it holds.

import type { VisitorError } from '../core/visitor-error.ts';
import type { EdgeStats } from '../metrics/stats.ts';
import type { VisitorContext } from '../visitor/visitor-context.ts';

export function readStats({ table, deadlines, limiter, counters }: VisitorContext, sockets: number): EdgeStats {
  const tunnels = [...table.active];
  const clients = tunnels.flatMap((tunnel) => tunnel.clients);
  const sum = (key: 'rxBytes' | 'txBytes' | 'connections' | 'requests'): number =>
    tunnels.reduce((total, tunnel) => total + tunnel[key], table.retired[key]);
  return {
    sockets,
    deadlines: deadlines.watched,
    open: limiter.open,
    openLimit: limiter.limits.total,
    addresses: limiter.addresses,
    refused: { ...limiter.refused },
    clients: clients.length,
    streams: clients.reduce((total, { session }) => total + session.openStreams, 0),
    rxBytes: sum('rxBytes'),
    txBytes: sum('txBytes'),
    connections: sum('connections'),
    requests: sum('requests'),
    unrouted: counters.unrouted,
    responses: [...counters.responses],
    errors: Object.fromEntries(counters.errors) as Partial<Record<VisitorError, number>>,
  };
}
