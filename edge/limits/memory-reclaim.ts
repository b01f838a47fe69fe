// A full collection when a crowd has gone. What its connections leave to the collector sits in small pieces of the C library's
// memory between the large ones that they gave back, and each buffer of TLS is then searched for among those: measured, a
// twelfth of all CPU of bulk, until V8 collects by itself, which it may not do for hours (docs/decisions/006). What is free
// then goes back to the system.

import type { ConnectionLimiter } from './connection-limiter.ts';

/** A connectionLimits: at least so many, and as many as have stayed. What a collection costs is then little beside what they cost. */
const leastClosed = 2_048;
/** Gone for good where no more than these go between two looks. */
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

  /** To be called every second or so. */
  check(): void {
    const { open, closed } = this.#limiter;
    // V8 lets go of what it has collected in the turns that follow.
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
