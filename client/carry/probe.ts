// Probes which upstreams answer: a TCP connection with a timeout every few seconds, fewer while visitors' connections show it.

import { connect } from 'node:net';
import { formatUpstream, type Upstream } from '@underpass/rules/tunnel/upstream.ts';
import type { SessionClock } from '@underpass/wire/clock.ts';
import { addressOf } from './lookup.ts';
import type { Problem } from './problem.ts';
import { decideFailure } from './serve.ts';

export interface Probe {
  healthy(upstream: Upstream): boolean;
  problem(upstream: Upstream): Problem | null;
  /** The upstream accepted a visitor's connection: counts as a probe. */
  served(upstream: Upstream): void;
  /** A visitor's connection failed: probes at once. */
  failed(upstream: Upstream): void;
  stop(): void;
}

interface ProbeOptions {
  readonly upstreams: readonly Upstream[];
  readonly clock: SessionClock;
  /** Resolves to null if the upstream accepts a connection. */
  readonly attempt: (upstream: Upstream) => Promise<Problem | null>;
  readonly onChange: () => void;
}

const probeEveryMs = 5_000;
const probeTimeoutMs = 3_000;
/** One timeout may be a lost packet. A refusal counts as two failures. */
const failuresUntilUnhealthy = 2;

interface Watched {
  readonly upstream: Upstream;
  failures: number;
  problem: Problem | null;
  servedSinceTick: boolean;
  busy: boolean;
}

export function createProbe({ upstreams, clock, attempt, onChange }: ProbeOptions): Probe {
  const watched = new Map<string, Watched>(upstreams.map((upstream) => [formatUpstream(upstream), createWatched(upstream)]));
  const find = (upstream: Upstream): Watched | undefined => watched.get(formatUpstream(upstream));
  let stopped = false;

  async function probe(one: Watched): Promise<void> {
    if (one.busy) return;
    one.busy = true;
    const problem = await attempt(one.upstream);
    one.busy = false;
    if (!stopped && changesHealth(one, problem)) onChange();
  }

  function tick(): void {
    for (const one of watched.values()) {
      if (!one.servedSinceTick) void probe(one);
      one.servedSinceTick = false;
    }
  }

  const stopTicks = clock.every(probeEveryMs, tick);
  tick();

  return {
    healthy: (upstream) => isHealthy(find(upstream)),
    problem: (upstream) => (isHealthy(find(upstream)) ? null : (find(upstream)?.problem ?? null)),
    served(upstream) {
      const one = find(upstream);
      if (one === undefined) return;
      one.servedSinceTick = true;
      if (one.failures > 0 && changesHealth(one, null)) onChange();
    },
    failed(upstream) {
      const one = find(upstream);
      if (one !== undefined && isHealthy(one)) void probe(one);
    },
    stop() {
      stopped = true;
      stopTicks();
    },
  };
}

const createWatched = (upstream: Upstream): Watched => ({
  upstream,
  failures: 0,
  problem: null,
  servedSinceTick: false,
  busy: false,
});
/** Records the result of a probe. Returns true if the upstream became healthy or unhealthy. */
function changesHealth(one: Watched, problem: Problem | null): boolean {
  const before = isHealthy(one);
  one.failures = problem === null ? 0 : one.failures + (problem.code === 'upstream-refused' ? failuresUntilUnhealthy : 1);
  one.problem = problem;
  return isHealthy(one) !== before;
}

const isHealthy = (one: Watched | undefined): boolean => one === undefined || one.failures < failuresUntilUnhealthy;

/** Opens and closes one TCP connection without sending a byte. */
export function attemptUpstream(upstream: Upstream): Promise<Problem | null> {
  return new Promise((resolve) => {
    const socket = connect(addressOf(upstream));
    const settle = (problem: Problem | null): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(problem);
    };
    const detail = formatUpstream(upstream);
    const timer = setTimeout(() => settle({ code: 'upstream-timeout', detail }), probeTimeoutMs);
    socket.once('connect', () => settle(null));
    socket.on('error', (error) => settle({ code: decideFailure(error), detail }));
  });
}
