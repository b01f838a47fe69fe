// One carrier that a client wants to hold: dials, holds the session, dials again for ever. It knows nothing of its siblings
// but the edges that they hold.

import type { SessionEnd } from '@underpass/wire/api.ts';
import type { SessionClock } from '@underpass/wire/session.ts';
import { after } from './after.ts';
import { nextDelayMs } from './backoff.ts';
import type { Carrier } from './carrier.ts';
import { CarryError, type Problem, type ProblemCode } from './problem.ts';

export interface SlotOptions {
  readonly clock: SessionClock;
  readonly random: () => number;
  /** Rejects with a CarryError. turn counts the tries of this slot. */
  readonly dial: (turn: number) => Promise<Carrier>;
  /** True where a sibling that comes before this slot holds the same edge and the region has another one. */
  readonly isDuplicate: (edge: string) => boolean;
  readonly onConnected: (held: Carrier) => void;
  readonly onDisconnected: (held: Carrier, problem: Problem | null) => void;
  readonly onFailed: (problem: Problem, retryMs: number) => void;
}

export interface Slot {
  readonly held: Carrier | null;
  /** Null from a successful dial on. */
  readonly problem: Problem | null;
  start(): void;
  /** The region or the siblings changed: a second edge may be worth looking for. */
  reconsider(): void;
  /** Dials no more. What is held stays with its session. */
  stop(): void;
}

/** First look for another edge, and the longest pause between two looks. */
const firstSeekMs = 5_000;
const mostSeekMs = 300_000;

export function createSlot(options: SlotOptions): Slot {
  const { clock, random } = options;
  let held: Carrier | null = null;
  let problem: Problem | null = null;
  let failures = 0;
  let turn = 0;
  let stopped = false;
  let seekMs = firstSeekMs;
  let cancelWait = (): void => {};
  let cancelSeek: (() => void) | null = null;

  function wait(ms: number): void {
    cancelWait();
    cancelWait = after(clock, ms, () => void attempt());
  }

  async function attempt(): Promise<void> {
    cancelWait();
    try {
      hold(await options.dial(turn++));
    } catch (error) {
      if (!stopped) fail(error instanceof CarryError ? error : new CarryError('connection-lost', String(error)));
    }
  }

  function fail({ problem: found, retryAfterMs }: CarryError): void {
    problem = found;
    const delayMs = nextDelayMs(failures++, found.code, retryAfterMs, random());
    options.onFailed(found, delayMs);
    wait(delayMs);
  }

  function hold(fresh: Carrier): void {
    if (stopped || fresh.session.closed) {
      fresh.session.close();
      if (!stopped) wait(nextDelayMs(failures++, 'connection-lost', null, random()));
      return;
    }
    held = fresh;
    problem = null;
    const { session } = fresh;
    session.onProof = () => {
      failures = 0;
    };
    session.onGoaway = (code) => {
      if (code === 'drain') release(fresh, null);
    };
    fresh.onEnd = (end) => release(fresh, problemOf(end, fresh));
    options.onConnected(fresh);
    reconsider();
  }

  /** The carrier is lost, or takes nothing new: it finishes by itself and a successor is dialled. */
  function release(gone: Carrier, why: Problem | null): void {
    if (held !== gone) return;
    held = null;
    problem = why;
    stopSeeking();
    options.onDisconnected(gone, why);
    if (!stopped) wait(nextDelayMs(failures++, why?.code ?? 'connection-lost', null, random()));
  }

  function reconsider(): void {
    if (held === null || stopped || !options.isDuplicate(held.edge)) stopSeeking();
    else cancelSeek ??= after(clock, seekMs * (0.5 + random() / 2), () => void seek());
  }

  function stopSeeking(): void {
    cancelSeek?.();
    cancelSeek = null;
    seekMs = firstSeekMs;
  }

  /** Two carriers at one edge are of use, but an edge that fails takes both: looks for another one meanwhile. */
  async function seek(): Promise<void> {
    const found = await options.dial(turn++).catch(() => null);
    cancelSeek = null;
    const before = held;
    if (found !== null && (stopped || before === null || options.isDuplicate(found.edge))) found.session.close();
    else if (found !== null && before !== null) replace(before, found);
    seekMs = Math.min(mostSeekMs, seekMs * 2);
    reconsider();
  }

  function replace(before: Carrier, found: Carrier): void {
    held = null;
    before.session.onGoaway = () => {};
    before.onEnd = () => {};
    options.onDisconnected(before, null);
    before.session.drain();
    hold(found);
  }

  return {
    get held() {
      return held;
    },
    get problem() {
      return problem;
    },
    start: () => void attempt(),
    reconsider,
    stop() {
      stopped = true;
      cancelWait();
      stopSeeking();
    },
  };
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
