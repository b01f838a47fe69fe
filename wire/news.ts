// What a side tells of itself. Each OFFER and INFO replaces the one before, so that in a burst of changes the latest are told,
// and no peer takes it for a flood.

import { Bucket } from './core/bucket.ts';
import type { SessionClock } from './session.ts';

/** Half of what a peer takes (docs/protocol.md 11, Limits): the way there may bunch what left apart. */
const perSecond = 10;
const burst = 20;

export class News {
  readonly #clock: SessionClock;
  readonly #send: (type: number, payload: Uint8Array) => void;
  readonly #pace: Bucket;
  /** Of each type the latest that is not told yet. */
  readonly #untold = new Map<number, Uint8Array>();
  #stopWaiting: (() => void) | null = null;

  constructor(clock: SessionClock, send: (type: number, payload: Uint8Array) => void) {
    this.#clock = clock;
    this.#send = send;
    this.#pace = new Bucket('news', perSecond, burst, clock.now());
  }

  tell(type: number, payload: Uint8Array): void {
    this.#untold.set(type, payload);
    this.#tellAll();
  }

  readonly #tellAll = (): void => {
    for (const [type, payload] of this.#untold) {
      if (!this.#pace.takes(this.#clock.now())) break;
      this.#untold.delete(type);
      this.#send(type, payload);
    }
    if (this.#untold.size === 0) this.stop();
    else this.#stopWaiting ??= this.#clock.every(1000 / perSecond, this.#tellAll);
  };

  stop(): void {
    this.#stopWaiting?.();
    this.#stopWaiting = null;
  }
}
