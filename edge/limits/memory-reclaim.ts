// Runs a full garbage collection after many connections have closed, and returns free memory to the system. Without it small
// uncollected objects fragment the C library's memory, and each allocation of a TLS buffer searches the fragments: a twelfth of
// all CPU of bulk transfer, until V8 collects on its own, which may take hours (docs/decisions/006).

import type { ConnectionLimiter } from './connection-limiter.ts';

/** Collect once at least this many have closed, and at least as many as are open: it then costs little per connection. */
const leastClosed = 2_048;
/** The wave is over when no more than this many close between two checks. */
const calm = 64;

export class MemoryReclaim {
  readonly #limiter: Pick<ConnectionLimiter, 'open' | 'closed'>;
  readonly #collect: () => void;
  readonly #trim: () => void;
  #collected = false;
  #closedAtCheck = 0;
  #closedAtCollection = 0;

  constructor(limiter: Pick<ConnectionLimiter, 'open' | 'closed'>, collect: () => void, trim: () => void) {
    this.#limiter = limiter;
    this.#collect = collect;
    this.#trim = trim;
  }

  /** Call it every second or so. */
  check(): void {
    const { open, closed } = this.#limiter;
    // V8 frees what it collected in later turns of the event loop, so trim one check later.
    if (this.#collected) this.#trim();
    this.#collected = false;
    const isCalm = closed - this.#closedAtCheck <= calm;
    this.#closedAtCheck = closed;
    if (!isCalm || closed - this.#closedAtCollection < Math.max(leastClosed, open)) return;
    this.#closedAtCollection = closed;
    this.#collect();
    this.#collected = true;
  }
}
