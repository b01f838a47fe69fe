// Starts visitors' TLS handshakes, a few in each turn of the event loop, and one address after the other: an address that
// begins hundreds a second delays only itself. A visitor that comes alone does not wait.
// libuv (1.52) accepts one connection in each turn, so a burst waits in the kernel in order of arrival, and a visitor at its end
// waits for all before it. So this accepts waiting connections first, and starts handshakes between.

import type { Socket } from 'node:net';
import { resetSocket } from '@underpass/wire/socket/reset-socket.ts';

interface Waiting {
  readonly socket: Socket;
  readonly sinceMs: number;
  readonly begin: () => void;
}

/** A handshake costs some 0.5 ms of signing and set-up, so these take at most 4 ms of a turn. */
const beginsPerTurn = 8;
/** Connections to accept for each handshake that was started: 0.1 ms each, so half of the time is left for handshakes. */
const acceptsPerBegin = 4;
/** As long as the handshake itself may take; a visitor has given up by then. */
const longestWaitMs = 10_000;

export class VisitorHandshakes {
  /** By address key (rules/address.ts); the next to start comes first. Bounded by the connections that the limiter admits. */
  readonly #waiting = new Map<string, Waiting[]>();
  #isScheduled = false;
  /** A connection arrived in this turn. */
  #hasArrivals = false;
  /** Turns that may still go to accepting before handshakes start. */
  #turnsLeft = 0;

  /** Calls `begin` in its turn, unless the socket is closed by then. Resets a socket that waits too long. */
  add(socket: Socket, source: string, begin: () => void): void {
    const own = this.#waiting.get(source);
    const waiting = { socket, sinceMs: performance.now(), begin };
    if (own === undefined) this.#waiting.set(source, [waiting]);
    else own.push(waiting);
    this.#hasArrivals = true;
    this.#schedule();
  }

  /** Runs in the next turn, once. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isScheduled = false;
    if (this.#hasArrivals && this.#turnsLeft > 0) this.#turnsLeft--;
    else this.#turnsLeft = acceptsPerBegin * this.#begin();
    this.#hasArrivals = false;
    if (this.#waiting.size > 0) this.#schedule();
  }

  /** Returns how many handshakes it started. */
  #begin(): number {
    const earliestMs = performance.now() - longestWaitMs;
    let begun = 0;
    while (begun < beginsPerTurn) {
      const next = this.#takeNext();
      if (next === null) break;
      if (next.socket.destroyed) continue;
      if (next.sinceMs < earliestMs) resetSocket(next.socket);
      else {
        begun++;
        next.begin();
      }
    }
    return begun;
  }

  /** The oldest of the first source, which then moves to the end of the rotation. */
  #takeNext(): Waiting | null {
    for (const [source, own] of this.#waiting) {
      const next = own.shift() as Waiting;
      this.#waiting.delete(source);
      if (own.length > 0) this.#waiting.set(source, own);
      return next;
    }
    return null;
  }
}
