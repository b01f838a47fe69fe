// The request head: RFC 9112 section 3, read strictly. It refuses whatever two parsers could read differently.

import { parseAuthority } from './authority.ts';
import type { BodyKind } from './body-scan.ts';
import { fieldKind } from './field-names.ts';
import { HeadScan, nextLine } from './head-scan.ts';
import { cr, lf, lowerText, sp, spanIs, targetByte } from './octets.ts';

/** The longest registered method, UPDATEREDIRECTREF, has 17 letters. */
const maxMethodBytes = 24;
/** Four digits: no path has more proxies than that. */
const maxForwardsDigits = 4;
/** A request that has passed our edges this often loops. */
const maxOwnHops = 4;

const versionPrefix = 'HTTP/';

export type Method = 'GET' | 'HEAD' | 'OPTIONS' | 'other';

const noHost: Buffer = Buffer.alloc(0);

export class RequestHead extends HeadScan {
  method: Method = 'other';
  lineStart = 0;
  methodEnd = 0;
  /** The target for the upstream: origin-form or "*". */
  targetStart = 0;
  targetEnd = 0;
  /** Start of the field lines. */
  fieldsAt = 0;
  absolute = false;
  /** The Host field's value, port included. */
  hostStart = -1;
  hostEnd = -1;
  trailersWelcome = false;
  /** How many more proxies an OPTIONS request may pass; 0 asks this one to answer (RFC 9110 7.6.2). -1 without the field. */
  maxForwards = -1;
  cookieCount = 0;
  authorizationCount = 0;
  /** The first Authorization field: the start of its line, the start and the end of its value. */
  authorizationLine = 0;
  authorizationStart = 0;
  authorizationEnd = 0;
  /** The same of the first Cookie field, in numbers: an idle connection holds no array for it. */
  private cookieLine = 0;
  private cookieStart = 0;
  private cookieEnd = 0;
  private moreCookies: number[] | null = null;
  /** Start and end of each line in which another proxy says who the visitor is. Most requests have none. */
  private assertedLines: number[] | null = null;
  /** Fields that name another method, and the value of the last one. */
  overrideCount = 0;
  overrideStart = 0;
  overrideEnd = 0;
  /** Canonical authority of the Host field. Kept for the next head, because most visitors ask for one host. */
  authority = '';
  private knownHost: Buffer = noHost;
  private ownHops = 0;
  private authorityStart = 0;
  private authorityEnd = 0;

  override reset(): void {
    super.reset();
    this.method = 'other';
    this.absolute = false;
    this.hostStart = -1;
    this.hostEnd = -1;
    this.trailersWelcome = false;
    this.maxForwards = -1;
    this.cookieCount = 0;
    this.moreCookies = null;
    this.assertedLines = null;
    this.authorizationCount = 0;
    this.overrideCount = 0;
    this.ownHops = 0;
  }

  /** A GET without a body that asks to become another protocol. */
  get wantsUpgrade(): boolean {
    return this.upgrade && this.upgradeStart >= 0 && this.method === 'GET' && !this.hasBody && !this.http10;
  }

  get hasBody(): boolean {
    return this.chunked || this.contentLength > 0;
  }

  /** RFC 9112 6.3, for requests. */
  get bodyKind(): BodyKind {
    if (this.chunked) return 'chunked';
    return this.contentLength > 0 ? 'length' : 'none';
  }

  protected override startLine(bytes: Uint8Array, from: number, to: number): number {
    if (this.reached === 0 && !this.scanFirstWord(bytes, from, to)) return this.refusedStatus === 0 ? 0 : -1;
    const { lineStart, methodEnd } = this;
    let i = this.reached;
    while (i < to && targetByte[bytes[i] as number] === 1) i++;
    this.reached = i;
    if (i === to) return to - lineStart < this.limits.startLineBytes ? 0 : this.bad(414, 'The request line is too long.');
    if (bytes[i] !== sp || i === methodEnd + 1) return this.bad(400, 'The request line is malformed.');
    if (to - i < 11) return 0;
    if (!this.scanVersion(bytes, i + 1)) return -1;
    this.targetStart = methodEnd + 1;
    this.targetEnd = i;
    this.fieldsAt = i + 11;
    // The whole line arrives at once: always over HTTP/2, mostly over HTTP/1.1.
    if (this.fieldsAt - lineStart > this.limits.startLineBytes) return this.bad(414, 'The request line is too long.');
    return this.scanTarget(bytes) ? this.fieldsAt : -1;
  }

  /** False if it needs more bytes, and if the head is refused. */
  private scanFirstWord(bytes: Uint8Array, from: number, to: number): boolean {
    // Half of the empty line that may come first.
    if (bytes[from] === cr && from + 1 === to) return false;
    const start = skipEmptyLine(bytes, from, to);
    const methodEnd = this.scanMethod(bytes, start, to);
    if (methodEnd <= 0) return false;
    this.lineStart = start;
    this.methodEnd = methodEnd;
    this.reached = methodEnd + 1;
    return true;
  }

  private bad(status: number, why: string): -1 {
    this.refuse(status, why);
    return -1;
  }

  /** Upper case only: some upstreams take a lower-case "trace" for TRACE, which we would pass on as another method. */
  private scanMethod(bytes: Uint8Array, start: number, to: number): number {
    let i = start;
    while (i < to && isMethodByte(bytes[i] as number)) i++;
    if (i - start > maxMethodBytes) return this.bad(400, 'The method is too long.');
    if (i === to) return 0;
    if (bytes[i] !== sp || i === start) return this.bad(400, 'The request line is malformed.');
    return this.nameMethod(bytes, start, i) ? i : -1;
  }

  private nameMethod(bytes: Uint8Array, start: number, end: number): boolean {
    if (spanIs(bytes, start, end, 'get')) this.method = 'GET';
    else if (spanIs(bytes, start, end, 'head')) this.method = 'HEAD';
    else if (spanIs(bytes, start, end, 'options')) this.method = 'OPTIONS';
    else if (spanIs(bytes, start, end, 'connect') || spanIs(bytes, start, end, 'trace')) {
      return this.refuse(405, 'This server does not accept CONNECT or TRACE.');
    } else if (spanIs(bytes, start, end, 'pri')) return this.refuse(400, 'The connection did not negotiate HTTP/2.');
    return true;
  }

  private scanVersion(bytes: Uint8Array, at: number): boolean {
    for (let i = 0; i < versionPrefix.length; i++) {
      if (bytes[at + i] !== versionPrefix.charCodeAt(i)) return this.refuse(400, 'The request line is malformed.');
    }
    if (bytes[at + 8] !== cr || bytes[at + 9] !== lf) return this.refuse(400, 'The request line is malformed.');
    if (bytes[at + 5] !== 49 || bytes[at + 6] !== 46) return this.refuse(505, 'Only HTTP/1.1 and HTTP/1.0 are accepted here.');
    if (bytes[at + 7] === 48) this.http10 = true;
    else if (bytes[at + 7] !== 49) return this.refuse(505, 'Only HTTP/1.1 and HTTP/1.0 are accepted here.');
    return true;
  }

  /** RFC 9112 3.2: origin-form, absolute-form, or "*" with OPTIONS. */
  private scanTarget(bytes: Uint8Array): boolean {
    const first = bytes[this.targetStart];
    if (first === 47) return true;
    if (first !== 42) return this.scanAbsolute(bytes);
    if (this.method === 'OPTIONS' && this.targetEnd === this.targetStart + 1) return true;
    return this.refuse(400, 'Only OPTIONS may have the target "*".');
  }

  private scanAbsolute(bytes: Uint8Array): boolean {
    const scheme = schemeLength(bytes, this.targetStart, this.targetEnd);
    if (scheme === 0) return this.refuse(400, 'The request target is malformed.');
    this.authorityStart = this.targetStart + scheme;
    let i = this.authorityStart;
    while (i < this.targetEnd && bytes[i] !== 47 && bytes[i] !== 63) i++;
    if (bytes[i] === 63) return this.refuse(400, 'The request target has no path.');
    this.authorityEnd = i;
    this.absolute = true;
    this.targetStart = i;
    return true;
  }

  protected override field(kind: number, bytes: Uint8Array, line: number, start: number, end: number): boolean {
    if (kind === fieldKind.host) return this.hostField(start, end);
    if (kind === fieldKind.cookie) return this.cookieField(line, start, end);
    if (kind === fieldKind.authorization) return this.authorizationField(line, start, end);
    if (kind === fieldKind.identity || kind === fieldKind.hop) return this.drop(line, nextLine(bytes, end));
    if (kind === fieldKind.asserted) return this.assertedField(line, nextLine(bytes, end));
    if (kind === fieldKind.method) return this.methodField(start, end);
    if (kind === fieldKind.date || kind === fieldKind.edgeError) return true;
    if (kind === fieldKind.maxForwards) return this.maxForwardsField(bytes, line, start, end);
    if (kind === fieldKind.expect) return this.expectField(bytes, start, end);
    if (kind === fieldKind.te) return this.teField(bytes, line, start, end);
    return this.viaField(bytes, start, end);
  }

  /** Calls back with each Cookie field: the start of its line, the start and the end of its value. */
  eachCookie(take: (line: number, start: number, end: number) => void): void {
    if (this.cookieCount > 0) take(this.cookieLine, this.cookieStart, this.cookieEnd);
    const more = this.moreCookies ?? [];
    for (let i = 0; i < more.length; i += 3) take(more[i] as number, more[i + 1] as number, more[i + 2] as number);
  }

  /** Leaves out what another sign-in proxy would say about the visitor. */
  cutAsserted(): void {
    const lines = this.assertedLines ?? [];
    for (let i = 0; i < lines.length; i += 2) this.cut(lines[i] as number, lines[i + 1] as number);
  }

  private assertedField(line: number, after: number): true {
    this.assertedLines ??= [];
    this.assertedLines.push(line, after);
    return true;
  }

  private cookieField(line: number, start: number, end: number): true {
    if (this.cookieCount++ > 0) {
      this.moreCookies ??= [];
      this.moreCookies.push(line, start, end);
      return true;
    }
    this.cookieLine = line;
    this.cookieStart = start;
    this.cookieEnd = end;
    return true;
  }

  private authorizationField(line: number, start: number, end: number): true {
    if (this.authorizationCount++ > 0) return true;
    this.authorizationLine = line;
    this.authorizationStart = start;
    this.authorizationEnd = end;
    return true;
  }

  private methodField(start: number, end: number): true {
    this.overrideCount++;
    this.overrideStart = start;
    this.overrideEnd = end;
    return true;
  }

  private hostField(start: number, end: number): boolean {
    if (this.hostStart >= 0) return this.refuse(400, 'There is more than one Host field.');
    this.hostStart = start;
    this.hostEnd = end;
    return true;
  }

  private expectField(bytes: Uint8Array, start: number, end: number): boolean {
    if (!spanIs(bytes, start, end, '100-continue')) return this.refuse(417, 'Expect must be "100-continue".');
    return true;
  }

  private teField(bytes: Uint8Array, line: number, start: number, end: number): boolean {
    this.trailersWelcome ||= /(^|[,\s])trailers($|[,;\s])/.test(lowerText(bytes, start, end));
    return this.drop(line, nextLine(bytes, end));
  }

  /** RFC 9110 7.6.2: it means nothing for other methods. buildRequest writes it again, counted down. */
  private maxForwardsField(bytes: Uint8Array, line: number, start: number, end: number): boolean {
    if (this.method !== 'OPTIONS') return true;
    let left = this.maxForwards < 0 && end > start && end - start <= maxForwardsDigits ? 0 : Number.NaN;
    for (let i = start; i < end; i++) left = left * 10 + digitOf(bytes[i] as number);
    if (Number.isNaN(left)) return this.refuse(400, 'Max-Forwards must be one number in range.');
    this.maxForwards = left;
    return this.drop(line, nextLine(bytes, end));
  }

  protected viaField(bytes: Uint8Array, start: number, end: number): boolean {
    this.ownHops += lowerText(bytes, start, end).split(/(?:1\.1|2\.0) underpass/).length - 1;
    return this.ownHops < maxOwnHops || this.refuse(508, 'The request loops: it has passed this service too often.');
  }

  protected override finish(bytes: Uint8Array, end: number): boolean {
    if (this.hostStart < 0) return this.refuse(400, 'The Host field is missing.');
    if (!this.agreesOnAuthority(bytes)) return false;
    return this.finishFields(bytes, end);
  }

  /** RFC 9112 3.2.2 lets absolute-form win over Host. Servers that differ on this can be attacked, so the two must agree. */
  private agreesOnAuthority(bytes: Uint8Array): boolean {
    if (!this.isKnownHost(bytes) && !this.learnHost(bytes)) return this.refuse(400, 'Host is malformed.');
    if (!this.absolute) return true;
    const target = parseAuthority(bytes, this.authorityStart, this.authorityEnd);
    return target === this.authority || this.refuse(400, 'The request target and Host name different hosts.');
  }

  /** No further head follows: gives back the memory that a small buffer shares with others. */
  forgetHost(): void {
    this.knownHost = noHost;
  }

  private isKnownHost(bytes: Uint8Array): boolean {
    const known = this.knownHost;
    if (this.hostEnd - this.hostStart !== known.length || known.length === 0) return false;
    for (let i = 0; i < known.length; i++) {
      if (known[i] !== bytes[this.hostStart + i]) return false;
    }
    return true;
  }

  private learnHost(bytes: Uint8Array): boolean {
    const authority = parseAuthority(bytes, this.hostStart, this.hostEnd);
    this.authority = authority ?? '';
    this.knownHost = Buffer.from(authority === null ? [] : bytes.subarray(this.hostStart, this.hostEnd));
    return authority !== null;
  }
}

/** RFC 9112 2.2: one empty line may come before the request line. */
function skipEmptyLine(bytes: Uint8Array, from: number, to: number): number {
  return from + 1 < to && bytes[from] === cr && bytes[from + 1] === lf ? from + 2 : from;
}

function isMethodByte(octet: number): boolean {
  return (octet >= 65 && octet <= 90) || octet === 45;
}

function digitOf(octet: number): number {
  return octet >= 48 && octet <= 57 ? octet - 48 : Number.NaN;
}

function schemeLength(bytes: Uint8Array, start: number, end: number): number {
  if (spanIs(bytes, start, Math.min(end, start + 8), 'https://')) return 8;
  return spanIs(bytes, start, Math.min(end, start + 7), 'http://') ? 7 : 0;
}
