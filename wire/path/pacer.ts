// Limits the pace of a carrier with BBR on a long path while more would only fill the queue of the path (core/pace.ts).

import type { Duplex } from 'node:stream';
import { minHighWaterBytes } from '../core/high-water.ts';
import { beginPace, limitOf, lookAfterMs, nextPace } from './core/pace.ts';
import { limitPace, readTcpInfo } from './tcp-path.ts';

export class Pacer {
  readonly #carrier: Duplex;
  #pace = beginPace(0, 0);

  constructor(carrier: Duplex) {
    this.#carrier = carrier;
  }

  /** Smaller writes say nothing about the path. */
  written(bytes: number, nowMs: number, minRttMs: number): void {
    if (bytes < minHighWaterBytes || nowMs - this.#pace.atMs < lookAfterMs(minRttMs)) return;
    const info = readTcpInfo(this.#carrier);
    if (info === null) return;
    const before = limitOf(this.#pace);
    this.#pace = nextPace(this.#pace, nowMs, info);
    const limit = limitOf(this.#pace);
    if (limit !== before) limitPace(this.#carrier, limit);
  }
}
