// Bytes that wait in order: copied as they come, small pieces joined, so that they cost what they are and not what they came in.

/** Pieces are joined up to this; larger ones have memory of their own. */
const jointBytes = 16_384;

export class ByteQueue {
  bytes = 0;
  /** Each is a part of its buffer; behind the last there may be room. */
  readonly #parts: Uint8Array[] = [];

  /** All of it in order, and it stays. */
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

  /** With as much room as waits already: at most half of the memory is unused. */
  #begin(piece: Uint8Array): void {
    const room = Math.min(this.bytes, jointBytes);
    if (piece.length >= room) {
      this.#parts.push(new Uint8Array(piece));
      return;
    }
    const part = new Uint8Array(new ArrayBuffer(room), 0, piece.length);
    part.set(piece);
    this.#parts.push(part);
  }

  /** The first bytes, at least one and at most so many; not to be changed, and the caller's as long as it wants. */
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
