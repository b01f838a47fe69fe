// Credit of one direction of one stream: what the sender may still send, what the receiver grants, when the window grows.
// docs/protocol.md 5, Credit.

import { WireError } from './frame.ts';

/** Credit is a u32 on the wire, but its sum must fit in 31 bits, so that it overflows in no language. */
export const maxCredit = 0x7fff_ffff;

export interface WindowLimits {
  readonly initialWindowBytes: number;
  readonly maxWindowBytes: number;
  readonly sessionWindowBytes: number;
}

/** All receive windows of one session, or of several sessions that share the budget. Growth stops at the limit. */
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

/** The window of a stream that is not accepted yet, or that was opened once half of the budget was spent. One read of a socket. */
export const minWindowBytes = 65_536;

/** 1 MiB in place of 256 KiB: a page of 1 MB over one connection of its visitor then waits for no credit. */
const farTimes = 4;

/**
 * A new stream gets the initial window until half of the budget is spent, and the minimum from then on. Over a long path it gets
 * four times as much until an eighth is spent.
 */
export function nextInitialWindow(budget: WindowBudget, limits: WindowLimits, isFar: boolean): number {
  const { initialWindowBytes, maxWindowBytes } = limits;
  const farBytes = Math.min(farTimes * initialWindowBytes, maxWindowBytes);
  if (isFar && budget.usedBytes + farBytes <= budget.limitBytes / 8) return farBytes;
  const isScarce = budget.usedBytes + initialWindowBytes > budget.limitBytes / 2;
  return isScarce ? Math.min(minWindowBytes, initialWindowBytes) : initialWindowBytes;
}

/** What PINGs say about the path, in milliseconds. */
export interface RoundTrips {
  /** The shortest round trip of the last minute, which met an empty queue; 0 before the first. */
  readonly leastRttMs: number;
  /** The shortest of the last few if it is far above leastRttMs: the path is longer now, or has a queue. Else 0. */
  readonly doubtedRttMs: number;
}

/**
 * How far a window may grow on doubtedRttMs, which may be the time of a queue: 10 MB/s over 100 ms. Measured: if the growth was
 * not needed, 1 MiB cost nothing, and 16 MiB cost a third of all CPU of bulk transfers.
 */
const doubtedWindowBytes = 1_048_576;

/** Half a window consumed within this many round trips: the window held the sender back, not the consumer. */
const growthRounds = 2;
/** The inaccuracy of timers: on loopback a round trip is shorter. */
const shortestRttMs = 1;

export class ReceiveWindow {
  /** The whole window: what the sender may have sent and the reader not yet consumed. */
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

  /** Call it before any byte is kept. */
  receive(bytes: number): void {
    if (bytes > this.leftBytes) throw new WireError('flow-control', `${bytes} bytes with a credit of ${this.leftBytes}`);
    this.leftBytes -= bytes;
  }

  /** A grant without consumption: the credit of OPENED. The caller takes it from the budget. */
  widen(bytes: number): void {
    this.windowBytes += bytes;
    this.leftBytes += bytes;
  }

  /** True once half of the window is consumed: call grant(). */
  consume(bytes: number): boolean {
    this.#owedBytes += bytes;
    return this.#owedBytes * 2 >= this.windowBytes;
  }

  /** The credit to send now. Doubles the window if the sender was waiting for credit and the budget allows it. */
  grant(nowMs: number, roundTrips: RoundTrips, limits: WindowLimits, budget: WindowBudget): number {
    const bytes = this.#owedBytes + this.#grow(maxGrowthBytes(nowMs - this.#grantedAtMs, roundTrips, limits), budget);
    this.#owedBytes = 0;
    this.#grantedAtMs = nowMs;
    this.leftBytes += bytes;
    return bytes;
  }

  #grow(maxBytes: number, budget: WindowBudget): number {
    const room = Math.min(maxBytes - this.windowBytes, budget.limitBytes - budget.usedBytes);
    const bytes = Math.max(0, Math.min(this.windowBytes, room));
    this.windowBytes += bytes;
    budget.take(bytes);
    return bytes;
  }
}

/** The size to which a window may grow when half of it was consumed in tookMs; 0 if its sender did not wait for credit. */
function maxGrowthBytes(tookMs: number, { leastRttMs, doubtedRttMs }: RoundTrips, { maxWindowBytes }: WindowLimits): number {
  if (tookMs <= growthRounds * Math.max(leastRttMs, shortestRttMs)) return maxWindowBytes;
  return tookMs <= growthRounds * doubtedRttMs ? Math.min(maxWindowBytes, doubtedWindowBytes) : 0;
}

/** The sender's credit after a grant. */
export function nextCredit(credit: number, granted: number): number {
  if (granted === 0) throw new WireError('flow-control', 'CREDIT of nothing');
  return checkCredit(credit + granted);
}

/** The credit that a sender holds, or the first window that it was promised. */
export function checkCredit(credit: number): number {
  if (credit > maxCredit) throw new WireError('flow-control', 'credit beyond 31 bits');
  return credit;
}
