// How often something may happen: a token bucket. Pure; the clock is passed in.

import { WireError } from './frame.ts';

export class RateLimit {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #what: string;
  #level: number;
  #atMs: number;

  constructor(what: string, perSecond: number, burst: number, nowMs: number) {
    this.#what = what;
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#level = burst;
    this.#atMs = nowMs;
  }

  /** Counts what a peer does: beyond the limit the session ends. */
  take(nowMs: number): void {
    if (!this.tryTake(nowMs)) throw new WireError('flood', `more than ${this.#perSecond} ${this.#what} a second`);
  }

  /** Counts what this side does: false means wait, and takes nothing. */
  tryTake(nowMs: number): boolean {
    const filled = this.#level + (Math.max(0, nowMs - this.#atMs) / 1000) * this.#perSecond;
    this.#atMs = nowMs;
    this.#level = Math.min(this.#burst, filled);
    if (this.#level < 1) return false;
    this.#level--;
    return true;
  }
}
