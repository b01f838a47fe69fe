// A full collection when a crowd has gone. What its connections leave to the collector sits in small pieces of the C library's
// memory between the large ones that they gave back, and each buffer of TLS is then searched for among those: measured, a
// twelfth of all CPU of bulk, until V8 collects by itself, which it may not do for hours (docs/decisions/006). What is free
// then goes back to the system.

import type { Doorman } from './connection-limiter.ts';

/** A crowd: at least so many, and as many as have stayed. What a collection costs is then little beside what they cost. */
const leastGone = 2_048;
/** Gone for good where no more than these go between two looks. */
const calm = 64;

export class AfterCrowd {
  readonly #doorman: Pick<Doorman, 'open' | 'gone'>;
  readonly #collect: () => void;
  readonly #trim: () => void;
  #collected = false;
  #goneAtLook = 0;
  #goneAtCollection = 0;

  constructor(doorman: Pick<Doorman, 'open' | 'gone'>, collect: () => void, trim: () => void) {
    this.#doorman = doorman;
    this.#collect = collect;
    this.#trim = trim;
  }

  /** To be called every second or so. */
  look(): void {
    const { open, gone } = this.#doorman;
    // V8 lets go of what it has collected in the turns that follow.
    if (this.#collected) this.#trim();
    this.#collected = false;
    const isCalm = gone - this.#goneAtLook <= calm;
    this.#goneAtLook = gone;
    if (!isCalm || gone - this.#goneAtCollection < Math.max(leastGone, open)) return;
    this.#goneAtCollection = gone;
    this.#collect();
    this.#collected = true;
  }
}
