// What one edge process counts beside its tunnels, as plain data that workers send to their primary.

import type { VisitorError } from './core/visitor-error.ts';

export interface EdgeStats {
  readonly sockets: number;
  readonly deadlines: number;
  readonly clients: number;
  readonly streams: number;
  readonly rxBytes: number;
  readonly txBytes: number;
  readonly connections: number;
  readonly requests: number;
  readonly unrouted: number;
  /** Responses by hundreds of their status. */
  readonly responses: readonly number[];
  readonly errors: Readonly<Partial<Record<VisitorError, number>>>;
}

const none: EdgeStats = {
  sockets: 0,
  deadlines: 0,
  clients: 0,
  streams: 0,
  rxBytes: 0,
  txBytes: 0,
  connections: 0,
  requests: 0,
  unrouted: 0,
  responses: [0, 0, 0, 0, 0, 0],
  errors: {},
};

export function sumStats(all: readonly EdgeStats[]): EdgeStats {
  return all.reduce(addStats, none);
}

function addStats(a: EdgeStats, b: EdgeStats): EdgeStats {
  const errors: Partial<Record<VisitorError, number>> = { ...a.errors };
  for (const [code, count] of Object.entries(b.errors))
    errors[code as VisitorError] = (errors[code as VisitorError] ?? 0) + count;
  return {
    sockets: a.sockets + b.sockets,
    deadlines: a.deadlines + b.deadlines,
    clients: a.clients + b.clients,
    streams: a.streams + b.streams,
    rxBytes: a.rxBytes + b.rxBytes,
    txBytes: a.txBytes + b.txBytes,
    connections: a.connections + b.connections,
    requests: a.requests + b.requests,
    unrouted: a.unrouted + b.unrouted,
    responses: a.responses.map((count, i) => count + (b.responses[i] ?? 0)),
    errors,
  };
}
