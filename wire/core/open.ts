// The payload of OPEN: for whom the stream is and which bytes come first. Layout: docs/protocol.md, OPEN.

import { checkCredit } from './credit.ts';
import { readU16, readU32, WireError, writeU16, writeU32 } from './frame.ts';

export const streamKinds = ['http', 'ingress-80', 'ingress-443'] as const;
export type StreamKind = (typeof streamKinds)[number];

export interface OpenRequest {
  readonly kind: StreamKind;
  /** The host that was routed: lower-case A-labels, no port, no trailing dot. */
  readonly host: string;
  /** The visitor, as an edge saw it or as a trusted load balancer said. */
  readonly visitorAddress: string;
  readonly visitorPort: number;
  /** Raw bytes that the client writes to the upstream before anything else (a PROXY header); mostly empty. At most 1,024. */
  readonly preface: Uint8Array;
  /** Edge-to-edge hops only: the tunnel and, where the first edge has one that failed, the client to pass by. Empty on a carrier. */
  readonly tunnelId: string;
  readonly clientId: string;
}

export interface OpenPayload {
  readonly request: OpenRequest;
  /** Bytes that the acceptor may send before it gets credit. */
  readonly windowBytes: number;
}

/** Room for the longest PROXY v2 header with its TLVs, several times. */
export const maxPrefaceBytes = 1_024;

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

/** Bytes after the known fields are left for later versions. */
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
