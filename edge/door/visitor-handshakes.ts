// Handshakes of visitors, a few for each turn of the event loop, and each address in its turn: whoever begins hundreds a
// second waits behind himself. Nobody is refused, and whoever comes alone waits for nothing.
// libuv (1.52) accepts one connection for each turn, so a crowd waits in the kernel, in the order of its coming. Who comes
// is let in first, therefore, and handshakes begin when nobody comes.

import type { Socket } from 'node:net';
import { resetSocket } from '@underpass/wire/socket/reset-socket.ts';
import { beginsPerTurn } from './client-handshakes.ts';

interface Waiting {
  readonly socket: Socket;
  readonly sinceMs: number;
  readonly begin: () => void;
}

/** Connections that are let in first for each handshake begun: 0.1 ms each, so that half of the time is for handshakes. */
const letInFirst = 4;
/** As long as the handshake itself may take: a visitor has given up by then. */
const longestWaitMs = 10_000;

export class VisitorHandshakes {
  /** By whoever is counted as one (rules/address.ts), the next one's first. Bounded by the connections that the limiter lets in. */
  readonly #waiting = new Map<string, Waiting[]>();
  #scheduled = false;
  /** Somebody came in this turn, and so many more turns may go by for that. */
  #hasNews = false;
  #turnsLeft = 0;

  /** Calls `begin` in its turn; a socket that is over by then, or waited too long, is let go. */
  add(socket: Socket, source: string, begin: () => void): void {
    const own = this.#waiting.get(source);
    const waiting = { socket, sinceMs: performance.now(), begin };
    if (own === undefined) this.#waiting.set(source, [waiting]);
    else own.push(waiting);
    this.#hasNews = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#scheduled = false;
    if (this.#hasNews && this.#turnsLeft > 0) this.#turnsLeft--;
    else this.#turnsLeft = letInFirst * this.#begin();
    this.#hasNews = false;
    if (this.#waiting.size > 0) this.#schedule();
  }

  /** How many were begun. */
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

  /** The oldest of the source whose turn it is, which then goes behind the others. */
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
