// Serves Prometheus metrics and health checks on a port of their own.

import { createServer, type Server } from 'node:http';
import { portProblems } from '@underpass/rules/tunnel/port-range.ts';
import type { FeedCopy } from '@underpass/wire/feed.ts';
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

/** The edge's figures, without those of Node's process, which createMetricsServer adds. */
export function createEdgeRegistry({ stats, feed, ready, copy }: Omit<MetricsOptions, 'listen' | 'draining'>): Registry {
  const registry = new Registry();
  const registers = [registry];
  for (const [name, [help, key]] of Object.entries(counters)) {
    new Counter({ name, help, registers, collect: setCounter(() => stats()[key]) });
  }
  for (const [name, [help, key]] of Object.entries(gauges))
    new Gauge({ name, help, registers, collect: setGauge(() => stats()[key]) });
  new Gauge({
    name: 'underpass_edge_feed_connected',
    help: '1 while control is connected',
    registers,
    collect: setGauge(() => Number(feed().connected)),
  });
  new Counter({
    name: 'underpass_edge_feed_losses_total',
    help: 'How often the connection to control was lost',
    registers,
    collect: setCounter(() => feed().losses),
  });
  new Gauge({
    name: 'underpass_edge_ready',
    help: '1 once there are routes and the neighbours are known',
    registers,
    collect: setGauge(() => Number(ready())),
  });
  new Gauge({
    name: 'underpass_edge_copy_kept',
    help: '1 while the copy of the routes on disk is written without an error',
    registers,
    collect: setGauge(() => Number((copy?.().error ?? null) === null)),
  });
  new Gauge({
    name: 'underpass_edge_copy_timestamp_seconds',
    help: 'When the copy of the routes was last written, Unix time; 0 without a copy',
    registers,
    collect: setGauge(() => (copy?.().writtenAtMs ?? 0) / 1_000),
  });
  addLabelled(registers, stats);
  return registry;
}

/** The edge counts these values itself, so the counter is set at each scrape. */
function setCounter(value: () => number): (this: Counter) => void {
  return function collect() {
    this.reset();
    this.inc(value());
  };
}

function setGauge(value: () => number): (this: Gauge) => void {
  return function collect() {
    this.set(value());
  };
}

function addLabelled(registers: Registry[], stats: () => EdgeStats): void {
  new Gauge({
    name: 'underpass_edge_tcp_port_problems',
    help: 'Public ports of tcp tunnels on which the edge does not listen, by reason',
    labelNames: ['reason'],
    registers,
    collect() {
      const reasons = Object.values(stats().portProblems);
      for (const reason of Object.keys(portProblems)) this.set({ reason }, reasons.filter((each) => each === reason).length);
    },
  });
  new Gauge({
    name: 'underpass_edge_hops',
    help: 'Other edges of the region, in each process of the edge, by how they answer',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of Object.entries(stats().hops)) this.set({ state }, count);
    },
  });
  new Gauge({
    name: 'underpass_edge_carriers',
    help: 'Carriers of clients by congestion control',
    labelNames: ['congestion'],
    registers,
    collect() {
      this.reset();
      for (const [congestion, count] of Object.entries(stats().carriersBy)) this.set({ congestion }, count);
    },
  });
  new Counter({
    name: 'underpass_edge_accepted_total',
    help: 'Connections on the public ports by the congestion control that their path got them',
    labelNames: ['congestion'],
    registers,
    collect() {
      this.reset();
      for (const [congestion, count] of Object.entries(stats().acceptedBy)) this.inc({ congestion }, count);
    },
  });
  new Counter({
    name: 'underpass_edge_refused_connections_total',
    help: 'Connections closed on arrival: their address or the whole edge had too many, or the address is blocked',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(stats().refused)) this.inc({ reason }, count);
    },
  });
  new Counter({
    name: 'underpass_edge_responses_total',
    help: 'Responses of upstreams by class of status',
    labelNames: ['class'],
    registers,
    collect() {
      this.reset();
      for (const [hundreds, count] of stats().responses.entries()) if (hundreds > 0) this.inc({ class: `${hundreds}xx` }, count);
    },
  });
  new Counter({
    name: 'underpass_edge_visitor_errors_total',
    help: 'Answers of the edge itself by code',
    labelNames: ['code'],
    registers,
    collect() {
      this.reset();
      for (const [code, count] of Object.entries(stats().errors)) this.inc({ code }, count);
    },
  });
}
