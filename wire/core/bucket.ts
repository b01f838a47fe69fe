// A token bucket: how often something may happen. Pure; the clock is passed in.

import { WireError } from './frame.ts';

export class Bucket {
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

  take(nowMs: number): void {
    const filled = this.#level + (Math.max(0, nowMs - this.#atMs) / 1000) * this.#perSecond;
    this.#atMs = nowMs;
    this.#level = Math.min(this.#burst, filled) - 1;
    if (this.#level < 0) throw new WireError('flood', `more than ${this.#perSecond} ${this.#what} a second`);
  }
}
