// Begins visitors' TLS handshakes, a few in each turn of the event loop. A visitor that comes alone does not wait.
// libuv (1.52) accepts one connection in each turn, so a burst waits in the kernel in order of arrival, and a visitor at its end
// waits for all before it. So this accepts waiting connections first, and begins handshakes between.

import type { Socket } from 'node:net';
import { HandshakeQueue } from './handshake-queue.ts';

/** A handshake costs some 0.5 ms of signing and set-up, so these take at most 4 ms of a turn. */
const beginsPerTurn = 8;
/** Connections to accept for each handshake that was begun: 0.1 ms each, so half of the time is left for handshakes. */
const acceptsPerBegin = 4;
/** The time that the handshake itself may take; a visitor has given up by then. */
const longestWaitMs = 10_000;

export class VisitorHandshakes {
  readonly #waiting = new HandshakeQueue(longestWaitMs);
  #isScheduled = false;
  /** A connection arrived in this turn. */
  #hasArrivals = false;
  /** Turns that may still go to accepting before handshakes begin. */
  #turnsLeft = 0;

  /** Calls `begin` in its turn, unless the socket is closed by then. Resets a socket that waits too long. */
  add(socket: Socket, source: string, begin: () => void): void {
    this.#waiting.add(socket, source, begin);
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
    if (!this.#waiting.isEmpty) this.#schedule();
  }

  /** Returns how many handshakes it began. */
  #begin(): number {
    for (let begun = 0; begun < beginsPerTurn; begun++) {
      const next = this.#waiting.takeNext();
      if (next === null) return begun;
      next.begin();
    }
    return beginsPerTurn;
  }
}
