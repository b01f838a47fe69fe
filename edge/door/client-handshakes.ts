// Starts clients' TLS handshakes, one every 1 to 2 ms, so that clients that all return after a restart leave time to
// visitors (visitor-handshakes.ts). Bounds how many run at once, and starts the newest first: an edge that cannot
// keep up would otherwise spend all its time on clients that have just given up.

import type { Socket } from 'node:net';
import { resetSocket } from '@underpass/wire/socket/reset-socket.ts';

interface Waiting {
  readonly socket: Socket;
  /** The address key that counts as one source (rules/address.ts). */
  readonly source: string;
  readonly sinceMs: number;
  readonly begin: () => void;
}

/** Between two starts; the timer runs after 1 to 2 ms. A client costs 1 ms or so until it serves, so visitors have time between. */
const betweenMs = 2;
/** With a round trip of 100 ms some 50 are under way at once. */
const mostUnderWay = 128;
/** A quarter of the slots is reserved for sources that use fewer than that, so one stalling source cannot take them all. */
const reservedSlots = mostUnderWay / 4;
/** Waiting clients to skip in one search: thousands of them may share one address that has used its slots. */
const mostSkipped = 256;
/** A handshake that stalls gives up its slot after this long. */
const underWayMs = 1_000;
/** A client gives up after 10 s (client/carry/dial.ts). Its handshake must be done by then, or its cost is wasted. */
const longestWaitMs = 7_000;

export class ClientHandshakes {
  /** In order of arrival; those before #oldest are done. Bounded by the connections that the limiter admits. */
  #waiting: Waiting[] = [];
  #oldest = 0;
  /** In order of their start; at most mostUnderWay. */
  readonly #underWay = new Map<Socket, { readonly sinceMs: number; readonly source: string }>();
  /** When the next handshake may start. */
  #nextMs = 0;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer runs. */
  #timerMs = 0;

  /** Calls `begin` in its turn, unless the socket is closed by then. Resets a socket that waits too long. */
  add(socket: Socket, source: string, begin: () => void): void {
    this.#waiting.push({ socket, source, sinceMs: performance.now(), begin });
    this.#schedule();
  }

  /** The handshake of this socket has ended, in either way. */
  done(socket: Socket): void {
    if (this.#underWay.delete(socket) && this.#waiting.length > 0) this.#schedule();
  }

  #schedule(): void {
    this.#runAt(this.#nextMs);
  }

  #runAt(atMs: number): void {
    if (this.#timer !== undefined && this.#timerMs <= atMs) return;
    clearTimeout(this.#timer);
    this.#timerMs = atMs;
    this.#timer = setTimeout(() => this.#run(), Math.max(0, atMs - performance.now())).unref();
  }

  #run(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    this.#dropLate(nowMs);
    this.#freeStalled(nowMs);
    const begins = this.#underWay.size < mostUnderWay && this.#beginNewest(nowMs);
    if (begins) this.#nextMs = nowMs + betweenMs;
    // If none may begin, stalled handshakes give up their slots later.
    if (this.#waiting.length > 0) this.#runAt(begins ? this.#nextMs : nowMs + underWayMs);
  }

  /** False if no client waits that may begin. */
  #beginNewest(nowMs: number): boolean {
    const next = this.#takeNewest();
    if (next === null) return false;
    this.#underWay.set(next.socket, { sinceMs: nowMs, source: next.source });
    next.socket.once('close', () => this.done(next.socket));
    next.begin();
    return true;
  }

  #dropLate(nowMs: number): void {
    const isLate = ({ sinceMs }: Waiting): boolean => nowMs - sinceMs > longestWaitMs;
    for (; this.#oldest < this.#waiting.length && isLate(this.#waiting[this.#oldest] as Waiting); this.#oldest++) {
      const { socket } = this.#waiting[this.#oldest] as Waiting;
      if (!socket.destroyed) resetSocket(socket);
    }
    if (this.#oldest < this.#waiting.length / 2) return;
    this.#waiting.splice(0, this.#oldest);
    this.#oldest = 0;
  }

  #freeStalled(nowMs: number): void {
    for (const [socket, { sinceMs }] of this.#underWay) {
      if (nowMs - sinceMs <= underWayMs) return;
      this.#underWay.delete(socket);
    }
  }

  #takeNewest(): Waiting | null {
    const full = this.#fullSources();
    let skipped = 0;
    for (let at = this.#waiting.length - 1; at >= this.#oldest && skipped < mostSkipped; at--) {
      const { socket, source } = this.#waiting[at] as Waiting;
      if (!socket.destroyed && full.has(source)) {
        skipped++;
        continue;
      }
      const [newest] = this.#waiting.splice(at, 1) as [Waiting];
      if (!socket.destroyed) return newest;
    }
    return null;
  }

  /** Sources that may start no more handshakes: none until only the reserved slots are free. */
  #fullSources(): ReadonlySet<string> {
    const counts = new Map<string, number>();
    if (this.#underWay.size < mostUnderWay - reservedSlots) return new Set();
    for (const { source } of this.#underWay.values()) counts.set(source, (counts.get(source) ?? 0) + 1);
    return new Set([...counts].filter(([, count]) => count >= reservedSlots).map(([source]) => source));
  }
}
