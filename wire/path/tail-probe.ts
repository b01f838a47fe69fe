// Sends a PING behind the last bytes that were written, on a long path that loses packets. The kernel learns of a lost packet from
// the answer to a later one, within a round trip; without a later one it waits for 200 ms and two round trips.

import type { SessionClock } from '../clock.ts';

/** A bit more than a packet takes longer than another one, so that both are rarely lost together. */
const afterMs = 8;
/** The peer takes 20 PINGs a second. With more calls than this, the next call is the later packet. */
const atLeastMs = 100;

export class TailProbe {
  readonly #clock: SessionClock;
  readonly #sendPing: () => void;
  #stopTimer: (() => void) | null = null;
  /** Something was written since the last look. */
  #hasWritten = false;
  #probedAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: SessionClock, sendPing: () => void) {
    this.#clock = clock;
    this.#sendPing = sendPing;
  }

  /** Data was written. */
  written(): void {
    this.#hasWritten = true;
    if (this.#clock.now() - this.#probedAtMs >= atLeastMs) this.#stopTimer ??= this.#clock.every(afterMs, this.#look);
  }

  readonly #look = (): void => {
    if (!this.#hasWritten) {
      this.stop();
      this.#probedAtMs = this.#clock.now();
      this.#sendPing();
    }
    this.#hasWritten = false;
  };

  stop(): void {
    this.#stopTimer?.();
    this.#stopTimer = null;
  }
}
