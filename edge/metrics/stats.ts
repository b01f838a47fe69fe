// The figures of one edge process, as plain data that workers send to their primary.

import type { PortProblem } from '@underpass/rules/tunnel/port-range.ts';
import type { VisitorError } from '../core/visitor-error.ts';
import type { Reach } from '../hop/hop-network.ts';
import type { RefusalReason } from '../limits/connection-limiter.ts';

export interface EdgeStats extends Reach {
  readonly sockets: number;
  readonly deadlines: number;
  /** Connections on the public ports, and their limit. */
  readonly open: number;
  readonly openLimit: number;
  /** Source addresses of these connections; an address with connections at two workers counts twice. */
  readonly addresses: number;
  /** Connections refused: by the limit that they exceeded, or because their address is blocked. */
  readonly refused: Readonly<Record<RefusalReason, number>>;
  /** Public ports of tcp tunnels that are open in this process. */
  readonly tcpPorts: number;
  /** The ports that are not open, by tunnel. */
  readonly portProblems: Readonly<Record<string, PortProblem>>;
  readonly clients: number;
  readonly streams: number;
  /** Carriers of clients by congestion control. */
  readonly carriersBy: Counts;
  readonly rxBytes: number;
  readonly txBytes: number;
  readonly connections: number;
  readonly requests: number;
  readonly unrouted: number;
  /** Lines of the access log that were not written. */
  readonly accessLinesDropped: number;
  /** Records of requests that the OpenTelemetry collector did not take. */
  readonly otlpDropped: number;
  /** Responses by hundreds of their status. */
  readonly responses: readonly number[];
  readonly errors: Readonly<Partial<Record<VisitorError, number>>>;
  /** Connections on the public ports by the congestion control that they began with, and by one that they got later. */
  readonly acceptedBy: Counts;
}

type Counts = Readonly<Record<string, number>>;

/** Figures that are added up: what a process holds, and what it has counted. */
const held = ['sockets', 'deadlines', 'open', 'openLimit', 'addresses', 'clients', 'streams'] as const;
const counted = ['rxBytes', 'txBytes', 'connections', 'requests', 'unrouted', 'accessLinesDropped', 'otlpDropped'] as const;

const each = <Name extends string>(names: readonly Name[], of: (name: Name) => number) =>
  Object.fromEntries(names.map((name) => [name, of(name)])) as Record<Name, number>;

const noHops: EdgeStats['hops'] = { working: 0, silent: 0, unreachable: 0 };
/** The figures that fall to zero when a process ends. */
const nothingHeld = { ...each(held, () => 0), hops: noHops, cutOff: 0, tcpPorts: 0, portProblems: {}, carriersBy: {} };

const none: EdgeStats = {
  ...nothingHeld,
  ...each(counted, () => 0),
  refused: { address: 0, total: 0, blocked: 0 },
  responses: [0, 0, 0, 0, 0, 0],
  errors: {},
  acceptedBy: {},
};

export function sumStats(all: readonly EdgeStats[]): EdgeStats {
  return all.reduce(addStats, none);
}

/** What remains of the figures of a process that has ended: its counters, so that totals never fall. */
export const pastOf = (stats: EdgeStats): EdgeStats => ({ ...stats, ...nothingHeld });

function addStats(a: EdgeStats, b: EdgeStats): EdgeStats {
  return {
    ...each([...held, ...counted], (name) => a[name] + b[name]),
    refused: addCounts(a.refused, b.refused),
    hops: addCounts(a.hops, b.hops),
    // Each process counts the same tunnels.
    cutOff: Math.max(a.cutOff, b.cutOff),
    // Each process listens on the same ports.
    tcpPorts: Math.max(a.tcpPorts, b.tcpPorts),
    portProblems: { ...a.portProblems, ...b.portProblems },
    responses: a.responses.map((count, i) => count + (b.responses[i] ?? 0)),
    errors: addCounts(a.errors, b.errors),
    carriersBy: addCounts(a.carriersBy, b.carriersBy),
    acceptedBy: addCounts(a.acceptedBy, b.acceptedBy),
  };
}

function addCounts<Key extends string>(
  a: Readonly<Partial<Record<Key, number>>>,
  b: Readonly<Partial<Record<Key, number>>>,
): Record<Key, number> {
  const sum = { ...a } as Record<Key, number>;
  for (const key of Object.keys(b) as Key[]) sum[key] = (sum[key] ?? 0) + (b[key] ?? 0);
  return sum;
}
