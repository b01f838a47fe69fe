// Whether the peer lives: pings that prove the data path and time it, and an end to silence.

import type { RoundTrips } from './core/credit.ts';
import { readU32, WireError, writeU32 } from './core/frame.ts';
import type { SessionClock } from './session.ts';

export interface PulseOptions {
  readonly clock: SessionClock;
  readonly sendPing: (payload: Uint8Array) => void;
  readonly onProof: (rttMs: number) => void;
  readonly onSilent: () => void;
}

const pingEveryMs = 5_000;
/** Ticks of pingEveryMs without a single byte: 15 s, the time in which "connected" must have been proven. */
const silentTicks = 3;
/** A HELLO is due within two ticks, all of it: a part of one is silence. */
const helloTicks = 2;
/** A minute of pings: long enough to have met an empty queue, short enough to notice another path. */
const recentPings = 12;
/** So many pings in a row, so much above the shortest, before another path is thought of; 10 to 15 s. */
const doubtedPings = 3;
const doubtedTimes = 2;
/** Below it a first window carries 13 MB/s, and pings of a busy machine wait as long for the processor. */
const leastDoubtedMs = 20;

export class Pulse implements RoundTrips {
  rttMs: number | null = null;
  provenAtMs: number | null = null;
  leastRttMs = 0;
  doubtedRttMs = 0;
  /** Set by whoever hears anything of the peer; cheaper than reading a clock for each chunk. */
  heard = false;
  readonly stop: () => void;
  readonly #options: PulseOptions;
  #greeted = false;
  #silentTicks = 0;
  #id = 0;
  #sentAtMs: number | null = null;
  /** At most recentPings. */
  readonly #recentMs: number[] = [];

  constructor(options: PulseOptions) {
    this.#options = options;
    this.stop = options.clock.every(pingEveryMs, () => this.#tick());
  }

  /** The peer's HELLO has arrived: pings begin. */
  greet(): void {
    this.#greeted = true;
    this.#ping();
  }

  receivePong(payload: Uint8Array): void {
    if (this.#sentAtMs === null || readU32(payload, 4) !== this.#id) throw new WireError('protocol', 'PONG without a PING');
    const nowMs = this.#options.clock.now();
    this.rttMs = nowMs - this.#sentAtMs;
    this.provenAtMs = nowMs;
    this.#sentAtMs = null;
    this.#remember(this.rttMs);
    this.#options.onProof(this.rttMs);
  }

  /** The shortest of a minute is the path without the queues that our own traffic makes in front of it. */
  #remember(rttMs: number): void {
    const recent = this.#recentMs;
    recent.push(rttMs);
    if (recent.length > recentPings) recent.shift();
    this.leastRttMs = Math.min(...recent);
    const lately = recent.length < doubtedPings ? 0 : Math.min(...recent.slice(-doubtedPings));
    this.doubtedRttMs = lately >= Math.max(leastDoubtedMs, doubtedTimes * this.leastRttMs) ? lately : 0;
  }

  #tick(): void {
    this.#silentTicks = this.heard && this.#greeted ? 0 : this.#silentTicks + 1;
    this.heard = false;
    if (this.#silentTicks >= (this.#greeted ? silentTicks : helloTicks)) this.#options.onSilent();
    else if (this.#greeted) this.#ping();
  }

  /** One at a time: a late answer is a long round trip, not a lost ping. */
  #ping(): void {
    if (this.#sentAtMs !== null) return;
    this.#id = (this.#id + 1) >>> 0;
    this.#sentAtMs = this.#options.clock.now();
    const payload = new Uint8Array(8);
    writeU32(payload, 4, this.#id);
    this.#options.sendPing(payload);
  }
}
