// Tells edges which upstreams this client has and which of them answer (OFFER), and reports changes as events.

import { formatUpstream, type Upstream } from '@underpass/rules/tunnel/upstream.ts';
import type { Session } from '@underpass/wire/api.ts';
import type { SessionClock } from '@underpass/wire/clock.ts';
import { maxOffers } from '@underpass/wire/core/offer.ts';
import type { CarryEvent, UpstreamStatus } from './api.ts';
import { attemptUpstream, createProbe } from './probe.ts';
import type { Problem } from './problem.ts';
import type { OfferedUpstream } from './upstream-map.ts';

export interface Offers {
  sendTo(session: Session): void;
  served(upstream: Upstream): void;
  failed(upstream: Upstream): void;
  status(): UpstreamStatus[];
  /** The problem of the first upstream that fails. */
  problem(): Problem | null;
  stop(): void;
}

interface OffersOptions {
  readonly offered: readonly OfferedUpstream[];
  /** Edges tell how long each request took there. */
  readonly asksTimes: boolean;
  /** The upstream is in this process: it always answers. */
  readonly isInside: boolean;
  readonly clock: SessionClock;
  readonly sessions: () => Iterable<Session>;
  readonly onEvent: (event: CarryEvent) => void;
}

export function createOffers({ offered, asksTimes, isInside, clock, sessions, onEvent }: OffersOptions): Offers {
  const texts = offered.map(({ upstream }) => formatUpstream(upstream));
  let reported = offered.map(() => true);
  const probe = createProbe({
    upstreams: offered.map(({ upstream }) => upstream),
    clock,
    attempt: isInside ? async () => null : attemptUpstream,
    onChange() {
      for (const session of sessions()) sendTo(session);
      reportChanges();
    },
  });

  function sendTo(session: Session): void {
    // An OFFER holds at most maxOffers hosts. Without an OFFER an edge assumes that this client serves everything.
    if (offered.length > maxOffers) return;
    // A key has several upstreams if paths decide: visitors come while one of them answers.
    const healthy = new Map<string, boolean>();
    for (const { key, upstream } of offered) healthy.set(key, healthy.get(key) === true || probe.healthy(upstream));
    session.offer([...healthy].map(([key, isHealthy]) => ({ key, healthy: isHealthy, times: asksTimes })));
  }

  function reportChanges(): void {
    const health = offered.map(({ upstream }) => probe.healthy(upstream));
    const changed = offered.filter((_, index) => health[index] !== reported[index]);
    reported = health;
    for (const { key, path = '', upstream } of changed) {
      const [healthy, problem] = [probe.healthy(upstream), probe.problem(upstream)];
      onEvent({ kind: 'upstream', key: `${key}${path}`, upstream: formatUpstream(upstream), healthy, problem });
    }
  }

  return {
    sendTo,
    served: probe.served,
    failed: probe.failed,
    status: () =>
      offered.map(({ key, path = '', upstream }, index) => ({
        key: `${key}${path}`,
        upstream: texts[index]!,
        healthy: probe.healthy(upstream),
      })),
    problem: () => offered.map(({ upstream }) => probe.problem(upstream)).find((problem) => problem !== null) ?? null,
    stop: probe.stop,
  };
}
