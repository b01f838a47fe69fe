// The payloads of HELLO and INFO: versions, limits and what a side says about itself. Layout: docs/protocol.md 3, HELLO.

import { isTunnelType, type TunnelType } from '@underpass/rules/tunnel/tunnel-type.ts';
import { checkCredit } from './credit.ts';
import { maxPayloadBytes, readU32, WireError, writeU32 } from './frame.ts';

/** The newest and the oldest version that this side speaks: docs/protocol.md 12, Versions. */
export const currentVersion = 2;
export const oldestVersion = 1;
/** OFFER and INFO exist from this version on. */
export const offerVersion = 2;

/** What a side says about itself. Every member is optional; unknown ones are ignored. */
export interface Info {
  /** Name and version, `underpass/0.1.0`. */
  readonly software?: string;
  /** The id of an edge: equal ids are the same edge. */
  readonly edge?: string;
  readonly region?: string;
  /** How many edges the region has now: tells a client whether there is a second one to dial. */
  readonly edges?: number;
  /** How many carriers a client may hold here. A client that does not learn it keeps two. */
  readonly carriers?: number;
  /** The tunnel's name and public URLs, for the client's live status. */
  readonly tunnel?: string;
  /** The type of the tunnel: a client of another type can report the mistake before a visitor meets it. */
  readonly type?: TunnelType;
  readonly urls?: readonly string[];
  /** Takes streams of kind `tcp`. An earlier version would end the carrier at the first. */
  readonly tcp?: boolean;
  /** Nobody reads it: it makes an INFO long. */
  readonly padding?: string;
  /** An edge says that the tunnel is private, a client that it ends TLS for those who reach it, and serves nobody else. */
  readonly private?: boolean;
}

export interface Hello {
  readonly oldest: number;
  readonly newest: number;
  /** Streams that the peer may have open at once. */
  readonly maxStreams: number;
  /** Bytes that the peer may send on each stream it opens, before it gets credit. */
  readonly windowBytes: number;
  readonly info: Info;
}

const magic = 0x5550; // "UP"
const fixedBytes = 12;
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

export function encodeHello(hello: Hello): Uint8Array {
  const info = encodeInfo(hello.info);
  const into = new Uint8Array(fixedBytes + info.length);
  into[0] = magic >>> 8;
  into[1] = magic & 0xff;
  into[2] = hello.oldest;
  into[3] = hello.newest;
  writeU32(into, 4, hello.maxStreams);
  writeU32(into, 8, hello.windowBytes);
  into.set(info, fixedBytes);
  return into;
}

export function parseHello(payload: Uint8Array): Hello {
  if (((payload[0]! << 8) | payload[1]!) !== magic) throw new WireError('protocol', 'HELLO without its magic');
  const [oldest, newest] = [payload[2]!, payload[3]!];
  if (oldest === 0 || oldest > newest) throw new WireError('protocol', `HELLO with versions ${oldest} to ${newest}`);
  const info = payload.length > fixedBytes ? parseInfo(payload.subarray(fixedBytes)) : {};
  return { oldest, newest, maxStreams: readU32(payload, 4), windowBytes: checkCredit(readU32(payload, 8)), info };
}

/** The newest version that both speak; null if there is none. */
export function decideVersion(ours: Pick<Hello, 'oldest' | 'newest'>, theirs: Pick<Hello, 'oldest' | 'newest'>): number | null {
  const newest = Math.min(ours.newest, theirs.newest);
  return newest >= ours.oldest && newest >= theirs.oldest ? newest : null;
}

export function encodeInfo(info: Info): Uint8Array {
  const bytes = encoder.encode(JSON.stringify(info));
  const most = maxPayloadBytes[1]! - fixedBytes;
  if (bytes.length > most) throw new RangeError(`info of ${bytes.length} bytes, at most ${most}`);
  return bytes;
}

export function parseInfo(payload: Uint8Array): Info {
  const value = parseObject(payload);
  const info: { -readonly [Key in keyof Info]: Info[Key] } = {};
  for (const key of ['software', 'edge', 'region', 'tunnel'] as const) {
    if (typeof value[key] === 'string') info[key] = value[key];
  }
  for (const key of ['edges', 'carriers'] as const) {
    if (Number.isSafeInteger(value[key])) info[key] = value[key] as number;
  }
  for (const key of ['tcp', 'private'] as const) if (value[key] === true) info[key] = true;
  if (isTunnelType(value.type)) info.type = value.type;
  if (Array.isArray(value.urls)) info.urls = value.urls.filter((url) => typeof url === 'string');
  return info;
}

function parseObject(payload: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(payload));
  } catch {
    throw new WireError('protocol', 'info is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new WireError('protocol', 'info is not an object');
  return value as Record<string, unknown>;
}
