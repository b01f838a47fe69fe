// Credit of one direction of one stream: what a sender may still send, what a receiver has to grant, when a window grows.
// docs/protocol.md, Credit.

import { WireError } from './frame.ts';

/** Credit is a u32 on the wire but its sum must stay a positive 31-bit number, so that no sum overflows anywhere. */
export const maxCredit = 0x7fff_ffff;

export interface WindowLimits {
  readonly initialWindowBytes: number;
  readonly maxWindowBytes: number;
  readonly sessionWindowBytes: number;
}

/** All receive windows of a session together, or of several that share it; growth stops at the limit. */
export class WindowBudget {
  readonly limitBytes: number;
  usedBytes = 0;

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  take(bytes: number): void {
    this.usedBytes += bytes;
  }

  give(bytes: number): void {
    this.usedBytes -= bytes;
  }
}

/** The first window, before a stream is accepted, and all that it gets while the budget is half spent. One read of a socket. */
export const minWindowBytes = 65_536;

/** A new stream gets the initial window while the budget is less than half spent, and the minimum from then on. */
export const nextInitialWindow = (budget: WindowBudget, limits: WindowLimits): number =>
  budget.usedBytes + limits.initialWindowBytes > budget.limitBytes / 2
    ? Math.min(minWindowBytes, limits.initialWindowBytes)
    : limits.initialWindowBytes;

/** What pings say of the path, in milliseconds. */
export interface RoundTrips {
  /** The shortest of a minute, which has met an empty queue; 0 before there is one. */
  readonly leastRttMs: number;
  /** The shortest of the last ones where it is far above that: the path became longer, or a queue stands in front of it. Else 0. */
  readonly doubtedRttMs: number;
}

/**
 * What a window may grow to on the word of a round trip that a queue may have made: 10 MB/s over 100 ms. It was measured to
 * cost nothing where there was no need for it; 16 MiB, where such growth ends by itself, cost a third of all CPU of bulk.
 */
const doubtedWindowBytes = 1_048_576;

/** A consumer this much faster than two round trips per half window is held back by the window, not by itself. */
const growthRounds = 2;
/** On loopback a round trip is shorter than the noise of timers. */
const shortestRttMs = 1;

export class ReceiveWindow {
  /** The window promised: what the sender may have outstanding. */
  windowBytes: number;
  /** What the sender may still send. */
  leftBytes: number;
  /** Consumed and not yet granted again. */
  #owedBytes = 0;
  #grantedAtMs: number;

  constructor(windowBytes: number, nowMs: number) {
    this.windowBytes = windowBytes;
    this.leftBytes = windowBytes;
    this.#grantedAtMs = nowMs;
  }

  /** Before anything is kept. */
  receive(bytes: number): void {
    if (bytes > this.leftBytes) throw new WireError('flow-control', `${bytes} bytes with a credit of ${this.leftBytes}`);
    this.leftBytes -= bytes;
  }

  /** A grant beside consumption: the credit of OPENED. The caller accounts for the budget. */
  widen(bytes: number): void {
    this.windowBytes += bytes;
    this.leftBytes += bytes;
  }

  /** True when a grant is due: half of the window is consumed. */
  consume(bytes: number): boolean {
    this.#owedBytes += bytes;
    return this.#owedBytes * 2 >= this.windowBytes;
  }

  /** The credit to send now; doubles the window where the sender was waiting for it and the budget allows. */
  grant(nowMs: number, roundTrips: RoundTrips, limits: WindowLimits, budget: WindowBudget): number {
    const bytes = this.#owedBytes + this.#grow(mostWindowBytes(nowMs - this.#grantedAtMs, roundTrips, limits), budget);
    this.#owedBytes = 0;
    this.#grantedAtMs = nowMs;
    this.leftBytes += bytes;
    return bytes;
  }

  #grow(mostBytes: number, budget: WindowBudget): number {
    const room = Math.min(mostBytes - this.windowBytes, budget.limitBytes - budget.usedBytes);
    const bytes = Math.max(0, Math.min(this.windowBytes, room));
    this.windowBytes += bytes;
    budget.take(bytes);
    return bytes;
  }
}

/** How far a window may grow whose half was taken in so much time; 0 where its sender was not waiting for it. */
function mostWindowBytes(tookMs: number, { leastRttMs, doubtedRttMs }: RoundTrips, { maxWindowBytes }: WindowLimits): number {
  if (tookMs <= growthRounds * Math.max(leastRttMs, shortestRttMs)) return maxWindowBytes;
  return tookMs <= growthRounds * doubtedRttMs ? Math.min(maxWindowBytes, doubtedWindowBytes) : 0;
}

/** A sender's credit after a grant. */
export function nextCredit(credit: number, granted: number): number {
  if (granted === 0) throw new WireError('flow-control', 'CREDIT of nothing');
  return checkCredit(credit + granted);
}

/** What a sender holds, a first window included. */
export function checkCredit(credit: number): number {
  if (credit > maxCredit) throw new WireError('flow-control', 'credit beyond 31 bits');
  return credit;
}
