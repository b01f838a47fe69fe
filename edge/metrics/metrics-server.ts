// Serves Prometheus metrics and health checks on a port of their own.

import { createServer, type Server } from 'node:http';
import { portProblems } from '@underpass/rules/tunnel/port-range.ts';
import type { FeedCopy } from '@underpass/wire/feed/feed.ts';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { type Listen, listen } from '../door/listen.ts';
import type { FeedStanding } from '../feed/feed-link.ts';
import type { EdgeStats } from './stats.ts';

export interface MetricsOptions {
  readonly listen: Listen;
  readonly stats: () => EdgeStats;
  readonly feed: () => Pick<FeedStanding, 'connected' | 'losses'>;
  /** True once the edge has routes, and knows which clients its neighbours have. */
  readonly ready: () => boolean;
  /** The state of the routes' copy on disk; missing if none is kept. */
  readonly copy?: (() => FeedCopy) | undefined;
  /** True from the moment that the edge accepts no more visitors: balancers that ask /readyz then send them elsewhere. */
  readonly draining: () => boolean;
}

export async function createMetricsServer(options: MetricsOptions): Promise<Server> {
  const registry = createEdgeRegistry(options);
  collectDefaultMetrics({ register: registry });
  const server = createServer(async (request, response) => {
    if (request.url === '/metrics') {
      response.setHeader('content-type', registry.contentType);
      response.end(await registry.metrics());
    } else if (request.url === '/healthz') {
      response.end('ok\n');
    } else if (request.url === '/readyz') {
      const [status, text] = readinessOf(options);
      response.writeHead(status).end(text);
    } else {
      response.statusCode = 404;
      response.end('Not found\n');
    }
  });
  await listen(server, { ...options.listen });
  return server;
}

function readinessOf({ draining, ready, stats }: MetricsOptions): [status: number, text: string] {
  if (draining()) return [503, 'leaving\n'];
  if (!ready()) return [503, 'no routes yet, or neighbours not known yet\n'];
  const { cutOff } = stats();
  // An edge cannot know whether it is cut off or the others are. If each of them left the balancer, none would be left.
  return [200, cutOff === 0 ? 'ready\n' : `ready; tunnels cut off: ${cutOff}\n`];
}

const counters = {
  underpass_edge_rx_bytes_total: ['Bytes from visitors towards upstreams', 'rxBytes'],
  underpass_edge_tx_bytes_total: ['Bytes from upstreams towards visitors', 'txBytes'],
  underpass_edge_connections_total: ['Visitor connections that were routed to a tunnel', 'connections'],
  underpass_edge_unrouted_total: ['Visitor connections that were not', 'unrouted'],
  underpass_edge_access_log_dropped_total: ['Lines of the access log that were not written', 'accessLinesDropped'],
  underpass_edge_otlp_dropped_total: ['Records of requests that the OpenTelemetry collector did not take', 'otlpDropped'],
  underpass_edge_requests_total: ['HTTP requests forwarded', 'requests'],
} as const;

const gauges = {
  underpass_edge_sockets: ['Open sockets of visitors and clients', 'sockets'],
  underpass_edge_open_connections: ['Connections on the public ports', 'open'],
  underpass_edge_open_connections_limit: ['How many of them there may be', 'openLimit'],
  underpass_edge_addresses: ['Source addresses of these connections, in each process of the edge', 'addresses'],
  underpass_edge_clients: ['Carriers of clients', 'clients'],
  underpass_edge_cut_off_tunnels: ['Tunnels whose clients are all at edges that do not answer this one', 'cutOff'],
  underpass_edge_tcp_ports: ['Open public ports of tcp tunnels', 'tcpPorts'],
  underpass_edge_streams: ['Open streams on carriers', 'streams'],
} as const;

/** What the figures are read from. */
type Sources = Omit<MetricsOptions, 'listen' | 'draining'>;
type Kind = 'counter' | 'gauge';

const others: readonly (readonly [Kind, name: string, help: string, read: (edge: Sources) => number])[] = [
  ['gauge', 'underpass_edge_feed_connected', '1 while control is connected', ({ feed }) => Number(feed().connected)],
  ['counter', 'underpass_edge_feed_losses_total', 'How often the connection to control was lost', ({ feed }) => feed().losses],
  ['gauge', 'underpass_edge_ready', '1 once there are routes and the neighbours are known', ({ ready }) => Number(ready())],
  [
    'gauge',
    'underpass_edge_copy_kept',
    '1 while the copy of the routes on disk is written without an error',
    ({ copy }) => Number((copy?.().error ?? null) === null),
  ],
  [
    'gauge',
    'underpass_edge_copy_timestamp_seconds',
    'When the copy of the routes was last written, Unix time; 0 without a copy',
    ({ copy }) => (copy?.().writtenAtMs ?? 0) / 1_000,
  ],
];

function countPortProblems({ portProblems: found }: EdgeStats): Readonly<Record<string, number>> {
  const reasons = Object.values(found);
  const count = (reason: string) => reasons.filter((each) => each === reason).length;
  return Object.fromEntries(Object.keys(portProblems).map((reason) => [reason, count(reason)]));
}

const countClasses = ({ responses }: EdgeStats): Readonly<Record<string, number>> =>
  Object.fromEntries([...responses.entries()].flatMap(([hundreds, count]) => (hundreds > 0 ? [[`${hundreds}xx`, count]] : [])));

type Read = (stats: EdgeStats) => Readonly<Record<string, number>>;

/** Figures with one label, whose values are the keys. */
const labelled: readonly (readonly [Kind, name: string, label: string, help: string, Read])[] = [
  [
    'gauge',
    'underpass_edge_tcp_port_problems',
    'reason',
    'Public ports of tcp tunnels on which the edge does not listen, by reason',
    countPortProblems,
  ],
  [
    'gauge',
    'underpass_edge_hops',
    'state',
    'Other edges of the region, in each process of the edge, by how they answer',
    ({ hops }) => ({ ...hops }),
  ],
  ['gauge', 'underpass_edge_carriers', 'congestion', 'Carriers of clients by congestion control', ({ carriersBy }) => carriersBy],
  [
    'counter',
    'underpass_edge_accepted_total',
    'congestion',
    'Connections on the public ports by the congestion control that they began with, and by one that they got later',
    ({ acceptedBy }) => acceptedBy,
  ],
  [
    'counter',
    'underpass_edge_refused_connections_total',
    'reason',
    'Connections closed on arrival: their address or the whole edge had too many, or the address is blocked',
    ({ refused }) => refused,
  ],
  ['counter', 'underpass_edge_responses_total', 'class', 'Responses of upstreams by class of status', countClasses],
  ['counter', 'underpass_edge_visitor_errors_total', 'code', 'Answers of the edge itself by code', ({ errors }) => errors],
];

/** The edge's figures, without those of Node's process, which createMetricsServer adds. */
export function createEdgeRegistry(edge: Sources): Registry {
  const registry = new Registry();
  const add = (kind: Kind, name: string, help: string, label: string | undefined, read: Read): void => {
    const common = { name, help, registers: [registry], labelNames: label === undefined ? [] : [label] };
    const valuesOf = () =>
      Object.entries(read(edge.stats())).map(([of, value]) => ({ labels: label ? { [label]: of } : {}, value }));
    if (kind === 'gauge') {
      const collect = function (this: Gauge): void {
        this.reset();
        for (const { labels, value } of valuesOf()) this.set(labels, value);
      };
      new Gauge({ ...common, collect });
    } else {
      // The edge counts these values itself, so the counter is set at each scrape.
      const collect = function (this: Counter): void {
        this.reset();
        for (const { labels, value } of valuesOf()) this.inc(labels, value);
      };
      new Counter({ ...common, collect });
    }
  };
  for (const [name, [help, key]] of Object.entries(counters))
    add('counter', name, help, undefined, (stats) => ({ '': stats[key] }));
  for (const [name, [help, key]] of Object.entries(gauges)) add('gauge', name, help, undefined, (stats) => ({ '': stats[key] }));
  for (const [kind, name, help, read] of others) add(kind, name, help, undefined, () => ({ '': read(edge) }));
  for (const [kind, name, label, help, read] of labelled) add(kind, name, help, label, read);
  return registry;
}
