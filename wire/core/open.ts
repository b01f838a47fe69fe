// The payload of OPEN: for which visitor the stream is, and which bytes come first. Layout: docs/protocol.md 4, Streams.

import type { TunnelType } from '@underpass/rules/tunnel/tunnel-type.ts';
import { checkCredit } from './credit.ts';
import { readU16, readU32, WireError, writeU16, writeU32 } from './frame.ts';

const streamKinds = ['http', 'ingress-80', 'ingress-443', 'tcp'] as const;
export type StreamKind = (typeof streamKinds)[number];

/** The host of a stream to a private tunnel. It begins with a TLS handshake. */
export const reachHost = ':reach';

/** The streams that an edge opens towards a client of each tunnel type. */
export const kindsOfType = {
  http: ['http'],
  ingress: ['ingress-80', 'ingress-443'],
  /** A side opens it only to a peer whose info says `tcp`. */
  tcp: ['tcp'],
} as const satisfies Readonly<Record<TunnelType, readonly StreamKind[]>>;

export interface OpenRequest {
  readonly kind: StreamKind;
  /** The host by which the visitor was routed: lower-case A-labels, no port, no trailing dot. Of a tcp tunnel `:port`, or `reachHost`. */
  readonly host: string;
  /** The visitor's address, as the edge saw it or as a trusted load balancer gave it. */
  readonly visitorAddress: string;
  readonly visitorPort: number;
  /** Bytes that the client writes to the upstream before anything else: a PROXY header, or nothing. At most 1,024. */
  readonly preface: Uint8Array;
  /** Only on hops, empty on a client's carrier: the tunnel, and the client to leave out because it failed at the first edge. */
  readonly tunnelId: string;
  readonly clientId: string;
}

interface OpenPayload {
  readonly request: OpenRequest;
  /** Bytes that the acceptor may send before it gets credit. */
  readonly windowBytes: number;
}

/** Several times the longest PROXY v2 header with its TLVs. */
const maxPrefaceBytes = 1_024;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

// Fixed part: u32 window, u8 kind, u16 visitor port, u16 preface length; then the four short strings, then the preface.
const fixedBytes = 9;

export function encodeOpen(request: OpenRequest, windowBytes: number): Uint8Array {
  const texts = [request.host, request.visitorAddress, request.tunnelId, request.clientId].map((text) => encoder.encode(text));
  if (texts.some((text) => text.length > 255)) throw new RangeError('OPEN text longer than 255 bytes');
  if (request.preface.length > maxPrefaceBytes)
    throw new RangeError(`preface of ${request.preface.length} bytes, at most ${maxPrefaceBytes}`);
  const size = texts.reduce((sum, text) => sum + 1 + text.length, fixedBytes + request.preface.length);
  const into = new Uint8Array(size);
  writeU32(into, 0, windowBytes);
  into[4] = streamKinds.indexOf(request.kind);
  writeU16(into, 5, request.visitorPort);
  writeU16(into, 7, request.preface.length);
  const at = writeTexts(into, texts);
  into.set(request.preface, at);
  return into;
}

function writeTexts(into: Uint8Array, texts: readonly Uint8Array[]): number {
  let at = fixedBytes;
  for (const text of texts) {
    into[at] = text.length;
    into.set(text, at + 1);
    at += 1 + text.length;
  }
  return at;
}

/** Ignores bytes after the known fields: later versions may add some. */
export function parseOpen(payload: Uint8Array): OpenPayload {
  const kind = streamKinds[payload[4]!];
  if (kind === undefined) throw new WireError('protocol', `OPEN of unknown kind ${payload[4]}`);
  const { texts, at } = readTexts(payload);
  const prefaceEnd = at + readU16(payload, 7);
  if (prefaceEnd > payload.length || prefaceEnd - at > maxPrefaceBytes)
    throw new WireError('protocol', 'OPEN with a false preface length');
  const [host, visitorAddress, tunnelId, clientId] = texts as [string, string, string, string];
  const preface = new Uint8Array(payload.subarray(at, prefaceEnd));
  const request = { kind, host, visitorAddress, visitorPort: readU16(payload, 5), preface, tunnelId, clientId };
  return { request, windowBytes: checkCredit(readU32(payload, 0)) };
}

function readTexts(payload: Uint8Array): { texts: string[]; at: number } {
  const texts: string[] = [];
  let at = fixedBytes;
  for (let count = 0; count < 4; count++) {
    const end = at + 1 + (payload[at] ?? 0);
    if (at >= payload.length || end > payload.length) throw new WireError('protocol', 'OPEN is cut short');
    texts.push(decodeText(payload.subarray(at + 1, end)));
    at = end;
  }
  return { texts, at };
}

function decodeText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new WireError('protocol', 'OPEN text is not UTF-8');
  }
}
