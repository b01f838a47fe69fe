// Bytes that wait in order. They are copied, and small pieces joined, so that they cost their own size and not that of the
// buffers they came in.

/** Pieces are joined up to this size; larger ones get memory of their own. */
const joinedBytes = 16_384;

export class ByteQueue {
  bytes = 0;
  /** Each is a part of its buffer. Behind the last part its buffer may have room. */
  readonly #parts: Uint8Array[] = [];

  /** All bytes in order; they stay in the queue. */
  get parts(): readonly Uint8Array[] {
    return this.#parts;
  }

  push(piece: Uint8Array): void {
    const last = this.#parts.at(-1);
    const end = last === undefined ? 0 : last.byteOffset + last.length;
    if (last !== undefined && piece.length <= last.buffer.byteLength - end) {
      new Uint8Array(last.buffer, end).set(piece);
      this.#parts[this.#parts.length - 1] = new Uint8Array(last.buffer, last.byteOffset, last.length + piece.length);
    } else this.#begin(piece);
    this.bytes += piece.length;
  }

  /** Allocates as much as already waits, so at most half of the memory is unused. */
  #begin(piece: Uint8Array): void {
    const room = Math.min(this.bytes, joinedBytes);
    if (piece.length >= room) {
      this.#parts.push(new Uint8Array(piece));
      return;
    }
    const part = new Uint8Array(new ArrayBuffer(room), 0, piece.length);
    part.set(piece);
    this.#parts.push(part);
  }

  /** The first bytes, at least one and at most `most`. The caller may keep them, and must not change them. */
  take(most: number): Uint8Array {
    const first = this.#parts[0]!;
    const taken = first.subarray(0, most);
    if (taken.length === first.length) this.#parts.shift();
    else this.#parts[0] = first.subarray(most);
    this.bytes -= taken.length;
    return taken;
  }

  clear(): void {
    this.#parts.length = 0;
    this.bytes = 0;
  }
}
