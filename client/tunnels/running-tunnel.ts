// Starts one tunnel, turns its events into log lines, and returns what the live status shows.
import type { CarrierStatus, CarryEvent, Carrying, CarryOptions } from '../carry/api.ts';
import { CarryError, type Problem, problems, renderProblem } from '../carry/problem.ts';
import { startCarrying } from '../carry/start.ts';
import type { UpstreamTrust } from '../carry/upstream-socket.ts';
import type { LoadedTunnel } from '../config/loaded-tunnel.ts';
import { upstreamLines } from '../config/tunnel-config.ts';
import type { Inspector } from '../inspect/inspector.ts';
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { version } from '../process/version.ts';
import type { TunnelView } from '../terminal/live-status.ts';
import type { LogEvent } from '../terminal/log-line.ts';
import { createRate } from './rate.ts';
import type { RunningTunnel } from './tunnel-set.ts';

interface StartOptions {
  readonly inspector?: Pick<Inspector, 'openTap'> | undefined;
  /** How long open connections may take to finish after a signal; 30 s if missing. */
  readonly drainMs?: number | undefined;
}

export function startTunnel(
  io: Io,
  tunnel: LoadedTunnel,
  report: (event: LogEvent) => void,
  { inspector, drainMs }: StartOptions = {},
): RunningTunnel {
  const { config } = tunnel;
  // No event comes before startCarrying returns.
  const nameNow = (): string => (config.isUnnamed ? (carrying.status().tunnel ?? config.name) : config.name);
  const rttMs = (): number | null => {
    const times = carrying.status().carriers.flatMap((carrier) => carrier.rttMs ?? []);
    return times.length === 0 ? null : Math.min(...times);
  };
  const toLine = createLines();
  const carrying = startOrExplain({
    ...optionsOf(tunnel),
    ...gatewayOf(io, tunnel, (event) => report({ tunnel: nameNow(), ...event })),
    ...(drainMs === undefined ? {} : { drainTimeoutMs: drainMs }),
    software: `underpass/${version}`,
    env: io.env,
    onEvent: (event) => {
      const line = toLine(event);
      if (line !== null) report({ tunnel: nameNow(), ...line });
    },
    ...(inspector && { openTap: inspector.openTap({ name: nameNow, trust: trustOf(tunnel), rttMs }) }),
  });
  const [rx, tx] = [createRate(), createRate()];
  const upstreams = tunnel.inside?.lines ?? upstreamLines(config.upstreams);
  return {
    view() {
      const status = carrying.status();
      const now = io.now();
      return {
        name: nameNow(),
        tunnel: status.tunnel,
        state: status.state,
        edges: edgesOf(status.carriers),
        urls: status.urls,
        upstreams,
        streams: status.openStreams,
        totalStreams: status.totalStreams,
        rxBytes: status.rxBytes,
        txBytes: status.txBytes,
        rxRate: rx.read(now, status.rxBytes),
        txRate: tx.read(now, status.txBytes),
        problem: status.problem === null ? null : renderProblem(status.problem),
      };
    },
    streams: () => carrying.streams(),
    async drain() {
      report({ tunnel: nameNow(), event: 'draining' });
      await carrying.drain();
      report({ tunnel: nameNow(), event: 'stopped' });
    },
    close: () => carrying.close(),
  };
}

export function gatewayOf(
  io: Pick<Io, 'now'>,
  { config, reachKey }: LoadedTunnel,
  report: (event: Line) => void,
): Pick<CarryOptions, 'gateway'> {
  const { private: settings, upstreams } = config;
  if (settings === undefined) return {};
  // Without a gateway the client would pass plain text on.
  if (reachKey === undefined || upstreams.type !== 'tcp')
    throw new ClientError('usage', `${config.name}: only a tcp tunnel with a key can be private`);
  const { upstream } = upstreams.list[0]!;
  const { ticketsOnly } = settings;
  const start = async () => (await import('../gateway/reach-gateway.ts')).startReachGateway;
  return { gateway: async () => (await start())({ reachKey, upstream, ticketsOnly, now: io.now, report }) };
}

function trustOf({ config, upstreamCaPem }: LoadedTunnel): UpstreamTrust {
  return { caPem: upstreamCaPem, insecure: config.upstreamInsecure };
}

/** Two carriers may lead to one edge: it appears once, with the better of their round-trip times. */
export function edgesOf(carriers: readonly Pick<CarrierStatus, 'edge' | 'address' | 'rttMs'>[]): TunnelView['edges'] {
  const times = new Map<string, number | null>();
  for (const { edge, address, rttMs } of carriers) {
    const name = edge || address;
    const before = times.get(name) ?? null;
    times.set(name, before === null || rttMs === null ? (before ?? rttMs) : Math.min(before, rttMs));
  }
  return [...times].map(([name, rttMs]) => ({ name, rttMs }));
}

/** A setting that cannot work at all, such as a malformed proxy, ends the command with an error. */
function startOrExplain(options: CarryOptions): Carrying {
  try {
    return startCarrying(options);
  } catch (error) {
    if (!(error instanceof CarryError)) throw error;
    const { title, fix } = problems[error.problem.code];
    throw new ClientError('carry-impossible', `${title}: ${error.problem.detail}`, { fix, cause: error });
  }
}

function optionsOf({
  config,
  token,
  caPem,
  upstreamCaPem,
  inside,
}: LoadedTunnel): Omit<CarryOptions, 'software' | 'env' | 'onEvent'> {
  return {
    url: config.url,
    token,
    upstreams: config.upstreams,
    upstreamInsecure: config.upstreamInsecure,
    ...(caPem === undefined ? {} : { caPem }),
    ...(upstreamCaPem === undefined ? {} : { upstreamCaPem }),
    ...(inside?.onDialled && { onDialled: inside.onDialled }),
    ...(inside?.openInside && { openInside: inside.openInside }),
  };
}

type Line = Omit<LogEvent, 'tunnel'>;

/** A tunnel connects with its first carrier and disconnects with its last one. Of those between, only a problem is logged. */
export function createLines(): (event: CarryEvent) => Line | null {
  let carriers = 0;
  return (event) => {
    if (event.kind === 'connected' && carriers++ > 0) return null;
    if (event.kind === 'disconnected' && --carriers > 0)
      return event.problem && { event: 'problem', edge: event.edge, ...problemOf(event.problem) };
    return lineOf(event);
  };
}

function lineOf(event: CarryEvent): Line {
  switch (event.kind) {
    case 'connected':
      return {
        event: 'connected',
        edge: event.edge,
        address: event.address,
        ...(event.urls.length > 0 ? { urls: event.urls } : {}),
      };
    case 'disconnected':
      return { event: 'disconnected', edge: event.edge, ...problemOf(event.problem) };
    case 'failed':
      return { event: 'problem', ...problemOf(event.problem), retryMs: Math.round(event.retryMs) };
    case 'doubt':
      return { event: 'problem', ...problemOf(event.problem) };
    case 'upstream':
      return { event: event.healthy ? 'upstream-up' : 'upstream-down', upstream: event.upstream, ...problemOf(event.problem) };
    case 'stream-failed':
      return { event: 'request-failed', host: event.host, ...problemOf(event.problem) };
  }
}

function problemOf(problem: Problem | null): { code?: string; text?: string } {
  return problem === null ? {} : { code: problem.code, text: renderProblem(problem) };
}
