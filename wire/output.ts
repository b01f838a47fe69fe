// The sending half of a session: frames are gathered for an event-loop turn and leave for the carrier in one write.

import type { Duplex } from 'node:stream';
import { headerBytes, writeHeader } from './core/frame.ts';
import { mostHighWaterBytes, nextHighWater } from './core/high-water.ts';
import { Outbox } from './outbox.ts';
import { slabsFor } from './slab.ts';

/** What control frames (RESET, PONG, OPENED, CREDIT) may add on top when the peer does not read. Beyond it the session ends. */
const controlReserveBytes = 1_048_576;

export class Output {
  readonly #outbox: Outbox;
  readonly #onDrain: () => void;
  readonly #now: () => number;
  /** Above this the streams wait. Measured: 1 MiB is a little better than 16 KiB for bulk. */
  #highWaterBytes = mostHighWaterBytes;
  /** When the write on its way began, a turn more or less. */
  #startMs = 0;
  #finished = false;

  constructor(carrier: Duplex, onDrain: () => void, now: () => number) {
    this.#onDrain = onDrain;
    this.#now = now;
    this.#outbox = new Outbox(carrier, slabsFor.carrier, this.#written);
  }

  get backlogBytes(): number {
    return this.#outbox.pendingBytes;
  }

  get hasRoom(): boolean {
    return this.#outbox.pendingBytes < this.#highWaterBytes;
  }

  /** False when what waits leaves half of the reserve: OPEN waits for no credit, and the other half is for answers. */
  get hasRoomToOpen(): boolean {
    return this.#outbox.pendingBytes < mostHighWaterBytes + controlReserveBytes / 2;
  }

  /** False when the peer has made us owe more control frames than it reads. */
  get withinReserve(): boolean {
    return this.#outbox.pendingBytes < mostHighWaterBytes + controlReserveBytes;
  }

  /** The payload is copied: it is the caller's again. */
  frame(typeAndFlags: number, stream: number, payload: Uint8Array): void {
    if (this.#finished) return;
    const outbox = this.#outbox;
    if (outbox.pendingBytes === 0) this.#startMs = this.#now();
    const { buffer, at } = outbox.claim(headerBytes);
    writeHeader(buffer, at, typeAndFlags, payload.length, stream);
    outbox.put(payload);
    outbox.schedule();
  }

  /** Sends what is gathered and drops whatever is framed later. */
  finish(): void {
    this.#finished = true;
    this.#outbox.finish();
  }

  readonly #written = (bytes: number): void => {
    const nowMs = this.#now();
    this.#highWaterBytes = nextHighWater(this.#highWaterBytes, bytes, nowMs - this.#startMs);
    this.#startMs = nowMs;
    this.#onDrain();
  };
}
