// Reads the server name and the offered protocols out of a ClientHello, without answering it.
// RFC 8446 4.1.2 and 5.1, RFC 6066 3, RFC 7301. Bounded, reassembled over records, and trusted for routing only.

/** A ClientHello with post-quantum keys has about 2 KiB; 16 KiB is generous and still little per visitor. */
export const maxHelloBytes = 16 * 1024;

const recordHeaderBytes = 5;
const handshakeRecord = 22;
const clientHello = 1;
const serverNameExtension = 0;
const alpnExtension = 16;
const supportedVersionsExtension = 43;
/** 2^14 (RFC 8446 5.1). */
const maxRecordBytes = 16_384;

export interface Hello {
  readonly kind: 'hello';
  readonly serverName: string | null;
  readonly protocols: readonly string[];
  /** True if it offers TLS 1.3, and so gets it. */
  readonly tls13: boolean;
}

export type HelloPeek =
  /** Wait for this many bytes in all; with fewer the answer stays the same. */
  | { readonly kind: 'more'; readonly enough: number }
  | Hello
  /** Another protocol than TLS. */
  | { readonly kind: 'foreign' }
  | { readonly kind: 'malformed' };

const foreign: HelloPeek = { kind: 'foreign' };
const malformed: HelloPeek = { kind: 'malformed' };

/** The hello of one connection, in pieces of any size. It looks again only once enough bytes are there. */
export class HelloInPieces {
  #last: HelloPeek = { kind: 'more', enough: 0 };

  peek(bytes: Uint8Array): HelloPeek {
    const last = this.#last;
    if (last.kind !== 'more' || bytes.length >= last.enough) this.#last = peekClientHello(bytes);
    return this.#last;
  }
}

/** Reads what has arrived. After `more`, call it again with more bytes. */
export function peekClientHello(bytes: Uint8Array): HelloPeek {
  if (bytes.length > 0 && bytes[0] !== handshakeRecord) return foreign;
  if (bytes.length > 1 && bytes[1] !== 3) return foreign;
  const message = gatherHandshake(bytes);
  if (message === null) return malformed;
  if (message.length > 0 && message[0] !== clientHello) return malformed;
  if (message.length < 4) return moreOrTooLarge(bytes, 1);
  const end = 4 + bodyLength(message);
  if (end > maxHelloBytes) return malformed;
  if (message.length < end) return moreOrTooLarge(bytes, end - message.length);
  return parseHello(message.subarray(4, end)) ?? malformed;
}

function moreOrTooLarge(bytes: Uint8Array, missing: number): HelloPeek {
  if (bytes.length >= maxHelloBytes) return malformed;
  return { kind: 'more', enough: Math.min(bytes.length + missing, maxHelloBytes) };
}

/**
 * The handshake bytes of all records so far, or null if a record is malformed. One pass without an object for each record,
 * because a hello may come in records of one byte.
 */
function gatherHandshake(bytes: Uint8Array): Uint8Array | null {
  const gathered = new Uint8Array(bytes.length);
  let length = 0;
  for (let at = 0; at + recordHeaderBytes <= bytes.length; ) {
    const recordBytes = u16(bytes, at + 3);
    if (bytes[at] !== handshakeRecord || recordBytes === 0 || recordBytes > maxRecordBytes) return null;
    at += recordHeaderBytes;
    const end = Math.min(at + recordBytes, bytes.length);
    while (at < end) gathered[length++] = bytes[at++] as number;
    if (length >= 4 && length >= 4 + bodyLength(gathered)) break;
  }
  return gathered.subarray(0, length);
}

function parseHello(body: Uint8Array): HelloPeek | null {
  let at = 2 + 32;
  at += 1 + (body[at] ?? 0);
  if (at + 2 > body.length) return null;
  at += 2 + u16(body, at);
  at += 1 + (body[at] ?? 0);
  if (at === body.length) return { kind: 'hello', serverName: null, protocols: [], tls13: false };
  if (at + 2 > body.length || at + 2 + u16(body, at) !== body.length) return null;
  return parseExtensions(body.subarray(at + 2));
}

function parseExtensions(bytes: Uint8Array): HelloPeek | null {
  let serverName: string | null = null;
  let protocols: string[] = [];
  let tls13 = false;
  const seen = new Set<number>();
  for (let at = 0; at < bytes.length; ) {
    if (at + 4 > bytes.length) return null;
    const type = u16(bytes, at);
    const end = at + 4 + u16(bytes, at + 2);
    if (end > bytes.length || seen.has(type)) return null;
    seen.add(type);
    const value = bytes.subarray(at + 4, end);
    if (type === serverNameExtension) {
      serverName = parseServerName(value);
      if (serverName === null) return null;
    } else if (type === alpnExtension) {
      const offered = parseProtocols(value);
      if (offered === null) return null;
      protocols = offered;
    } else if (type === supportedVersionsExtension) tls13 = offersTls13(value);
    at = end;
  }
  return { kind: 'hello', serverName, protocols, tls13 };
}

/**
 * RFC 6066 3: a list of exactly one host_name of letters, digits, "-", "_" and ".". Other bytes make it no name. The name has
 * no trailing dot, but some clients send the one of their URL, and Host may have it too (authority.ts).
 */
function parseServerName(value: Uint8Array): string | null {
  if (value.length < 6 || u16(value, 0) !== value.length - 2 || value[2] !== 0) return null;
  if (u16(value, 3) !== value.length - 5) return null;
  const name = canonicalServerName(ascii(value.subarray(5)));
  return /^[a-z0-9._-]{1,253}$/.test(name) ? name : '\0';
}

/** Letter case has no meaning, and neither has the dot of the DNS root. */
export function canonicalServerName(name: string): string {
  return (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase();
}

/** RFC 8446 4.2.1: a length of one byte, then versions of two. */
function offersTls13(value: Uint8Array): boolean {
  for (let at = 1; at + 1 < value.length; at += 2) if (u16(value, at) === 0x0304) return true;
  return false;
}

function parseProtocols(value: Uint8Array): string[] | null {
  if (value.length < 2 || u16(value, 0) !== value.length - 2) return null;
  const protocols: string[] = [];
  for (let at = 2; at < value.length; ) {
    const end = at + 1 + (value[at] as number);
    if (end > value.length || end === at + 1) return null;
    protocols.push(ascii(value.subarray(at + 1, end)));
    at = end;
  }
  return protocols;
}

function ascii(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

function u16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
}

function bodyLength(message: Uint8Array): number {
  return ((message[1] as number) << 16) | u16(message, 2);
}
