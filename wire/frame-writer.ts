// The sending half of a session: frames are gathered for a turn of the event loop and leave for the carrier in one write.

import type { Duplex } from 'node:stream';
import { headerBytes, writeHeader } from './core/frame.ts';
import { maxHighWaterBytes, nextHighWater } from './core/high-water.ts';
import { poolsFor } from './socket/buffer-pool.ts';
import { WriteQueue } from './socket/write-queue.ts';

/** What control frames (RESET, PONG, OPENED, CREDIT) may add when the peer does not read. Beyond it the session ends. */
const controlReserveBytes = 1_048_576;

export class FrameWriter {
  readonly #queue: WriteQueue;
  readonly #onDrain: () => void;
  readonly #now: () => number;
  /** Above this the streams wait. Measured: 1 MiB is a little better than 16 KiB for bulk transfers. */
  #highWaterBytes = maxHighWaterBytes;
  /** When the write that is under way began, to the turn. */
  #startMs = 0;
  #finished = false;

  constructor(carrier: Duplex, onDrain: () => void, now: () => number) {
    this.#onDrain = onDrain;
    this.#now = now;
    this.#queue = new WriteQueue(carrier, poolsFor.carrier, this.#written);
  }

  get hasRoom(): boolean {
    return this.#queue.pendingBytes < this.#highWaterBytes;
  }

  /** OPEN needs no credit, so it may use half of the reserve; the other half is for answers. */
  get hasRoomToOpen(): boolean {
    return this.#queue.pendingBytes < maxHighWaterBytes + controlReserveBytes / 2;
  }

  /** False once the peer causes more control frames than it reads. */
  get withinReserve(): boolean {
    return this.#queue.pendingBytes < maxHighWaterBytes + controlReserveBytes;
  }

  /** Copies the payload, so the caller may use its memory again. */
  frame(typeAndFlags: number, stream: number, payload: Uint8Array): void {
    if (this.#finished) return;
    const queue = this.#queue;
    if (queue.pendingBytes === 0) this.#startMs = this.#now();
    const { buffer, at } = queue.claim(headerBytes);
    writeHeader(buffer, at, typeAndFlags, payload.length, stream);
    queue.put(payload);
    queue.schedule();
  }

  /** Sends what is gathered and drops every later frame. */
  finish(): void {
    this.#finished = true;
    this.#queue.finish();
  }

  readonly #written = (bytes: number): void => {
    const nowMs = this.#now();
    this.#highWaterBytes = nextHighWater(this.#highWaterBytes, bytes, nowMs - this.#startMs);
    this.#startMs = nowMs;
    this.#onDrain();
  };
}
