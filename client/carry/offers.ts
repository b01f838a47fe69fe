// What a client tells its edges about its upstreams: which it has, and which of them answer. Events for what changes.

import { formatUpstream, type Upstream } from '@underpass/rules/upstream.ts';
import type { Session } from '@underpass/wire/api.ts';
import type { SessionClock } from '@underpass/wire/clock.ts';
import { maxOffers } from '@underpass/wire/core/offer.ts';
import type { CarryEvent, UpstreamStatus } from './api.ts';
import { attemptUpstream, createProbe } from './probe.ts';
import type { Problem } from './problem.ts';
import type { OfferedUpstream } from './upstream-map.ts';

export interface Offers {
  tell(session: Session): void;
  served(upstream: Upstream): void;
  failed(upstream: Upstream): void;
  status(): UpstreamStatus[];
  /** Of the first upstream that fails. */
  problem(): Problem | null;
  stop(): void;
}

export interface OffersOptions {
  readonly offered: readonly OfferedUpstream[];
  readonly clock: SessionClock;
  readonly sessions: () => Iterable<Session>;
  readonly onEvent: (event: CarryEvent) => void;
}

export function createOffers({ offered, clock, sessions, onEvent }: OffersOptions): Offers {
  let told = offered.map(() => true);
  const probe = createProbe({
    upstreams: offered.map(({ upstream }) => upstream),
    clock,
    attempt: attemptUpstream,
    onChange() {
      for (const session of sessions()) tell(session);
      tellChanges();
    },
  });

  function tell(session: Session): void {
    // More hosts than one OFFER holds: nothing is said, which means that everything is served.
    if (offered.length > maxOffers) return;
    session.offer(offered.map(({ key, upstream }) => ({ key, healthy: probe.healthy(upstream) })));
  }

  function tellChanges(): void {
    const health = offered.map(({ upstream }) => probe.healthy(upstream));
    const changed = offered.filter((_, index) => health[index] !== told[index]);
    told = health;
    for (const { key, upstream } of changed) {
      const [healthy, problem] = [probe.healthy(upstream), probe.problem(upstream)];
      onEvent({ kind: 'upstream', key, upstream: formatUpstream(upstream), healthy, problem });
    }
  }

  return {
    tell,
    served: probe.served,
    failed: probe.failed,
    status: () =>
      offered.map(({ key, upstream }) => ({ key, upstream: formatUpstream(upstream), healthy: probe.healthy(upstream) })),
    problem: () => offered.map(({ upstream }) => probe.problem(upstream)).find((problem) => problem !== null) ?? null,
    stop: probe.stop,
  };
}
