// One place of the carrier pool: dials an edge, keeps the carrier, and dials again whenever it is lost. Of the other places it
// knows only which edges they use.

import type { SessionEnd } from '@underpass/wire/api.ts';
import type { SessionClock } from '@underpass/wire/clock.ts';
import { after } from './after.ts';
import { nextDelayMs } from './backoff.ts';
import type { Carrier } from './carrier.ts';
import { CarryError, type Problem, type ProblemCode } from './problem.ts';

interface ReconnectingOptions {
  readonly clock: SessionClock;
  readonly random: () => number;
  /** Rejects with a CarryError. `dialIndex` counts the dials. */
  readonly dial: (dialIndex: number, isUnwanted: (edge: string) => boolean) => Promise<Carrier>;
  /** True if an earlier place uses the same edge and the region has another edge. */
  readonly isDuplicate: (edge: string) => boolean;
  readonly onConnected: (carrier: Carrier) => void;
  readonly onDisconnected: (carrier: Carrier, problem: Problem | null) => void;
  readonly onFailed: (problem: Problem, retryMs: number) => void;
}

/** The first and the longest pause between two searches for another edge. */
const firstSeekMs = 5_000;
const maxSeekMs = 300_000;
/** The life of a carrier after which the pause before the next dial is short again: one dial in ten seconds is no load. */
const steadyMs = 10_000;

/** Where the path keeps losing packets, or is narrow, each new window collapses again. */
const renewEveryMs = 60_000;

export class ReconnectingCarrier {
  current: Carrier | null = null;
  /** Why the last dial or carrier failed; null while connected. */
  problem: Problem | null = null;
  readonly #options: ReconnectingOptions;
  #failures = 0;
  /** Carriers in a row that were lost after a moment: an edge that flaps is dialled less and less often. */
  #flaps = 0;
  #dialIndex = 0;
  #stopped = false;
  #isWanted = false;
  #isDialling = false;
  #seekMs = firstSeekMs;
  #cancelWait = (): void => {};
  #cancelSeek: (() => void) | null = null;
  #renewedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReconnectingOptions) {
    this.#options = options;
  }

  /** Does nothing if it was called before. */
  start(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    this.#stopped = false;
    if (!this.#isDialling) void this.#attempt();
  }

  /** The region has fewer edges now: drains the carrier. start() dials again. */
  rest(): void {
    if (!this.#isWanted) return;
    this.#isWanted = false;
    this.stop();
    if (this.current !== null) this.#giveUp(this.current);
  }

  /** Stops dialling. The current carrier stays. */
  stop(): void {
    this.#stopped = true;
    this.#cancelWait();
    this.#stopSeeking();
  }

  #wait(ms: number): void {
    this.#cancelWait();
    this.#cancelWait = after(this.#options.clock, ms, () => void this.#attempt());
  }

  #nextDelayMs(code: ProblemCode, retryAfterMs: number | null = null): number {
    return nextDelayMs(this.#failures++, code, retryAfterMs, this.#options.random());
  }

  async #attempt(): Promise<void> {
    this.#cancelWait();
    this.#isDialling = true;
    const found = await this.#options
      .dial(this.#dialIndex++, () => false)
      .catch((error) => (error instanceof CarryError ? error : new CarryError('connection-lost', String(error))));
    this.#isDialling = false;
    if (found instanceof CarryError) this.#fail(found);
    else this.#accept(found);
  }

  #fail({ problem, retryAfterMs }: CarryError): void {
    if (this.#stopped) return;
    this.problem = problem;
    const delayMs = this.#nextDelayMs(problem.code, retryAfterMs);
    this.#options.onFailed(problem, delayMs);
    this.#wait(delayMs);
  }

  /** A carrier that comes after stop() is drained, not cut: the edge may have sent visitors before it answered. */
  #accept(fresh: Carrier): void {
    if (!this.#stopped && !fresh.session.closed) this.#use(fresh);
    else if (this.#stopped) fresh.session.drain();
    else this.#wait(this.#nextDelayMs('connection-lost'));
  }

  #use(fresh: Carrier): void {
    this.current = fresh;
    this.problem = null;
    this.#failures = 0;
    fresh.session.onGoaway = (code) => {
      if (code === 'drain') this.#release(fresh, null);
    };
    fresh.onEnd = (end) => this.#release(fresh, problemOf(end, fresh));
    this.#options.onConnected(fresh);
    this.reconsider();
  }

  /** The carrier is lost, or its edge drains. Dials a successor; open streams of a draining carrier finish on their own. */
  #release(gone: Carrier, why: Problem | null): void {
    if (this.current !== gone) return;
    this.current = null;
    this.problem = why;
    this.#stopSeeking();
    this.#options.onDisconnected(gone, why);
    if (this.#stopped) return;
    this.#flaps = why !== null && this.#options.clock.now() - gone.sinceMs < steadyMs ? this.#flaps + 1 : 0;
    this.#failures = Math.max(0, this.#flaps - 1);
    this.#wait(this.#nextDelayMs(why?.code ?? 'connection-lost'));
  }

  /** The number of edges or the other places changed: starts or stops the search for another edge. */
  reconsider(): void {
    const { clock, random, isDuplicate } = this.#options;
    if (this.current === null || this.#stopped || !isDuplicate(this.current.edge)) this.#stopSeeking();
    else this.#cancelSeek ??= after(clock, this.#seekMs * (0.5 + random() / 2), () => void this.#seek());
  }

  #stopSeeking(): void {
    this.#cancelSeek?.();
    this.#cancelSeek = null;
    this.#seekMs = firstSeekMs;
  }

  /** Two carriers to one edge work, but fail together: looks for another edge while both serve. */
  async #seek(): Promise<void> {
    const { dial, isDuplicate } = this.#options;
    const found = await dial(this.#dialIndex++, isDuplicate).catch(() => null);
    // If the carrier was lost and replaced during the dial, another search is scheduled: cancel it.
    this.#cancelSeek?.();
    this.#cancelSeek = null;
    const before = this.current;
    if (found !== null && (this.#stopped || before === null || isDuplicate(found.edge))) found.session.drain();
    else if (found !== null && before !== null) this.#replace(before, found);
    this.#seekMs = Math.min(maxSeekMs, this.#seekMs * 2);
    this.reconsider();
  }

  /** Dials a successor for a carrier that has become slow; it serves until then. At most once a minute. */
  async renew(): Promise<void> {
    const { clock, dial } = this.#options;
    const slow = this.current;
    if (slow === null || this.#stopped || clock.now() - this.#renewedAtMs < renewEveryMs) return;
    this.#renewedAtMs = clock.now();
    const fresh = await dial(this.#dialIndex++, () => false).catch(() => null);
    if (fresh === null || fresh.session.closed) return;
    if (this.#stopped || this.current !== slow) fresh.session.drain();
    else this.#replace(slow, fresh);
  }

  #replace(before: Carrier, found: Carrier): void {
    this.#giveUp(before);
    this.#use(found);
  }

  #giveUp(before: Carrier): void {
    this.current = null;
    before.session.onGoaway = () => {};
    before.onEnd = () => {};
    this.#options.onDisconnected(before, null);
    before.session.drain();
  }
}

const endProblems: Readonly<Partial<Record<SessionEnd['code'], ProblemCode>>> = {
  'token-refused': 'token-refused',
  'tunnel-suspended': 'tunnel-suspended',
  'too-many-clients': 'too-many-clients',
  version: 'version',
  duplicate: 'edge-busy',
};

function problemOf(end: SessionEnd, { address }: Carrier): Problem | null {
  if (end.code === 'closed') return null;
  return { code: endProblems[end.code] ?? 'connection-lost', detail: `${address} (${end.code})` };
}
