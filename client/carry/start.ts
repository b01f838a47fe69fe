// Carries a tunnel: keeps carriers to the region and serves visitors' streams from the user's upstreams, until drained or closed.

import { randomBytes } from 'node:crypto';
import { usesHttp2 } from '@underpass/rules/tunnel/upstream.ts';
import type { Stream } from '@underpass/wire/api.ts';
import { realClock } from '@underpass/wire/clock.ts';
import { WindowBudget } from '@underpass/wire/core/credit.ts';
import type { Carrying, CarryOptions, CarryStatus, TunnelUpstreams } from './api.ts';
import { openCarrier } from './carrier.ts';
import { CarrierPool, type CarrierPoolOptions } from './carrier-pool.ts';
import { createDomainCheck } from './domain-check.ts';
import { createOffers, type Offers } from './offers.ts';
import type { Problem, ProblemCode } from './problem.ts';
import { proxyFor } from './proxy-connect.ts';
import { parseRegionUrl } from './region-url.ts';
import { compileServe, type ServeOptions } from './serve.ts';
import { compileUpstreamMap, listOffered, needsRoutes } from './upstream-map.ts';
import type { UpstreamTrust } from './upstream-socket.ts';

const drainTimeoutMs = 30_000;
/** What uploads to stalled upstreams make a client hold beyond 64 KiB for each: eight streams of 130 ms at 1 Gbit/s. */
const clientWindowBytes = 134_217_728;
/** Failed streams are reported at most this often: an upstream that is down fails thousands. */
const reportFailedEveryMs = 1_000;
/** The status shows a failed stream for this long if a probe does not find its reason: a probe ends before TLS begins. */
const showFailedMs = 60_000;
const unprobed: ReadonlySet<ProblemCode> = new Set([
  'upstream-tls',
  'upstream-speaks-tls',
  'upstream-not-http',
  'upstream-not-http2',
]);

type Phase = 'running' | 'draining' | 'stopped';

/** Throws a CarryError if the URL or the proxy setting is malformed. Later problems are events. */
export function startCarrying(given: CarryOptions): Carrying {
  const options = { ...given, clock: given.clock ?? realClock, random: given.random ?? Math.random };
  const stopping = new AbortController();
  const count = { streams: 0 };
  let phase: Phase = 'running';
  const open = prepareOpen(options, stopping.signal, (stream) => {
    count.streams++;
    pool.streamOpened();
    serve(stream);
  });
  const pool = new CarrierPool({
    ...options,
    open,
    onConnected: (session) => offers.sendTo(session),
    onInfo: ({ urls }) => domainCheck.update(urls),
  });
  const offers = createOffers({
    ...options,
    offered: listOffered(options.upstreams),
    asksTimes: options.openTap !== undefined,
    isInside: options.openInside !== undefined,
    sessions: () => pool.sessions,
  });
  const domainCheck = createDomainCheck(options.upstreams, options.onEvent);
  const failed: FailedStream = { problem: null, atMs: 0 };
  const serving = serveOptions(options, offers, failed);
  let serve = compileServe(serving);
  let closeGateway = (): void => {};
  const openGateway = async ({ gateway }: CarryOptions): Promise<Partial<ServeOptions>> => {
    if (gateway === undefined) return {};
    const { upstream, onDialled, close } = await gateway();
    closeGateway = close;
    if (phase === 'stopped') close();
    return { find: () => ({ key: '*', upstream }), onDialled };
  };
  const more = loadMore(options.upstreams, serving.trust, options.gateway && openGateway(options));
  if (more === null) pool.start();
  else
    void more.then((loaded) => {
      serve = compileServe({ ...serving, ...loaded });
      if (phase === 'running') pool.start();
    });

  function stop(): void {
    stopping.abort();
    offers.stop();
    phase = 'stopped';
    closeGateway();
  }

  return {
    status() {
      const shown = options.clock.now() - failed.atMs < showFailedMs ? failed.problem : null;
      const problem = pool.problem ?? offers.problem() ?? shown ?? domainCheck.problem();
      return { ...statusOf(phase, pool, offers, count.streams), problem: phase === 'running' ? problem : null };
    },
    streams() {
      const open = openStreamsOf(pool);
      return { open, closed: count.streams - open };
    },
    async drain() {
      if (phase === 'running') phase = 'draining';
      stopping.abort();
      await pool.drain(options.drainTimeoutMs ?? drainTimeoutMs);
      stop();
    },
    close() {
      stop();
      pool.close();
    },
  };
}

type FullOptions = CarryOptions & Required<Pick<CarryOptions, 'clock' | 'random'>>;
type OpenCarrier = CarrierPoolOptions['open'];

function prepareOpen(options: FullOptions, signal: AbortSignal, onStream: (stream: Stream) => void): OpenCarrier {
  const region = parseRegionUrl(options.url);
  const proxy = proxyFor(options.env, region.host, region.port);
  const clientId = randomBytes(16).toString('hex');
  const budget = new WindowBudget(clientWindowBytes);
  const { token, software, caPem, clock } = options;
  const { type } = options.upstreams;
  const isPrivate = options.gateway !== undefined;
  return (dialIndex, hooks) =>
    openCarrier({
      region,
      proxy,
      clientId,
      type,
      isPrivate,
      token,
      software,
      caPem,
      clock,
      budget,
      dialIndex,
      signal,
      onStream,
      ...hooks,
    });
}

/** What most tunnels do not need: a gateway, edited heads, upstreams that get HTTP/2, and paths. Null if this one does not. */
function loadMore(
  upstreams: TunnelUpstreams,
  trust: UpstreamTrust,
  gateway: Promise<Partial<ServeOptions>> | undefined,
): Promise<Partial<ServeOptions>> | null {
  const list = upstreams.type === 'http' ? upstreams.list : [];
  const parts: Promise<Partial<ServeOptions>>[] = [
    ...(gateway === undefined ? [] : [gateway]),
    ...(list.some(({ sentHost }) => sentHost !== undefined) ? [loadEdit()] : []),
    ...(list.some((one) => usesHttp2(one.upstream) || needsRoutes(one)) ? [loadOpen(trust)] : []),
  ];
  return parts.length === 0 ? null : Promise.all(parts).then((loaded) => Object.assign({}, ...loaded));
}

const loadEdit = async (): Promise<Pick<ServeOptions, 'edit'>> => ({ edit: (await import('./edited-stream.ts')).editStream });

const loadOpen = async (trust: UpstreamTrust): Promise<Pick<ServeOptions, 'open'>> => ({
  open: (await import('./open-upstream.ts')).createOpenUpstream(trust),
});

/** The last one whose reason no probe finds. */
interface FailedStream {
  problem: Problem | null;
  atMs: number;
}

function serveOptions(options: FullOptions, offers: Offers, failed: FailedStream): ServeOptions {
  const { upstreams, upstreamCaPem, upstreamInsecure, clock, onEvent, onDialled, openInside } = options;
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  return {
    find: compileUpstreamMap(upstreams),
    trust: { caPem: upstreamCaPem, insecure: upstreamInsecure },
    clock,
    onDialled,
    openInside,
    openTap: options.openTap,
    onServed: offers.served,
    onFailed(host, upstream, problem) {
      if (upstream !== null) offers.failed(upstream);
      if (unprobed.has(problem.code)) Object.assign(failed, { problem, atMs: clock.now() });
      if (clock.now() - reportedAtMs < reportFailedEveryMs) return;
      reportedAtMs = clock.now();
      onEvent({ kind: 'stream-failed', host, problem });
    },
  };
}

function openStreamsOf({ sessions }: CarrierPool): number {
  let open = 0;
  for (const session of sessions) open += session.openStreams;
  return open;
}

function statusOf(phase: Phase, pool: CarrierPool, offers: Offers, totalStreams: number): Omit<CarryStatus, 'problem'> {
  const { carriers, info } = pool;
  return {
    state: phase === 'running' ? (carriers.length > 0 ? 'connected' : 'connecting') : phase,
    carriers: carriers.map(({ session, edge, address, sinceMs }) => {
      return {
        edge,
        address,
        sinceMs,
        region: session.peerInfo.region ?? '',
        rttMs: session.rttMs,
        streams: session.openStreams,
      };
    }),
    upstreams: offers.status(),
    openStreams: openStreamsOf(pool),
    totalStreams,
    ...pool.totals(),
    tunnel: info.tunnel ?? null,
    urls: info.urls ?? [],
  };
}
