// Cuts a byte stream into frames. The payload of DATA is passed on as slices of what arrived; other payloads are gathered
// within the bounds of their type.

import { checkHeader, finFlag, frameType, headerBytes, readU32 } from './frame.ts';

/** The decoder calls these as it recognises frames. Each may throw a WireError, which ends the session. */
export interface FrameSink {
  /** The header of a DATA frame, before its payload: check the window here. */
  dataHeader(stream: number, length: number): void;
  /** A piece of that payload; never empty, not copied. */
  dataPiece(stream: number, piece: Uint8Array): void;
  /** The DATA frame is complete and has FIN. */
  dataEnd(stream: number): void;
  /** Any other frame, complete. The payload is valid only during the call. */
  control(type: number, stream: number, payload: Uint8Array): void;
}

export class FrameDecoder {
  readonly #sink: FrameSink;
  /** The start of a header that is split over chunks. */
  readonly #header = new Uint8Array(headerBytes);
  #headerFill = 0;
  #type = 0;
  #fin = false;
  #stream = 0;
  /** Payload bytes still to come; 0 while a header is read. */
  #missing = 0;
  /** A control payload that is split over chunks: at most maxPayloadBytes of its type, freed when complete. */
  #gather: Uint8Array | null = null;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) at = this.#missing > 0 ? this.#takePayload(chunk, at) : this.#takeHeader(chunk, at);
  }

  #takeHeader(chunk: Uint8Array, at: number): number {
    if (this.#headerFill === 0 && chunk.length - at >= headerBytes) {
      this.#begin(chunk, at);
      return at + headerBytes;
    }
    const end = Math.min(chunk.length, at + headerBytes - this.#headerFill);
    this.#header.set(chunk.subarray(at, end), this.#headerFill);
    this.#headerFill += end - at;
    if (this.#headerFill < headerBytes) return end;
    this.#headerFill = 0;
    this.#begin(this.#header, 0);
    return end;
  }

  #begin(from: Uint8Array, at: number): void {
    const first = from[at]!;
    const length = (from[at + 1]! << 16) | (from[at + 2]! << 8) | from[at + 3]!;
    const stream = readU32(from, at + 4);
    this.#type = first & 0x0f;
    checkHeader(this.#type, first & 0xf0, length, stream);
    this.#fin = (first & finFlag) !== 0;
    this.#stream = stream;
    this.#missing = length;
    if (this.#type === frameType.data) this.#sink.dataHeader(stream, length);
    if (length === 0) this.#finish(from.subarray(0, 0));
  }

  #takePayload(chunk: Uint8Array, at: number): number {
    const end = Math.min(chunk.length, at + this.#missing);
    const piece = at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end);
    if (this.#type === frameType.data) this.#takeData(piece);
    else this.#takeControl(piece);
    return end;
  }

  #takeData(piece: Uint8Array): void {
    this.#missing -= piece.length;
    this.#sink.dataPiece(this.#stream, piece);
    if (this.#missing === 0 && this.#fin) this.#sink.dataEnd(this.#stream);
  }

  #takeControl(piece: Uint8Array): void {
    if (this.#gather === null && piece.length === this.#missing) {
      this.#missing = 0;
      this.#finish(piece);
      return;
    }
    this.#gather ??= new Uint8Array(this.#missing);
    this.#gather.set(piece, this.#gather.length - this.#missing);
    this.#missing -= piece.length;
    if (this.#missing > 0) return;
    const whole = this.#gather;
    this.#gather = null;
    this.#finish(whole);
  }

  #finish(payload: Uint8Array): void {
    if (this.#type !== frameType.data) this.#sink.control(this.#type, this.#stream, payload);
    else if (this.#fin) this.#sink.dataEnd(this.#stream);
  }
}
