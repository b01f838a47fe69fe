// Builds the head that is passed on: the kept spans of the received one, then the fields that only the edge may set.

import type { RequestHead } from '@underpass/wire/http/request-head.ts';
import type { ResponseHead } from '@underpass/wire/http/response-head.ts';

interface VisitorIdentity {
  readonly address: string;
  readonly proto: 'http' | 'https';
  /** Canonical authority that the visitor asked for. */
  readonly authority: string;
  /** The visitor's HTTP version: Via names the received one, not the one sent on (RFC 9110 7.6.3). */
  readonly version: '1.1' | '2.0';
}

/** The lines that identify the visitor, for every request; the visitor's own are removed. RFC 7239. */
export function renderIdentity({ address, proto, authority, version }: VisitorIdentity): string {
  const node = address.includes(':') ? `"[${address}]"` : address;
  const host = /^[\w.-]+$/.test(authority) ? authority : `"${authority}"`;
  return (
    `X-Forwarded-For: ${address}\r\nX-Forwarded-Proto: ${proto}\r\nX-Forwarded-Host: ${authority}\r\n` +
    `Forwarded: for=${node};host=${host};proto=${proto}\r\nX-Real-IP: ${address}\r\nVia: ${version} underpass\r\n`
  );
}

const blankLine = [13, 10] as const;
export const noLines: Buffer = Buffer.alloc(0);

/** The request head for the upstream: origin-form target, kept fields, our hop-by-hop fields, identity, who the visitor is. */
export function buildRequest(
  head: RequestHead,
  bytes: Buffer,
  end: number,
  identity: Buffer,
  upgrading: boolean,
  visitor: Buffer = noLines,
): Buffer {
  const hop = hopLines(head, bytes, upgrading);
  const from = head.absolute ? head.fieldsAt : head.lineStart;
  const startLineBytes = head.absolute ? head.fieldsAt - head.lineStart : 0;
  const length = startLineBytes + keptBytes(head, from, end) + hop.length + identity.length + visitor.length;
  const out = Buffer.allocUnsafe(length);
  let at = head.absolute ? copyStartLine(head, bytes, out) : 0;
  at = copyKept(head, bytes, out, at, from, end - 2);
  if (hop !== '') at += out.write(hop, at, 'latin1');
  out.set(identity, at);
  at += identity.length;
  if (visitor.length > 0) out.set(visitor, at);
  at += visitor.length;
  out[at] = blankLine[0];
  out[at + 1] = blankLine[1];
  return at + 2 === length ? out : out.subarray(0, at + 2);
}

/** Writes the target in origin-form: at least eight bytes of scheme and host go, and at most one comes for an empty path. */
function copyStartLine(head: RequestHead, bytes: Buffer, out: Buffer): number {
  const at = copy(bytes, out, 0, head.lineStart, head.methodEnd + 1);
  const pathless = head.targetStart === head.targetEnd;
  const written = pathless ? at + out.write(head.method === 'OPTIONS' ? '*' : '/', at, 'latin1') : at;
  return copy(bytes, out, written, head.targetStart, head.fieldsAt);
}

function hopLines(head: RequestHead, bytes: Buffer, upgrading: boolean): string {
  if (upgrading) {
    return `Connection: upgrade\r\nUpgrade: ${upgradeOf(head, bytes)}\r\n`;
  }
  const trailers = head.trailersWelcome ? 'Connection: TE\r\nTE: trailers\r\n' : '';
  return head.maxForwards < 0 ? trailers : `${trailers}Max-Forwards: ${head.maxForwards - 1}\r\n`;
}

/** The protocol that the request may become, or null. Never another HTTP, whose requests would bypass every check here. */
export function decideUpgrade(head: RequestHead, bytes: Buffer): string | null {
  if (!head.wantsUpgrade) return null;
  const protocol = upgradeOf(head, bytes);
  const isOne = /^[\w.+-]+(\/[\w.+-]+)?$/.test(protocol) && !/^(h2|h2c|h3|http|tls)(\/|$)/i.test(protocol);
  return isOne ? protocol : null;
}

/** The value of Upgrade. */
export function upgradeOf(head: RequestHead | ResponseHead, bytes: Buffer): string {
  return bytes.toString('latin1', head.upgradeStart, head.upgradeEnd);
}

/** What the edge changes in a response head. */
interface ResponseEdit {
  readonly close: boolean;
  /** Status 101: the upgrade goes through. */
  readonly upgraded: boolean;
  /** Set if the response has none. */
  readonly date?: string;
}

/** True if the head can be passed on byte for byte. */
export function isUntouched(head: ResponseHead, close: boolean): boolean {
  return head.dropCount === 0 && !close && !head.http10 && !head.lacksDate;
}

/** The new head, followed by the bytes of the body up to `bodyEnd`. */
export function buildResponse(
  head: ResponseHead,
  bytes: Buffer,
  from: number,
  end: number,
  bodyEnd: number,
  edit: ResponseEdit,
): Buffer {
  const tail = responseTail(head, bytes, edit);
  const out = Buffer.allocUnsafe(bodyEnd - from + tail.length);
  let at = out.write('HTTP/1.1', 0, 'latin1');
  at = copyKept(head, bytes, out, at, head.versionEnd, end - 2);
  at += out.write(tail, at, 'latin1');
  return out.subarray(0, copy(bytes, out, at, end, bodyEnd));
}

function responseTail(head: ResponseHead, bytes: Buffer, edit: ResponseEdit): string {
  if (edit.upgraded) return `Connection: upgrade\r\nUpgrade: ${upgradeOf(head, bytes)}\r\n\r\n`;
  const date = head.lacksDate ? `Date: ${edit.date}\r\n` : '';
  return edit.close ? `${date}Connection: close\r\n\r\n` : `${date}\r\n`;
}

/** What copyKept copies. A cut Cookie field is often longer than all that stays. */
function keptBytes(head: RequestHead, from: number, to: number): number {
  let bytes = 0;
  let kept = from;
  for (let i = 0; i < head.dropCount; i++) {
    bytes += (head.drops[2 * i] as number) - kept;
    kept = head.drops[2 * i + 1] as number;
  }
  return bytes + to - kept;
}

function copyKept(head: RequestHead | ResponseHead, bytes: Buffer, out: Buffer, at: number, from: number, to: number): number {
  let written = at;
  let kept = from;
  for (let i = 0; i < head.dropCount; i++) {
    written = copy(bytes, out, written, kept, head.drops[2 * i] as number);
    kept = head.drops[2 * i + 1] as number;
  }
  return copy(bytes, out, written, kept, to);
}

function copy(bytes: Buffer, out: Buffer, at: number, from: number, to: number): number {
  return at + bytes.copy(out, at, from, to);
}
