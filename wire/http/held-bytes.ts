// Bytes that come in pieces, kept in one span: an incomplete head, which is scanned in place, or an incomplete message.

import { headLimits } from './head-scan.ts';

export class HeldBytes {
  #room: Buffer;
  #length: number;
  readonly #limitBytes: number;

  /** `limitBytes`: how much the caller adds at most. */
  constructor(first: Uint8Array, limitBytes: number = headLimits.headBytes) {
    this.#limitBytes = limitBytes;
    this.#room = Buffer.from(first);
    this.#length = first.length;
  }

  get length(): number {
    return this.#length;
  }

  /** Stays valid: later bytes are added after it. */
  get all(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  /** Returns all bytes so far. */
  add(piece: Uint8Array): Buffer {
    const end = this.#length + piece.length;
    if (end > this.#room.length) this.#grow(end);
    this.#room.set(piece, this.#length);
    this.#length = end;
    return this.all;
  }

  /** Doubles, so small pieces do not copy every byte again and again. Nothing needs more room than its limit. */
  #grow(needed: number): void {
    const room = Buffer.allocUnsafe(Math.max(needed, Math.min(2 * this.#room.length, this.#limitBytes)));
    room.set(this.all);
    this.#room = room;
  }
}
