// Handshakes of clients, a few for each turn of the event loop: a herd that comes back with its edge goes behind the
// visitors, who have turns of their own (visitor-turns.ts). What is begun is brought to its end before more is begun, and
// who came last begins first: an edge that cannot keep up would otherwise spend all its time on clients that have just
// given up.

import type { Socket } from 'node:net';
import { resetSocket } from '@underpass/wire/socket/reset-socket.ts';

interface Waiting {
  readonly socket: Socket;
  /** Whoever is counted as one (rules/address.ts). */
  readonly source: string;
  readonly sinceMs: number;
  readonly begin: () => void;
}

/** A handshake costs some 0.5 ms of signing and set-up: a turn is not held up for longer than 4 ms by them. */
export const beginsPerTurn = 8;
/** With 100 ms of round trip still 1,280 a second, more than one core takes. */
const mostUnderWay = 128;
/** Places that are kept for sources with fewer than as many: whoever begins handshakes and leaves them there must not have all. */
const keptPlaces = mostUnderWay / 4;
/** Newest first, when only some may begin: a herd behind one address is thousands. */
const mostPassedOver = 256;
/** Whoever stalls in the middle keeps nobody out for longer. */
const underWayMs = 1_000;
/** A client gives up after 10 s (client/carry/dial.ts), and its handshake has to be done by then, or its cost was for nothing. */
const longestWaitMs = 4_000;

export class ClientHandshakes {
  /** In the order of their coming; those before #oldest are over. Bounded by the connections that the limiter lets in. */
  #waiting: Waiting[] = [];
  #oldest = 0;
  /** With the time of their beginning, and in its order; at most mostUnderWay. */
  readonly #underWay = new Map<Socket, { readonly sinceMs: number; readonly source: string }>();
  #scheduled = false;
  #timer: NodeJS.Timeout | undefined;

  /** Calls `begin` in its turn; a socket that is over by then, or waited too long, is let go. */
  add(socket: Socket, source: string, begin: () => void): void {
    this.#waiting.push({ socket, source, sinceMs: performance.now(), begin });
    this.#schedule();
  }

  /** The client of this socket is in, or will not be. */
  done(socket: Socket): void {
    if (this.#underWay.delete(socket) && this.#waiting.length > 0) this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#scheduled = false;
    const nowMs = performance.now();
    this.#sendAway(nowMs);
    this.#overlook(nowMs);
    for (let begun = 0; begun < beginsPerTurn && this.#underWay.size < mostUnderWay; begun++) {
      const next = this.#takeNewest();
      if (next === null) {
        this.#lookLater();
        return;
      }
      this.#underWay.set(next.socket, { sinceMs: nowMs, source: next.source });
      next.socket.once('close', () => this.done(next.socket));
      next.begin();
    }
    if (this.#underWay.size < mostUnderWay) this.#schedule();
    else this.#lookLater();
  }

  /** Places come free by themselves when those who stall are overlooked. */
  #lookLater(): void {
    if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#look(), underWayMs).unref();
  }

  #look(): void {
    this.#timer = undefined;
    this.#schedule();
  }

  #sendAway(nowMs: number): void {
    const isLate = ({ sinceMs }: Waiting): boolean => nowMs - sinceMs > longestWaitMs;
    for (; this.#oldest < this.#waiting.length && isLate(this.#waiting[this.#oldest] as Waiting); this.#oldest++) {
      const { socket } = this.#waiting[this.#oldest] as Waiting;
      if (!socket.destroyed) resetSocket(socket);
    }
    if (this.#oldest < this.#waiting.length / 2) return;
    this.#waiting.splice(0, this.#oldest);
    this.#oldest = 0;
  }

  #overlook(nowMs: number): void {
    for (const [socket, { sinceMs }] of this.#underWay) {
      if (nowMs - sinceMs <= underWayMs) return;
      this.#underWay.delete(socket);
    }
  }

  #takeNewest(): Waiting | null {
    const crowding = this.#crowding();
    let passed = 0;
    for (let at = this.#waiting.length - 1; at >= this.#oldest && passed < mostPassedOver; at--) {
      const { socket, source } = this.#waiting[at] as Waiting;
      if (!socket.destroyed && crowding.has(source)) {
        passed++;
        continue;
      }
      const [newest] = this.#waiting.splice(at, 1) as [Waiting];
      if (!socket.destroyed) return newest;
    }
    return null;
  }

  /** Sources that may have no more: none while places are left that nobody is kept for. */
  #crowding(): ReadonlySet<string> {
    const counts = new Map<string, number>();
    if (this.#underWay.size < mostUnderWay - keptPlaces) return new Set();
    for (const { source } of this.#underWay.values()) counts.set(source, (counts.get(source) ?? 0) + 1);
    return new Set([...counts].filter(([, count]) => count >= keptPlaces).map(([source]) => source));
  }
}
