// Whether the peer is alive: PINGs that prove the data path and time it, and an end to a silent session.
// docs/protocol.md 6, Pings.

import type { SessionClock } from '../clock.ts';
import type { RoundTrips } from '../core/credit.ts';
import { readU32, WireError, writeU32 } from '../core/frame.ts';

interface KeepAliveOptions {
  readonly clock: SessionClock;
  readonly sendPing: (payload: Uint8Array) => void;
  /** True for the side that opens streams: it wants to know early that the peer is quiet, so each PING asks. */
  readonly opens?: boolean;
  readonly onProof: (rttMs: number) => void;
  /** The peer has become quiet. */
  readonly onQuiet?: () => void;
  readonly onSilent: () => void;
}

const pingEveryMs = 5_000;
/** Ticks of pingEveryMs without a byte: 15 s, the time within which "connected" must have been proven. */
const silentTicks = 3;
/** The whole HELLO is due within two ticks; a part of it does not count. */
const helloTicks = 2;
/** How often a session looks whether an answer came to what it asked, while it asks. */
const watchEveryMs = 200;
/** A peer that has sent nothing since it was asked gets a PING after two looks; others come back from a busy machine by then. */
const askAgainTicks = 2;
/** The PING has 600 ms and two round trips for its answer. Then the peer counts as quiet. */
const quietTicks = 5;
/** A minute of pings: long enough that one met an empty queue, short enough to notice another path. */
const recentPings = 12;
/** The path may have become longer when this many pings in a row took this many times the shortest: 10 to 15 s. */
const doubtedPings = 3;
const doubtedTimes = 2;
/** The round trip below which a first window carries 13 MB/s, and pings on a busy machine wait as long for the processor. */
const leastDoubtedMs = 20;

/** What a PING is for. Only times of regular ones, every five seconds, are remembered: twelve of them are a minute. */
type PingKind = 'regular' | 'asked' | 'probe';

export class KeepAlive implements RoundTrips {
  rttMs: number | null = null;
  provenAtMs: number | null = null;
  leastRttMs = 0;
  doubtedRttMs = 0;
  /** The session sets both on every read; cheaper than reading a clock for each chunk. */
  heard = false;
  answered = true;
  /** Looks since the peer was asked for the first time without an answer. */
  #askedTicks = 0;
  #stopWatch: (() => void) | null = null;
  readonly #stopTicks: () => void;
  readonly #options: KeepAliveOptions;
  #greeted = false;
  #silentTicks = 0;
  #id = 0;
  #sentAtMs: number | null = null;
  #kind: PingKind = 'regular';
  /** Round trips of the last PINGs, at most recentPings. */
  readonly #recentMs: number[] = [];

  constructor(options: KeepAliveOptions) {
    this.#options = options;
    this.#stopTicks = options.clock.every(pingEveryMs, () => this.#tick());
  }

  stop(): void {
    this.#stopTicks();
    this.#stopWatch?.();
  }

  /** The peer was asked and has sent nothing for a second: it may be stopped or cut off. */
  get isQuiet(): boolean {
    return !this.answered && this.#askedTicks * watchEveryMs >= quietTicks * watchEveryMs + 2 * this.leastRttMs;
  }

  /** Something was sent that a live peer answers sooner or later. */
  asked(): void {
    if (this.answered) this.#askedTicks = 0;
    this.answered = false;
    this.#stopWatch ??= this.#options.clock.every(watchEveryMs, () => this.#watch());
  }

  #watch(): void {
    if (this.answered) {
      this.#stopWatch?.();
      this.#stopWatch = null;
      return;
    }
    const wasQuiet = this.isQuiet;
    if (++this.#askedTicks === askAgainTicks) this.#ping('asked');
    if (this.isQuiet && !wasQuiet) this.#options.onQuiet?.();
  }

  /** The peer's HELLO has arrived: pings begin. */
  greet(): void {
    this.#greeted = true;
    this.#ping('regular');
  }

  receivePong(payload: Uint8Array): void {
    if (this.#sentAtMs === null || readU32(payload, 4) !== this.#id) throw new WireError('protocol', 'PONG without a PING');
    const nowMs = this.#options.clock.now();
    this.rttMs = nowMs - this.#sentAtMs;
    this.provenAtMs = nowMs;
    this.#sentAtMs = null;
    if (this.#kind === 'regular') this.#remember(this.rttMs);
    this.#options.onProof(this.rttMs);
  }

  /** The shortest round trip of a minute is the path without the queues that our own traffic puts in front of it. */
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
    else if (this.#greeted) this.#ping('regular');
  }

  /** Sends one out of turn, unless one is under way. */
  probe(): void {
    if (this.#greeted) this.#ping('probe');
  }

  /** One PING at a time: a late answer is a long round trip, not a lost PING. */
  #ping(kind: PingKind): void {
    if (kind === 'regular' && this.#options.opens) this.asked();
    if (this.#sentAtMs !== null) {
      // Probes are frequent: without this, a regular one would hardly ever leave.
      if (kind === 'regular' && this.#kind === 'probe') this.#kind = kind;
      return;
    }
    this.#kind = kind;
    this.#id = (this.#id + 1) >>> 0;
    this.#sentAtMs = this.#options.clock.now();
    const payload = new Uint8Array(8);
    writeU32(payload, 4, this.#id);
    this.#options.sendPing(payload);
  }
}
