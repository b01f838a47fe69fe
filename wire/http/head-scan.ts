// What request and response heads share: field lines scanned in place, framing fields, what to remove.
// RFC 9112 sections 2.2, 5, 6. Nothing is copied and no header object is made; all offsets are into the scanned bytes.

import { fieldKind, kindOf, nameHash } from './field-names.ts';
import { colonSign, cr, fold, htab, lf, lowerText, sp, spanIs, valueByte } from './octets.ts';

interface HeadLimits {
  readonly headBytes: number;
  /** The request line, target included. */
  readonly startLineBytes: number;
  readonly fieldLines: number;
}

export const headLimits: HeadLimits = {
  /** Twice the limit of Node's own server. */
  headBytes: 32 * 1024,
  startLineBytes: 16 * 1024,
  fieldLines: 128,
};

/** Body lengths are exact doubles: any number of 15 digits is below 2^53. */
const maxLengthDigits = 15;

/** A Connection field must not have these removed: without them the message means something else. */
const unnameable = new Set(['host', 'content-length', 'transfer-encoding', 'connection', 'expect', 'upgrade']);

export abstract class HeadScan {
  protected readonly limits: HeadLimits;
  /** Start of the next line to scan; a resumed scan continues here. */
  protected at = 0;
  /** How far the incomplete line was scanned: the next piece does not scan it again. */
  protected reached = 0;
  protected started = false;
  /** The hash so far of the name in that line, and the end of the name; 0 until it ends. */
  private openHash = 0;
  private openNameEnd = 0;
  private lines = 0;
  private fieldsStart = 0;
  private nominates = false;

  /** -1 without a Content-Length. */
  contentLength = -1;
  chunked = false;
  /** HTTP/1.0 has other defaults for framing and persistence. */
  http10 = false;
  /** Connection: close. */
  close = false;
  /** Connection: upgrade. */
  upgrade = false;
  upgradeStart = -1;
  upgradeEnd = -1;
  /** Start and end of each line to leave out, ascending. */
  readonly drops: number[] = [];
  dropCount = 0;
  /** The status to refuse with; 0 while the head is good. */
  refusedStatus = 0;
  /** The reason, for people; contains nothing that the visitor sent. */
  refusedWhy = '';

  constructor(limits: HeadLimits = headLimits) {
    this.limits = limits;
  }

  reset(): void {
    this.at = 0;
    this.reached = 0;
    this.started = false;
    this.openHash = 0;
    this.openNameEnd = 0;
    this.lines = 0;
    this.nominates = false;
    this.contentLength = -1;
    this.chunked = false;
    this.http10 = false;
    this.close = false;
    this.upgrade = false;
    this.upgradeStart = -1;
    this.upgradeEnd = -1;
    this.dropCount = 0;
    this.refusedStatus = 0;
    this.refusedWhy = '';
  }

  /**
   * Scans the head that starts at `from`. Returns the offset after it, 0 if it needs more bytes, -1 if it refuses the head.
   * A later call with more bytes must keep the earlier ones at the same offsets.
   */
  scan(bytes: Uint8Array, from: number, to: number): number {
    const limit = Math.min(to, from + this.limits.headBytes);
    if (!this.started) {
      const next = this.startLine(bytes, from, limit);
      if (next <= 0) return next < 0 ? -1 : this.wantMore(limit, from);
      this.started = true;
      this.at = next;
      this.fieldsStart = next;
    }
    const end = this.fieldLines(bytes, limit);
    if (end === 0) return this.wantMore(limit, from);
    if (end < 0 || !this.finish(bytes, end)) return -1;
    return end;
  }

  /** Returns the offset of the first field line, 0 if it needs more bytes, -1 after refuse(). */
  protected abstract startLine(bytes: Uint8Array, from: number, to: number): number;
  protected abstract field(kind: number, bytes: Uint8Array, lineStart: number, start: number, end: number): boolean;
  protected abstract finish(bytes: Uint8Array, end: number): boolean;

  protected refuse(status: number, why: string): false {
    this.refusedStatus = status;
    this.refusedWhy = why;
    return false;
  }

  protected drop(lineStart: number, lineEnd: number): true {
    this.drops[this.dropCount * 2] = lineStart;
    this.drops[this.dropCount * 2 + 1] = lineEnd;
    this.dropCount++;
    return true;
  }

  /** Leaves a span out, after the scan. What is left out already stays so: Connection may name the field. */
  cut(start: number, end: number): void {
    const { drops } = this;
    let at = 2 * this.dropCount;
    while (at > 0 && (drops[at - 2] as number) >= end) at -= 2;
    if (at > 0 && (drops[at - 1] as number) >= end) return;
    for (let i = 2 * this.dropCount + 1; i > at + 1; i--) drops[i] = drops[i - 2] as number;
    drops[at] = start;
    drops[at + 1] = end;
    this.dropCount++;
  }

  private wantMore(limit: number, from: number): number {
    if (limit - from < this.limits.headBytes) return 0;
    this.refuse(431, `The head is larger than ${this.limits.headBytes / 1024} KiB.`);
    return -1;
  }

  private fieldLines(bytes: Uint8Array, to: number): number {
    let line = this.at;
    while (line < to) {
      if (bytes[line] === cr) return this.headEnd(bytes, line, to);
      const next = this.fieldLine(bytes, line, to);
      if (next <= 0) return next;
      line = next;
      this.at = next;
    }
    return 0;
  }

  private headEnd(bytes: Uint8Array, line: number, to: number): number {
    if (line + 1 >= to) return 0;
    if (bytes[line + 1] === lf) return line + 2;
    this.refuse(400, 'A bare carriage return stands in the head.');
    return -1;
  }

  /** One line in one pass over its bytes, in pieces of any size: hashes and checks the name, checks the value, finds the end. */
  private fieldLine(bytes: Uint8Array, line: number, to: number): number {
    let i = line;
    let hash = 0;
    if (this.reached > line) {
      if (this.openNameEnd > 0) return this.fieldValue(bytes, line, this.openNameEnd, this.openHash, this.reached, to);
      i = this.reached;
      hash = this.openHash;
    }
    for (; i < to; i++) {
      const folded = fold[bytes[i] as number] as number;
      if (folded === 0) break;
      hash = nameHash(hash, folded);
    }
    if (i === to) return this.leaveOpen(i, hash, 0);
    if (bytes[i] !== colonSign || i === line) return this.badName(bytes, line, i);
    return this.fieldValue(bytes, line, i, hash, i + 1, to);
  }

  private fieldValue(bytes: Uint8Array, line: number, nameEnd: number, hash: number, from: number, to: number): number {
    let i = from;
    while (i < to && valueByte[bytes[i] as number] === 1) i++;
    if (i + 1 >= to) return i < to && bytes[i] !== cr ? this.badValue() : this.leaveOpen(i, hash, nameEnd);
    if (bytes[i] !== cr || bytes[i + 1] !== lf) return this.badValue();
    if (++this.lines > this.limits.fieldLines) return this.tooManyLines();
    const kind = kindOf(hash, bytes, line, nameEnd);
    return kind === fieldKind.other || this.known(kind, bytes, line, nameEnd + 1, i) ? i + 2 : -1;
  }

  private leaveOpen(reached: number, hash: number, nameEnd: number): 0 {
    this.reached = reached;
    this.openHash = hash;
    this.openNameEnd = nameEnd;
    return 0;
  }

  private badName(bytes: Uint8Array, line: number, at: number): -1 {
    const octet = bytes[at];
    const folded = at === line && (octet === sp || octet === htab);
    this.refuse(400, folded ? 'A header field is folded over lines.' : 'A header field has a malformed name.');
    return -1;
  }

  private badValue(): -1 {
    this.refuse(400, 'A header field holds a forbidden byte.');
    return -1;
  }

  private tooManyLines(): -1 {
    this.refuse(431, `The head has more than ${this.limits.fieldLines} fields.`);
    return -1;
  }

  private known(kind: number, bytes: Uint8Array, line: number, from: number, to: number): boolean {
    const start = trimmedStart(bytes, from, to);
    const end = trimmedEnd(bytes, start, to);
    if (kind === fieldKind.contentLength) return this.length(bytes, line, start, end);
    if (kind === fieldKind.transferEncoding) return this.encoding(bytes, line, start, end);
    if (kind === fieldKind.connection) return this.connection(bytes, line, start, end);
    if (kind === fieldKind.upgrade) return this.upgradeField(bytes, line, start, end);
    return this.field(kind, bytes, line, start, end);
  }

  /** RFC 9112 6.3: one field with one number; no sign, list or leading zero. */
  private length(bytes: Uint8Array, line: number, start: number, end: number): boolean {
    if (bytes[line + 7] !== 45) return this.refuse(400, 'A field is an alias of Content-Length.');
    if (this.contentLength >= 0) return this.refuse(400, 'There is more than one Content-Length.');
    const digits = end - start;
    if (digits === 0 || digits > maxLengthDigits) return this.refuse(400, 'Content-Length is not a number in range.');
    if (digits > 1 && bytes[start] === 48) return this.refuse(400, 'Content-Length has a leading zero.');
    let value = 0;
    for (let i = start; i < end; i++) {
      const digit = (bytes[i] as number) - 48;
      if (digit < 0 || digit > 9) return this.refuse(400, 'Content-Length is not a number in range.');
      value = value * 10 + digit;
    }
    this.contentLength = value;
    return true;
  }

  /** RFC 9112 6.1: "chunked" once, and no other coding. */
  private encoding(bytes: Uint8Array, line: number, start: number, end: number): boolean {
    if (bytes[line + 8] !== 45) return this.refuse(400, 'A field is an alias of Transfer-Encoding.');
    if (this.chunked) return this.refuse(400, 'There is more than one Transfer-Encoding.');
    if (!spanIs(bytes, start, end, 'chunked')) return this.refuse(400, 'Transfer-Encoding is not exactly "chunked".');
    this.chunked = true;
    return true;
  }

  private connection(bytes: Uint8Array, line: number, start: number, end: number): boolean {
    this.drop(line, nextLine(bytes, end));
    let i = start;
    while (i < end) {
      const comma = tokenEnd(bytes, i, end);
      const stop = trimmedEnd(bytes, i, comma);
      if (stop > i) this.connectionOption(bytes, i, stop);
      i = comma + 1;
      while (i < end && (bytes[i] === sp || bytes[i] === htab)) i++;
    }
    return true;
  }

  private connectionOption(bytes: Uint8Array, start: number, end: number): void {
    if (spanIs(bytes, start, end, 'keep-alive') || spanIs(bytes, start, end, 'te')) return;
    if (spanIs(bytes, start, end, 'close')) this.close = true;
    else if (spanIs(bytes, start, end, 'upgrade')) this.upgrade = true;
    else this.nominates = true;
  }

  private upgradeField(bytes: Uint8Array, line: number, start: number, end: number): boolean {
    if (this.upgradeStart >= 0) return this.refuse(400, 'There is more than one Upgrade.');
    this.upgradeStart = start;
    this.upgradeEnd = end;
    return this.drop(line, nextLine(bytes, end));
  }

  /** Checks the framing rules that need the whole head, then removes the fields that Connection names. */
  protected finishFields(bytes: Uint8Array, end: number): boolean {
    if (this.chunked && this.contentLength >= 0) {
      return this.refuse(400, 'Both Transfer-Encoding and Content-Length are given.');
    }
    if (this.chunked && this.http10) return this.refuse(400, 'Transfer-Encoding is given in HTTP/1.0.');
    return !this.nominates || this.dropNominated(bytes, end);
  }

  /** RFC 9110 7.6.1. A second pass, because a field may come before the Connection that names it. */
  private dropNominated(bytes: Uint8Array, end: number): boolean {
    const names = this.nominatedNames(bytes);
    for (const name of names) {
      if (unnameable.has(name)) return this.refuse(400, 'Connection names a field that the message needs.');
    }
    const known = this.drops.slice(0, this.dropCount * 2);
    let next = 0;
    this.dropCount = 0;
    for (let line = this.fieldsStart; line < end - 2; ) {
      const after = nextLine(bytes, line);
      if (known[next] === line) {
        next += 2;
        this.drop(line, after);
      } else if (names.has(lowerText(bytes, line, bytes.indexOf(colonSign, line)))) this.drop(line, after);
      line = after;
    }
    return true;
  }

  private nominatedNames(bytes: Uint8Array): Set<string> {
    const names = new Set<string>();
    for (let i = 0; i < this.dropCount; i++) {
      const line = this.drops[2 * i] as number;
      const colon = bytes.indexOf(colonSign, line);
      if (!spanIs(bytes, line, colon, 'connection')) continue;
      const value = lowerText(bytes, colon + 1, (this.drops[2 * i + 1] as number) - 2);
      for (const option of value.split(',')) names.add(option.trim());
    }
    for (const option of ['close', 'keep-alive', 'te', '']) names.delete(option);
    if (this.upgrade) names.delete('upgrade');
    return names;
  }
}

function trimmedStart(bytes: Uint8Array, from: number, end: number): number {
  let start = from;
  while (start < end && (bytes[start] === sp || bytes[start] === htab)) start++;
  return start;
}

/** The end of a value without trailing white space. */
function trimmedEnd(bytes: Uint8Array, start: number, end: number): number {
  let stop = end;
  while (stop > start && (bytes[stop - 1] === sp || bytes[stop - 1] === htab)) stop--;
  return stop;
}

function tokenEnd(bytes: Uint8Array, start: number, end: number): number {
  let i = start;
  while (i < end && bytes[i] !== 44) i++;
  return i;
}

/** Call it only for lines that are known to end in CRLF. */
export function nextLine(bytes: Uint8Array, at: number): number {
  // Mostly `at` is where a value ends.
  return bytes[at] === cr ? at + 2 : bytes.indexOf(lf, at) + 1;
}
