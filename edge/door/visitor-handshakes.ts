// Starts visitors' TLS handshakes, a few in each turn of the event loop, and one address after the other: an address that
// begins hundreds a second delays only itself. A visitor that comes alone does not wait.

import type { Socket } from 'node:net';
import { resetSocket } from '@underpass/wire/socket/reset-socket.ts';
import { createNextTurn } from '../limits/next-turn.ts';
import { AcceptFirst } from './accept-first.ts';

interface Waiting {
  readonly socket: Socket;
  readonly sinceMs: number;
  readonly begin: () => void;
}

/** A handshake costs some 0.5 ms of signing and set-up, so these take at most 4 ms of a turn. */
const beginsPerTurn = 8;
/** As long as the handshake itself may take; a visitor has given up by then. */
const longestWaitMs = 10_000;

export class VisitorHandshakes {
  /** By address key (rules/address.ts); the next to start comes first. Bounded by the connections that the limiter admits. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #schedule = createNextTurn(() => this.#run());
  readonly #accepting = new AcceptFirst();

  /** Calls `begin` in its turn, unless the socket is closed by then. Resets a socket that waits too long. */
  add(socket: Socket, source: string, begin: () => void): void {
    const own = this.#waiting.get(source);
    const waiting = { socket, sinceMs: performance.now(), begin };
    if (own === undefined) this.#waiting.set(source, [waiting]);
    else own.push(waiting);
    this.#accepting.arrived();
    this.#schedule();
  }

  #run(): void {
    if (!this.#accepting.takesTurn()) this.#accepting.began(this.#begin());
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
