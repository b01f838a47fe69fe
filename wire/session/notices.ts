// Sends OFFER and INFO. Each replaces the one before, so after a burst of changes only the latest of each type is sent,
// and the peer does not take the burst for a flood.

import type { SessionClock } from '../clock.ts';
import { RateLimit } from '../core/rate-limit.ts';

/** Half of what a peer accepts (docs/protocol.md 11, Limits): frames that left apart may arrive together. */
const perSecond = 10;
const burst = 20;

export class Notices {
  readonly #clock: SessionClock;
  readonly #sendFrame: (type: number, payload: Uint8Array) => void;
  readonly #limit: RateLimit;
  /** The latest payload of each type that is not sent yet. */
  readonly #unsent = new Map<number, Uint8Array>();
  #stopTimer: (() => void) | null = null;

  constructor(clock: SessionClock, sendFrame: (type: number, payload: Uint8Array) => void) {
    this.#clock = clock;
    this.#sendFrame = sendFrame;
    this.#limit = new RateLimit('notices', perSecond, burst, clock.now());
  }

  send(type: number, payload: Uint8Array): void {
    this.#unsent.set(type, payload);
    this.#sendAll();
  }

  readonly #sendAll = (): void => {
    for (const [type, payload] of this.#unsent) {
      if (!this.#limit.tryTake(this.#clock.now())) break;
      this.#unsent.delete(type);
      this.#sendFrame(type, payload);
    }
    if (this.#unsent.size === 0) this.stop();
    else this.#stopTimer ??= this.#clock.every(1000 / perSecond, this.#sendAll);
  };

  stop(): void {
    this.#stopTimer?.();
    this.#stopTimer = null;
  }
}
