// Begins clients' TLS handshakes, one every 1 to 2 ms, so that clients that all return after a restart leave time to
// visitors (visitor-handshakes.ts). Bounds how many run at once.

import type { Socket } from 'node:net';
import { HandshakeQueue } from './handshake-queue.ts';

/** The pause between two; the timer takes 1 to 2 ms. A client costs some 1 ms until it serves: visitors have time between. */
const betweenMs = 2;
/** More than twice as many as the 50 or so that are under way at once with a round trip of 100 ms. */
const mostUnderWay = 128;
/** A quarter of the slots is reserved for sources that use fewer than that, so one stalling source cannot take them all. */
const reservedSlots = mostUnderWay / 4;
/** A handshake that stalls gives up its slot after this long. */
const underWayMs = 1_000;
/** A client gives up after 10 s (client/carry/dial.ts). Its handshake must be done by then, or its cost is wasted. */
const longestWaitMs = 7_000;

export class ClientHandshakes {
  readonly #waiting = new HandshakeQueue(longestWaitMs);
  /** Handshakes in the order in which they began; at most mostUnderWay. */
  readonly #underWay = new Map<Socket, { readonly sinceMs: number; readonly source: string }>();
  /** When the next handshake may begin. */
  #nextMs = 0;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer runs. */
  #timerMs = 0;

  /** Calls `begin` in its turn, unless the socket is closed by then. Resets a socket that waits too long. */
  add(socket: Socket, source: string, begin: () => void): void {
    this.#waiting.add(socket, source, begin);
    this.#runAt(this.#nextMs);
  }

  /** The handshake of this socket has ended, in either way. */
  done(socket: Socket): void {
    if (this.#underWay.delete(socket) && !this.#waiting.isEmpty) this.#runAt(this.#nextMs);
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
    this.#freeStalled(nowMs);
    const begins = this.#underWay.size < mostUnderWay && this.#beginNext(nowMs);
    if (begins) this.#nextMs = nowMs + betweenMs;
    // If none may begin, stalled handshakes give up their slots later.
    if (!this.#waiting.isEmpty) this.#runAt(begins ? this.#nextMs : nowMs + underWayMs);
  }

  /** False if no client waits that may begin. */
  #beginNext(nowMs: number): boolean {
    const next = this.#waiting.takeNext(this.#fullSources());
    if (next === null) return false;
    const { socket, source, begin } = next;
    this.#underWay.set(socket, { sinceMs: nowMs, source });
    socket.once('close', () => this.done(socket));
    begin();
    return true;
  }

  #freeStalled(nowMs: number): void {
    for (const [socket, { sinceMs }] of this.#underWay) {
      if (nowMs - sinceMs <= underWayMs) return;
      this.#underWay.delete(socket);
    }
  }

  /** Sources that may begin no more handshakes: none until only the reserved slots are free. */
  #fullSources(): ReadonlySet<string> {
    const counts = new Map<string, number>();
    if (this.#underWay.size < mostUnderWay - reservedSlots) return new Set();
    for (const { source } of this.#underWay.values()) counts.set(source, (counts.get(source) ?? 0) + 1);
    return new Set([...counts].filter(([, count]) => count >= reservedSlots).map(([source]) => source));
  }
}
