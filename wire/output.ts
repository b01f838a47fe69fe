// The sending half of a session: gathers the frames of one event-loop turn and hands them to the carrier in one write.
// Small payloads are copied into a slab beside their headers, large ones go by reference.

import type { Duplex } from 'node:stream';
import { headerBytes, writeHeader } from './core/frame.ts';
import { mostHighWaterBytes, nextHighWater } from './core/high-water.ts';
import { atTurnEnd } from './turn.ts';

/** Copying is cheaper than one more piece of a gathered write up to about here. */
const copyBytes = 4_096;
/** Holds several hundred small frames; a new one is taken when it is full, the old one lives until its write is done. */
const slabBytes = 65_536;
/** What control frames (RESET, PONG, CREDIT) may add on top when the peer does not read. Beyond it the session ends. */
const controlReserveBytes = 1_048_576;

export class Output {
  readonly #carrier: Duplex;
  readonly #onDrain: () => void;
  readonly #now: () => number;
  #slab: Buffer = Buffer.allocUnsafeSlow(slabBytes);
  /** Start of the slab bytes not yet in #pieces, and the next free byte. */
  #from = 0;
  #at = 0;
  #pieces: Uint8Array[] = [];
  #gatheredBytes = 0;
  #inFlightBytes = 0;
  /** Above this the streams wait. Measured: 1 MiB is a little better than 16 KiB for bulk. */
  #highWaterBytes = mostHighWaterBytes;
  #scheduled = false;
  #finished = false;

  constructor(carrier: Duplex, onDrain: () => void, now: () => number) {
    this.#carrier = carrier;
    this.#onDrain = onDrain;
    this.#now = now;
  }

  get backlogBytes(): number {
    return this.#gatheredBytes + this.#inFlightBytes;
  }

  get hasRoom(): boolean {
    return this.#gatheredBytes + this.#inFlightBytes < this.#highWaterBytes;
  }

  /** False when the peer has made us owe more control frames than it reads. */
  get withinReserve(): boolean {
    return this.#gatheredBytes + this.#inFlightBytes < mostHighWaterBytes + controlReserveBytes;
  }

  frame(typeAndFlags: number, stream: number, payload: Uint8Array): void {
    const length = payload.length;
    const copied = length <= copyBytes;
    this.#reserve(copied ? headerBytes + length : headerBytes);
    writeHeader(this.#slab, this.#at, typeAndFlags, length, stream);
    this.#at += headerBytes;
    if (copied) this.#copy(payload);
    else this.#refer(payload);
    this.#gatheredBytes += headerBytes + length;
    if (!this.#scheduled) this.#schedule();
  }

  #copy(payload: Uint8Array): void {
    this.#slab.set(payload, this.#at);
    this.#at += payload.length;
  }

  #refer(payload: Uint8Array): void {
    this.#closePiece();
    this.#pieces.push(payload);
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= slabBytes) return;
    this.#closePiece();
    this.#slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, bytes));
    this.#from = 0;
    this.#at = 0;
  }

  #closePiece(): void {
    if (this.#at > this.#from) this.#pieces.push(this.#slab.subarray(this.#from, this.#at));
    this.#from = this.#at;
  }

  #schedule(): void {
    this.#scheduled = true;
    atTurnEnd(this.#flush);
  }

  /** Sends what is gathered and drops whatever is framed later. */
  finish(): void {
    this.#flush();
    this.#finished = true;
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.#finished) this.#discard();
    const bytes = this.#gatheredBytes;
    if (bytes === 0) return;
    this.#closePiece();
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#gatheredBytes = 0;
    this.#inFlightBytes += bytes;
    this.#write(pieces, bytes);
  };

  #discard(): void {
    this.#pieces = [];
    this.#from = this.#at;
    this.#gatheredBytes = 0;
  }

  #write(pieces: readonly Uint8Array[], bytes: number): void {
    const carrier = this.#carrier;
    const waiting = this.#inFlightBytes;
    const startMs = this.#now();
    const done = (): void => {
      this.#inFlightBytes -= bytes;
      this.#highWaterBytes = nextHighWater(this.#highWaterBytes, waiting, this.#now() - startMs);
      this.#onDrain();
    };
    if (pieces.length === 1) {
      carrier.write(pieces[0], done);
      return;
    }
    carrier.cork();
    const last = pieces.length - 1;
    for (let index = 0; index < last; index++) carrier.write(pieces[index]);
    carrier.write(pieces[last], done);
    carrier.uncork();
  }
}
