// Bytes on their way to a socket: copied when they are put, gathered for a turn of the event loop, one write at a time.
// Each write is one buffer: Node would join several into memory of its own before it encrypts them.

import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { giveBuffer, type PoolChoice, type PooledBuffer, takeBuffer } from './buffer-pool.ts';
import { atTurnEnd } from './turn-end.ts';

/** A piece of this size belongs to a bulk transfer: more of the same will follow in this turn. */
const bulkPieceBytes = 8_192;

interface Filled {
  readonly pooled: PooledBuffer;
  readonly bytes: number;
}

export class WriteQueue {
  /** Bytes put and not yet taken by the system. The caller bounds them. */
  pendingBytes = 0;
  readonly #target: Duplex;
  readonly #onWritten: (bytes: number) => void;
  readonly #pools: PoolChoice;
  readonly #recycles: boolean;
  /** The buffer being filled, and how far it is filled. */
  #filling: PooledBuffer | null = null;
  #at = 0;
  #filled: Filled[] = [];
  #writing = false;
  #scheduled = false;
  #finished = false;

  /**
   * Calls onWritten with the size of each write that the system has taken. `recycles` says that the target no longer uses
   * the memory by then: true of a socket, false of an in-memory pair, which hands the same memory to its reader.
   */
  constructor(target: Duplex, pools: PoolChoice, onWritten: (bytes: number) => void, recycles = target instanceof Socket) {
    this.#target = target;
    this.#pools = pools;
    this.#onWritten = onWritten;
    this.#recycles = recycles;
  }

  put(bytes: Uint8Array): void {
    this.pendingBytes += bytes.length;
    if (this.#filling !== null && bytes.length <= this.#filling.pool.bytes - this.#at) this.#fill(this.#filling, bytes);
    else this.#spread(bytes);
    // Flush only once all bytes are queued: an in-memory target may answer within the write, and the answer may call put().
    if (this.#filled.length > 0) this.flush();
  }

  /** Room for this many bytes in one piece, 64 at most. The caller fills it before it does anything else. */
  claim(bytes: number): { readonly buffer: Buffer; readonly at: number } {
    this.pendingBytes += bytes;
    const pooled = this.#bufferWith(bytes, 0);
    const at = this.#at;
    this.#at += bytes;
    return { buffer: pooled.buffer, at };
  }

  #fill(pooled: PooledBuffer, bytes: Uint8Array): void {
    pooled.buffer.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #spread(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const pooled = this.#bufferWith(1, bytes.length - from);
      const part = bytes.subarray(from, from + pooled.pool.bytes - this.#at);
      this.#fill(pooled, part);
      from += part.length;
    }
  }

  #bufferWith(bytes: number, pieceBytes: number): PooledBuffer {
    if (this.#filling !== null && this.#at + bytes <= this.#filling.pool.bytes) return this.#filling;
    this.#setAside();
    this.#filling = takeBuffer(this.#filled.length > 0 || pieceBytes >= bulkPieceBytes ? this.#pools.bulk : this.#pools.first);
    this.#at = 0;
    return this.#filling;
  }

  #setAside(): void {
    if (this.#filling === null) return;
    this.#filled.push({ pooled: this.#filling, bytes: this.#at });
    this.#filling = null;
  }

  /** Writes at the end of the turn, together with what else is put until then. */
  schedule(): void {
    if (this.#scheduled || this.#writing) return;
    this.#scheduled = true;
    atTurnEnd(this.#scheduledFlush);
  }

  readonly #scheduledFlush = (): void => {
    this.#scheduled = false;
    this.flush();
  };

  /** Writes now. While an earlier write is under way the rest follows when that one is done. */
  flush(): void {
    if (this.#writing || this.#finished) return;
    const next = this.#next();
    if (next !== null) this.#write(next);
  }

  #next(): Filled | null {
    const first = this.#filled.shift();
    if (first !== undefined) return first;
    const pooled = this.#filling;
    if (pooled === null) return null;
    this.#filling = null;
    return { pooled, bytes: this.#at };
  }

  #write({ pooled, bytes }: Filled): void {
    this.#writing = true;
    this.#target.write(pooled.buffer.subarray(0, bytes), (error) => {
      // The target reports the error itself, and may still use the memory.
      if (error) return;
      this.#writing = false;
      if (this.#recycles) giveBuffer(pooled);
      this.pendingBytes -= bytes;
      this.#continue();
      this.#onWritten(bytes);
    });
  }

  /** A partly filled buffer waits for the end of the turn: a socket takes most writes at once, so each piece would leave alone. */
  #continue(): void {
    if (this.#filled.length > 0) this.flush();
    else if (this.#filling !== null) this.schedule();
  }

  /** Hands over everything that waits and takes nothing more. What the caller writes to the target afterwards follows it. */
  finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    for (let next = this.#next(); next !== null; next = this.#next()) this.#write(next);
  }
}
