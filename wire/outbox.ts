// What is to be written to a socket: copied as it comes, gathered for a turn, one write on its way at a time.
// One piece of memory a write: several would be joined by Node before they are encrypted, in memory of its own.

import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { giveSlab, type Slab, type SlabChoice, takeSlab } from './slab.ts';
import { atTurnEnd } from './turn.ts';

/** A piece of this size is of a bulk transfer: more of its kind will come in the turn. */
const bulkPieceBytes = 8_192;

interface Full {
  readonly slab: Slab;
  readonly bytes: number;
}

export class Outbox {
  /** Put and not yet taken by the system. Its bound is the caller's. */
  pendingBytes = 0;
  readonly #target: Duplex;
  readonly #onWritten: (bytes: number) => void;
  readonly #slabs: SlabChoice;
  readonly #recycles: boolean;
  #slab: Slab | null = null;
  #at = 0;
  #full: Full[] = [];
  #writing = false;
  #scheduled = false;
  #finished = false;

  /** onWritten: so many bytes have left. recycles: the target is done with the memory by then; an in-memory pair is not. */
  constructor(target: Duplex, slabs: SlabChoice, onWritten: (bytes: number) => void, recycles = target instanceof Socket) {
    this.#target = target;
    this.#slabs = slabs;
    this.#onWritten = onWritten;
    this.#recycles = recycles;
  }

  put(bytes: Uint8Array): void {
    this.pendingBytes += bytes.length;
    if (this.#slab !== null && bytes.length <= this.#slab.kind.bytes - this.#at) this.#fill(this.#slab, bytes);
    else this.#spread(bytes);
    // Only now that all is in order: a target in memory may answer within the write, and the answer come back to put().
    if (this.#full.length > 0) this.flush();
  }

  /** Room for so many bytes in one piece, for the caller to write at once; at most 64. */
  claim(bytes: number): { readonly buffer: Buffer; readonly at: number } {
    this.pendingBytes += bytes;
    const slab = this.#slabWith(bytes, 0);
    const at = this.#at;
    this.#at += bytes;
    return { buffer: slab.buffer, at };
  }

  #fill(slab: Slab, bytes: Uint8Array): void {
    slab.buffer.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #spread(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const slab = this.#slabWith(1, bytes.length - from);
      const part = bytes.subarray(from, from + slab.kind.bytes - this.#at);
      this.#fill(slab, part);
      from += part.length;
    }
  }

  #slabWith(bytes: number, pieceBytes: number): Slab {
    if (this.#slab !== null && this.#at + bytes <= this.#slab.kind.bytes) return this.#slab;
    this.#close();
    this.#slab = takeSlab(this.#full.length > 0 || pieceBytes >= bulkPieceBytes ? this.#slabs.bulk : this.#slabs.first);
    this.#at = 0;
    return this.#slab;
  }

  #close(): void {
    if (this.#slab === null) return;
    this.#full.push({ slab: this.#slab, bytes: this.#at });
    this.#slab = null;
  }

  /** Writes at the end of the turn, so that more may come along. */
  schedule(): void {
    if (this.#scheduled || this.#writing) return;
    this.#scheduled = true;
    atTurnEnd(this.#scheduledFlush);
  }

  readonly #scheduledFlush = (): void => {
    this.#scheduled = false;
    this.flush();
  };

  /** Writes now, unless a write is on its way: then the rest follows it. */
  flush(): void {
    if (this.#writing || this.#finished) return;
    const next = this.#next();
    if (next !== null) this.#write(next);
  }

  #next(): Full | null {
    const first = this.#full.shift();
    if (first !== undefined) return first;
    const slab = this.#slab;
    if (slab === null) return null;
    this.#slab = null;
    return { slab, bytes: this.#at };
  }

  #write({ slab, bytes }: Full): void {
    this.#writing = true;
    this.#target.write(slab.buffer.subarray(0, bytes), (error) => {
      // The target says by itself that it is broken, and may still hold the memory.
      if (error) return;
      this.#writing = false;
      if (this.#recycles) giveSlab(slab);
      this.pendingBytes -= bytes;
      this.#goOn();
      this.#onWritten(bytes);
    });
  }

  /** What is not full waits for the end of the turn: a socket takes most writes at once, and each piece would leave alone. */
  #goOn(): void {
    if (this.#full.length > 0) this.flush();
    else if (this.#slab !== null) this.schedule();
  }

  /** Hands over all that waits, and takes nothing more: what is written to the target now comes behind it. */
  finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    for (let next = this.#next(); next !== null; next = this.#next()) this.#write(next);
  }
}
