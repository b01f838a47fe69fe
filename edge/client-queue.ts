// Handshakes of clients, a few for each turn of the event loop: a herd that comes back with its edge goes behind the
// visitors, whose handshakes wait for nobody.

import type { Socket } from 'node:net';
import { breakOff } from '@underpass/wire/outlet.ts';

interface Waiting {
  readonly socket: Socket;
  readonly sinceMs: number;
  readonly begin: () => void;
}

/** A handshake costs some 0.5 ms of signing and set-up: a turn is not held up for longer than 4 ms by them. */
const beginsPerTurn = 8;
/** A client gives up after 10 s (client/carry/dial.ts). Whoever waited for most of that is told to come back later, for nothing. */
const longestWaitMs = 8_000;

export class ClientQueue {
  /** Bounded by the connections that the doorman lets in. */
  #waiting: Waiting[] = [];
  #next = 0;

  /** Calls `begin` in its turn; a socket that is over by then, or waited too long, is let go. */
  add(socket: Socket, begin: () => void): void {
    this.#waiting.push({ socket, sinceMs: performance.now(), begin });
    if (this.#waiting.length - this.#next === 1) setImmediate(() => this.#run());
  }

  #run(): void {
    const oldestMs = performance.now() - longestWaitMs;
    for (let begun = 0; begun < beginsPerTurn && this.#next < this.#waiting.length; ) {
      const { socket, sinceMs, begin } = this.#waiting[this.#next++] as Waiting;
      if (socket.destroyed) continue;
      if (sinceMs < oldestMs) breakOff(socket);
      else {
        begin();
        begun++;
      }
    }
    if (this.#next < this.#waiting.length) setImmediate(() => this.#run());
    else this.#waiting = [];
    if (this.#waiting.length === 0) this.#next = 0;
  }
}
