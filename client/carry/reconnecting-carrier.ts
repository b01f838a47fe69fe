// One carrier that a client wants to hold: dials, holds the session, dials again for ever. It knows nothing of its siblings
// but the edges that they hold.

import type { SessionEnd } from '@underpass/wire/api.ts';
import type { SessionClock } from '@underpass/wire/clock.ts';
import { after } from './after.ts';
import { nextDelayMs } from './backoff.ts';
import type { Carrier } from './carrier.ts';
import { CarryError, type Problem, type ProblemCode } from './problem.ts';

export interface ReconnectingOptions {
  readonly clock: SessionClock;
  readonly random: () => number;
  /** Rejects with a CarryError. turn counts the tries of this slot. */
  readonly dial: (turn: number, isUnwanted: (edge: string) => boolean) => Promise<Carrier>;
  /** True where a sibling that comes before this slot holds the same edge and the region has another one. */
  readonly isDuplicate: (edge: string) => boolean;
  readonly onConnected: (held: Carrier) => void;
  readonly onDisconnected: (held: Carrier, problem: Problem | null) => void;
  readonly onFailed: (problem: Problem, retryMs: number) => void;
}

/** First look for another edge, and the longest pause between two looks. */
const firstSeekMs = 5_000;
const mostSeekMs = 300_000;
/** What stood so long may be dialled at once when it is lost: a dial in ten seconds burdens nobody. */
const steadyMs = 10_000;

export class ReconnectingCarrier {
  held: Carrier | null = null;
  /** Null from a successful dial on. */
  problem: Problem | null = null;
  readonly #options: ReconnectingOptions;
  #failures = 0;
  /** Losses in a row of what had stood for a moment only: an edge that flaps is dialled less and less often. */
  #flaps = 0;
  #turn = 0;
  #stopped = false;
  #seekMs = firstSeekMs;
  #cancelWait = (): void => {};
  #cancelSeek: (() => void) | null = null;

  constructor(options: ReconnectingOptions) {
    this.#options = options;
  }

  start(): void {
    void this.#attempt();
  }

  /** Dials no more. What is held stays with its session. */
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
    try {
      this.#take(await this.#options.dial(this.#turn++, () => false));
    } catch (error) {
      this.#fail(error instanceof CarryError ? error : new CarryError('connection-lost', String(error)));
    }
  }

  #fail({ problem, retryAfterMs }: CarryError): void {
    if (this.#stopped) return;
    this.problem = problem;
    const delayMs = this.#nextDelayMs(problem.code, retryAfterMs);
    this.#options.onFailed(problem, delayMs);
    this.#wait(delayMs);
  }

  /** What comes too late is drained, not cut: the edge may have led visitors here before it answered. */
  #take(fresh: Carrier): void {
    if (!this.#stopped && !fresh.session.closed) this.#hold(fresh);
    else if (this.#stopped) fresh.session.drain();
    else this.#wait(this.#nextDelayMs('connection-lost'));
  }

  #hold(fresh: Carrier): void {
    this.held = fresh;
    this.problem = null;
    this.#failures = 0;
    fresh.session.onGoaway = (code) => {
      if (code === 'drain') this.#release(fresh, null);
    };
    fresh.onEnd = (end) => this.#release(fresh, problemOf(end, fresh));
    this.#options.onConnected(fresh);
    this.reconsider();
  }

  /** The carrier is lost, or takes nothing new: it finishes by itself and a successor is dialled. */
  #release(gone: Carrier, why: Problem | null): void {
    if (this.held !== gone) return;
    this.held = null;
    this.problem = why;
    this.#stopSeeking();
    this.#options.onDisconnected(gone, why);
    if (this.#stopped) return;
    this.#flaps = why !== null && this.#options.clock.now() - gone.sinceMs < steadyMs ? this.#flaps + 1 : 0;
    this.#failures = Math.max(0, this.#flaps - 1);
    this.#wait(this.#nextDelayMs(why?.code ?? 'connection-lost'));
  }

  /** The region or the siblings changed: a second edge may be worth looking for. */
  reconsider(): void {
    const { clock, random, isDuplicate } = this.#options;
    if (this.held === null || this.#stopped || !isDuplicate(this.held.edge)) this.#stopSeeking();
    else this.#cancelSeek ??= after(clock, this.#seekMs * (0.5 + random() / 2), () => void this.#seek());
  }

  #stopSeeking(): void {
    this.#cancelSeek?.();
    this.#cancelSeek = null;
    this.#seekMs = firstSeekMs;
  }

  /** Two carriers at one edge are of use, but an edge that fails takes both: looks for another one meanwhile. */
  async #seek(): Promise<void> {
    const { dial, isDuplicate } = this.#options;
    const found = await dial(this.#turn++, isDuplicate).catch(() => null);
    // A carrier that was lost and came back meanwhile has set a look of its own.
    this.#cancelSeek?.();
    this.#cancelSeek = null;
    const before = this.held;
    if (found !== null && (this.#stopped || before === null || isDuplicate(found.edge))) found.session.drain();
    else if (found !== null && before !== null) this.#replace(before, found);
    this.#seekMs = Math.min(mostSeekMs, this.#seekMs * 2);
    this.reconsider();
  }

  #replace(before: Carrier, found: Carrier): void {
    this.held = null;
    before.session.onGoaway = () => {};
    before.onEnd = () => {};
    this.#options.onDisconnected(before, null);
    before.session.drain();
    this.#hold(found);
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
