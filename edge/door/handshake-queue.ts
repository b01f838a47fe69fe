// Connections that wait for their TLS handshake. Addresses take turns: one that opens hundreds a second delays only itself.

import type { Socket } from 'node:net';
import { resetSocket } from '@underpass/wire/socket/reset-socket.ts';

interface Waiting {
  readonly socket: Socket;
  readonly source: string;
  readonly sinceMs: number;
  readonly begin: () => void;
}

const none: ReadonlySet<string> = new Set();

export class HandshakeQueue {
  /** Connections by source; the next to begin comes first. Bounded by the connections that the limiter admits. */
  readonly #bySource = new Map<string, Waiting[]>();
  readonly #longestWaitMs: number;

  constructor(longestWaitMs: number) {
    this.#longestWaitMs = longestWaitMs;
  }

  get isEmpty(): boolean {
    return this.#bySource.size === 0;
  }

  /** `source` is the address key that counts as one source (rules/address/address.ts); `begin` begins the handshake. */
  add(socket: Socket, source: string, begin: () => void): void {
    const waiting = { socket, source, sinceMs: performance.now(), begin };
    const own = this.#bySource.get(source);
    if (own === undefined) this.#bySource.set(source, [waiting]);
    else own.push(waiting);
  }

  /** The oldest of the first source that is not full. That source then moves to the end of the rotation. */
  takeNext(full: ReadonlySet<string> = none): Waiting | null {
    for (const [source, own] of this.#bySource) {
      if (full.has(source)) continue;
      const next = this.#takeOldest(own);
      this.#bySource.delete(source);
      if (own.length > 0) this.#bySource.set(source, own);
      if (next !== null) return next;
    }
    return null;
  }

  /** Skips sockets that are closed by now, and resets those that have waited too long. */
  #takeOldest(own: Waiting[]): Waiting | null {
    const earliestMs = performance.now() - this.#longestWaitMs;
    for (let next = own.shift(); next !== undefined; next = own.shift()) {
      if (next.socket.destroyed) continue;
      if (next.sinceMs >= earliestMs) return next;
      resetSocket(next.socket);
    }
    return null;
  }
}
