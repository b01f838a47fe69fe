// The response head: RFC 9112 section 4, read strictly, and the framing of its body (RFC 9112 6.3).

import type { BodyKind } from './body-scan.ts';
import { fieldKind } from './field-names.ts';
import { HeadScan, nextLine } from './head-scan.ts';
import { cr, lf, sp, spanIs, valueByte } from './octets.ts';
import type { Method } from './request-head.ts';

const prefix = 'HTTP/1.';
const keepAliveName = 'keep-alive:';
const timeoutName = 'timeout=';

export class ResponseHead extends HeadScan {
  status = 0;
  /** The end of "HTTP/1.x": from here on the status line is passed on unchanged. */
  versionEnd = 0;
  /** Keep-Alive: timeout=, in seconds; -1 without one. */
  keepAliveSeconds = -1;
  private dated = false;

  override reset(): void {
    super.reset();
    this.status = 0;
    this.keepAliveSeconds = -1;
    this.dated = false;
  }

  get interim(): boolean {
    return this.status < 200 && this.status !== 101;
  }

  /** RFC 9110 6.6.1: a recipient that forwards a response without a Date adds one. Interim responses and 101 need none. */
  get lacksDate(): boolean {
    return !this.dated && this.status >= 200;
  }

  /** The head does not say how long the body is. */
  get unframed(): boolean {
    return !this.chunked && this.contentLength < 0;
  }

  /** True if there is no body, whatever the fields say. */
  bodiless(method: Method): boolean {
    return method === 'HEAD' || this.status < 200 || this.status === 204 || this.status === 304;
  }

  /** RFC 9112 6.3, for responses. */
  bodyKind(method: Method): BodyKind {
    if (this.bodiless(method)) return 'none';
    if (this.chunked) return 'chunked';
    return this.contentLength >= 0 ? 'length' : 'until-close';
  }

  protected override startLine(bytes: Uint8Array, from: number, to: number): number {
    // Another protocol may send only a short greeting or alert, so decide by the first bytes.
    if (to - from < 12) return this.scanPrefix(bytes, from, to) ? 0 : -1;
    if (this.reached === 0) {
      if (!this.scanVersion(bytes, from) || !this.scanStatus(bytes, from + 9)) return -1;
      this.reached = from + 12;
    }
    let i = this.reached;
    while (i < to && valueByte[bytes[i] as number] === 1) i++;
    this.reached = i;
    if (i + 1 >= to) return to - from < this.limits.startLineBytes ? 0 : this.bad();
    const spaced = i === from + 12 || bytes[from + 12] === sp;
    if (bytes[i] !== cr || bytes[i + 1] !== lf || !spaced) return this.bad();
    this.versionEnd = from + 8;
    return i + 2;
  }

  private bad(): -1 {
    this.refuse(502, 'The status line is malformed.');
    return -1;
  }

  private scanPrefix(bytes: Uint8Array, at: number, to: number): boolean {
    for (let i = 0; i < prefix.length && at + i < to; i++) {
      if (bytes[at + i] !== prefix.charCodeAt(i)) return this.refuse(502, 'The status line is malformed.');
    }
    return true;
  }

  private scanVersion(bytes: Uint8Array, at: number): boolean {
    if (!this.scanPrefix(bytes, at, at + prefix.length)) return false;
    const minor = bytes[at + 7];
    this.http10 = minor === 48;
    return ((this.http10 || minor === 49) && bytes[at + 8] === sp) || this.refuse(502, 'The status line is malformed.');
  }

  private scanStatus(bytes: Uint8Array, at: number): boolean {
    let status = 0;
    for (let i = at; i < at + 3; i++) {
      const digit = (bytes[i] as number) - 48;
      if (digit < 0 || digit > 9) return this.refuse(502, 'The status line is malformed.');
      status = status * 10 + digit;
    }
    this.status = status;
    return (status >= 100 && status <= 599) || this.refuse(502, 'The status is out of range.');
  }

  protected override field(kind: number, bytes: Uint8Array, line: number, start: number, end: number): boolean {
    this.dated ||= kind === fieldKind.date;
    if (kind === fieldKind.edgeError) return this.drop(line, nextLine(bytes, end));
    if (kind !== fieldKind.hop) return true;
    if (spanIs(bytes, line, line + keepAliveName.length, keepAliveName)) this.keepAliveSeconds = timeoutOf(bytes, start, end);
    return this.drop(line, nextLine(bytes, end));
  }

  protected override finish(bytes: Uint8Array, end: number): boolean {
    if ((this.status === 204 || this.status < 200) && (this.chunked || this.contentLength > 0)) {
      return this.refuse(502, 'A response without a body says that it has one.');
    }
    return this.finishFields(bytes, end);
  }
}

/** True if an HTTP/2 server has begun its side, with SETTINGS on stream 0 (RFC 9113 3.4). */
export function startsHttp2(bytes: Uint8Array, from: number): boolean {
  const frame = bytes.subarray(from, from + 9);
  return frame.length === 9 && frame[0] === 0 && frame[3] === 4 && frame.subarray(4).every((octet) => octet === 0);
}

/** The value of `timeout` in Keep-Alive (RFC 2068 19.7.1.1), or -1. A long number counts as its first digits. */
function timeoutOf(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && !spanIs(bytes, at, Math.min(at + timeoutName.length, end), timeoutName)) at++;
  let seconds = -1;
  for (let i = at + timeoutName.length; i < end && seconds < 1e6; i++) {
    const digit = (bytes[i] as number) - 48;
    if (digit < 0 || digit > 9) break;
    seconds = Math.max(seconds, 0) * 10 + digit;
  }
  return seconds;
}
