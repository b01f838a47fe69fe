// Where a body ends: by length, by chunks with trailers, or by the end of the connection. RFC 9112 sections 6 and 7.
// It measures and checks the bytes, and changes none.

import { kindOf, maySayInTrailer, nameHash } from './field-names.ts';
import { colonSign, cr, fold, htab, lf, sp, valueByte } from './octets.ts';

export const bodyLimits = {
  /** A chunk's size line without its CRLF: 12 digits of size and an extension. */
  chunkLineBytes: 256,
  /** All size lines together, beyond 16 times the data: tiny chunks with long extensions cost more than they carry. */
  overheadBytes: 16 * 1024,
  trailerBytes: 8 * 1024,
} as const;

/** 2^48 - 1: twelve hexadecimal digits, far below 2^53, where doubles stop being exact. */
const maxSizeDigits = 12;

const state = {
  size: 0,
  extension: 1,
  sizeLf: 2,
  data: 3,
  dataCr: 4,
  dataLf: 5,
  trailer: 6,
  trailerName: 7,
  trailerValue: 8,
  trailerLf: 9,
  lastLf: 10,
};

/** Receives the payload inside the framing, for HTTP/2, which frames it differently. */
export interface BodySink {
  data(bytes: Uint8Array, from: number, to: number): void;
  trailer(name: string, value: string): void;
}

export type BodyKind = 'none' | 'length' | 'chunked' | 'until-close';

export class BodyScan {
  kind: BodyKind = 'none';
  /** The body has ended. */
  done = true;
  private remaining = 0;
  private state = state.size;
  private digits = 0;
  private lineBytes = 0;
  private overhead = 0;
  private trailerBytes = 0;
  private hash = 0;
  /** Name in lower case and value of the trailer being read; bounded by trailerBytes. */
  private name: number[] = [];
  private value: number[] = [];
  /** Null if only the end of the body matters. */
  sink: BodySink | null = null;

  start(kind: BodyKind, length = 0): void {
    this.kind = kind;
    this.remaining = kind === 'length' ? length : 0;
    this.done = kind === 'none' || (kind === 'length' && length === 0);
    this.state = state.size;
    this.digits = 0;
    this.lineBytes = 0;
    this.overhead = 0;
    this.trailerBytes = 0;
  }

  /** Returns the offset up to which bytes belong to this body, or -1 if its framing is broken. */
  take(bytes: Uint8Array, from: number, to: number): number {
    if (this.done) return from;
    if (this.kind === 'chunked') return this.takeChunks(bytes, from, to);
    const end = this.kind === 'length' ? this.takeLength(from, to) : to;
    if (this.sink !== null && end > from) this.sink.data(bytes, from, end);
    return end;
  }

  private takeLength(from: number, to: number): number {
    const taken = Math.min(this.remaining, to - from);
    this.remaining -= taken;
    this.done = this.remaining === 0;
    return from + taken;
  }

  private takeChunks(bytes: Uint8Array, from: number, to: number): number {
    let i = from;
    while (i < to && !this.done) {
      if (this.state === state.data) {
        const taken = Math.min(this.remaining, to - i);
        this.remaining -= taken;
        if (this.sink !== null && taken > 0) this.sink.data(bytes, i, i + taken);
        i += taken;
        if (this.remaining === 0) this.state = state.dataCr;
      } else if (!this.step(bytes[i++] as number)) return -1;
    }
    return i;
  }

  private step(octet: number): boolean {
    if (this.state <= state.sizeLf) return this.sizeLine(octet);
    if (this.state >= state.trailer) return this.trailerSection(octet);
    if (this.state === state.dataCr) return this.expect(octet, cr, state.dataLf);
    this.lineBytes = 0;
    this.digits = 0;
    return this.expect(octet, lf, state.size);
  }

  private expect(octet: number, wanted: number, next: number): boolean {
    this.state = next;
    return octet === wanted;
  }

  private sizeLine(octet: number): boolean {
    this.lineBytes++;
    if (this.state === state.sizeLf) return octet === lf && this.sizeKnown();
    if (this.lineBytes > bodyLimits.chunkLineBytes) return false;
    if (octet === cr) return this.digits > 0 && this.expect(octet, cr, state.sizeLf);
    if (this.state === state.extension) return valueByte[octet] === 1;
    if (octet === 59 || octet === sp || octet === htab) return this.extensionStarts(octet);
    return this.sizeDigit(octet);
  }

  /** Refuses white space before ";", which RFC 9112 7.1.1 lets a recipient tolerate. */
  private extensionStarts(octet: number): boolean {
    this.state = state.extension;
    return octet === 59 && this.digits > 0;
  }

  private sizeDigit(octet: number): boolean {
    const digit = hexDigit(octet);
    if (digit < 0 || ++this.digits > maxSizeDigits) return false;
    this.remaining = this.remaining * 16 + digit;
    return true;
  }

  private sizeKnown(): boolean {
    this.overhead = Math.max(0, this.overhead + this.lineBytes + 2 - 16 * this.remaining);
    if (this.overhead > bodyLimits.overheadBytes) return false;
    this.state = this.remaining === 0 ? state.trailer : state.data;
    return true;
  }

  private trailerSection(octet: number): boolean {
    if (++this.trailerBytes > bodyLimits.trailerBytes) return false;
    if (this.state === state.lastLf) {
      this.done = octet === lf;
      return this.done;
    }
    if (this.state === state.trailerLf) return this.expect(octet, lf, state.trailer);
    if (this.state === state.trailerValue) return this.trailerValueByte(octet);
    return this.trailerNameByte(octet);
  }

  private trailerNameByte(octet: number): boolean {
    if (this.state === state.trailer) {
      if (octet === cr) return this.expect(octet, cr, state.lastLf);
      this.name = [];
      this.value = [];
      this.hash = 0;
      this.state = state.trailerName;
    }
    if (octet === colonSign) return this.name.length > 0 && this.harmlessTrailer();
    const folded = fold[octet] as number;
    if (folded === 0) return false;
    this.hash = nameHash(this.hash, folded);
    // RFC 9113 8.2.1 asks for lower case. Folding marks as well would make another name (RFC 9110 5.1).
    this.name.push(octet >= 65 && octet <= 90 ? octet + 32 : octet);
    return true;
  }

  /** An upstream may merge trailers into the head, so a trailer must not carry a field that the head must not (RFC 9110 6.5.1). */
  private harmlessTrailer(): boolean {
    this.state = state.trailerValue;
    return maySayInTrailer(kindOf(this.hash, Uint8Array.from(this.name), 0, this.name.length));
  }

  private trailerValueByte(octet: number): boolean {
    if (octet === cr) return this.trailerEnds();
    if (this.sink !== null) this.value.push(octet);
    return valueByte[octet] === 1;
  }

  private trailerEnds(): boolean {
    this.state = state.trailerLf;
    this.sink?.trailer(String.fromCharCode(...this.name), String.fromCharCode(...this.value).trim());
    return true;
  }
}

function hexDigit(octet: number): number {
  if (octet >= 48 && octet <= 57) return octet - 48;
  const lower = octet | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}
