// The sending half of a session: frames are gathered for a turn of the event loop and leave for the carrier in one write.

import type { Duplex } from 'node:stream';
import type { SessionClock } from '../clock.ts';
import { headerBytes, writeHeader } from '../core/frame.ts';
import { maxHighWaterBytes, nextHighWater } from '../core/high-water.ts';
import { poolsFor } from '../socket/buffer-pool.ts';
import { WriteQueue } from '../socket/write-queue.ts';

/** What control frames (RESET, PONG, OPENED, CREDIT) may add when the peer does not read. Beyond it the session ends. */
const controlReserveBytes = 1_048_576;

/** TIMES may be this late. Sent alone, each would cost a write here and a read at the receiver. */
const lateMs = 20;
const maxLate = 256;

interface LateFrame {
  readonly type: number;
  readonly stream: number;
  readonly payload: Uint8Array;
}

export class FrameWriter {
  readonly #queue: WriteQueue;
  readonly #onDrain: (bytes: number) => void;
  readonly #clock: SessionClock;
  /** Bytes from which on the streams wait. Measured: 1 MiB is a little better than 16 KiB for bulk transfers. */
  #highWaterBytes = maxHighWaterBytes;
  /** When the write that is under way began, to the turn. */
  #startMs = 0;
  #finished = false;
  /** Frames that wait for another one to leave with. */
  #late: LateFrame[] = [];
  #stopTimer: (() => void) | null = null;

  constructor(carrier: Duplex, onDrain: (bytes: number) => void, clock: SessionClock) {
    this.#onDrain = onDrain;
    this.#clock = clock;
    this.#queue = new WriteQueue(carrier, poolsFor.carrier, this.#written);
  }

  get hasRoom(): boolean {
    return this.#queue.pendingBytes < this.#highWaterBytes;
  }

  get isWaiting(): boolean {
    return this.#queue.pendingBytes > 0;
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
    if (this.#late.length > 0) this.#putLate();
    this.#put(typeAndFlags, stream, payload);
  }

  #put(typeAndFlags: number, stream: number, payload: Uint8Array): void {
    const queue = this.#queue;
    if (queue.pendingBytes === 0) this.#startMs = this.#clock.now();
    const { buffer, at } = queue.claim(headerBytes);
    writeHeader(buffer, at, typeAndFlags, payload.length, stream);
    queue.put(payload);
    queue.schedule();
  }

  /** Leaves before the next frame, or alone after a moment. The payload must not change. */
  lateFrame(type: number, stream: number, payload: Uint8Array): void {
    if (this.#finished) return;
    this.#late.push({ type, stream, payload });
    if (this.#late.length === maxLate) this.#putLate();
    else this.#stopTimer ??= this.#clock.every(lateMs, this.#putLate);
  }

  readonly #putLate = (): void => {
    const late = this.#late;
    if (late.length === 0) this.#stopLate();
    this.#late = [];
    for (const { type, stream, payload } of late) this.#put(type, stream, payload);
  };

  #stopLate(): void {
    this.#stopTimer?.();
    this.#stopTimer = null;
  }

  /** Sends what is gathered and drops every later frame. */
  finish(): void {
    this.#finished = true;
    this.#stopLate();
    this.#queue.finish();
  }

  readonly #written = (bytes: number): void => {
    const nowMs = this.#clock.now();
    this.#highWaterBytes = nextHighWater(this.#highWaterBytes, bytes, nowMs - this.#startMs);
    this.#startMs = nowMs;
    this.#onDrain(bytes);
  };
}
