// Bytes of a head that is not whole yet, in one span, because heads are scanned in place.

import { headLimits } from './head-scan.ts';

export class HeldBytes {
  #room: Buffer;
  #length: number;

  constructor(first: Uint8Array) {
    this.#room = Buffer.from(first);
    this.#length = first.length;
  }

  get length(): number {
    return this.#length;
  }

  /** The owner's as long as it wants; what comes later stands behind it. */
  get all(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  /** Gives all there is now. */
  add(piece: Uint8Array): Buffer {
    const end = this.#length + piece.length;
    if (end > this.#room.length) this.#grow(end);
    this.#room.set(piece, this.#length);
    this.#length = end;
    return this.all;
  }

  /** Doubled: a byte is copied twice at most, whatever the pieces. No head has use for more room than its limit. */
  #grow(needed: number): void {
    const room = Buffer.allocUnsafe(Math.max(needed, Math.min(2 * this.#room.length, headLimits.headBytes)));
    room.set(this.all);
    this.#room = room;
  }
}
