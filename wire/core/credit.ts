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

/** All receive windows of a session together; growth stops at the limit. */
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

/** A consumer this much faster than two round trips per half window is held back by the window, not by itself. */
const growthRounds = 2;
/** On loopback a round trip is shorter than the noise of timers. */
const leastRttMs = 1;

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
  grant(nowMs: number, rttMs: number, limits: WindowLimits, budget: WindowBudget): number {
    let bytes = this.#owedBytes;
    if (nowMs - this.#grantedAtMs <= growthRounds * Math.max(rttMs, leastRttMs)) bytes += this.#grow(limits, budget);
    this.#owedBytes = 0;
    this.#grantedAtMs = nowMs;
    this.leftBytes += bytes;
    return bytes;
  }

  #grow(limits: WindowLimits, budget: WindowBudget): number {
    const room = Math.min(limits.maxWindowBytes - this.windowBytes, budget.limitBytes - budget.usedBytes);
    const bytes = Math.max(0, Math.min(this.windowBytes, room));
    this.windowBytes += bytes;
    budget.take(bytes);
    return bytes;
  }
}

/** A sender's credit after a grant. */
export function nextCredit(credit: number, granted: number): number {
  if (granted === 0) throw new WireError('flow-control', 'CREDIT of nothing');
  if (credit + granted > maxCredit) throw new WireError('flow-control', 'credit beyond 31 bits');
  return credit + granted;
}
