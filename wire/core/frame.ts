// The frame header and the small fixed payloads. Header: u8 flags and type, u24 length, u32 stream. docs/protocol.md, Frames.

export const headerBytes = 8;

/** One read of a socket on common platforms; larger frames would only be buffered on the way. */
export const maxDataBytes = 65_536;

export const frameType = {
  hello: 1,
  open: 2,
  opened: 3,
  data: 4,
  credit: 5,
  reset: 6,
  ping: 7,
  pong: 8,
  goaway: 9,
  offer: 10,
  info: 11,
} as const;

export const finFlag = 0x80;

/** A rule of the protocol that the peer broke; ends the session with this GOAWAY code. */
export class WireError extends Error {
  readonly code: 'protocol' | 'flow-control' | 'flood' | 'version';

  constructor(code: 'protocol' | 'flow-control' | 'flood' | 'version', detail: string) {
    super(detail);
    this.name = 'WireError';
    this.code = code;
  }
}

/** The longest payload of each type; 0 marks a type that does not exist. DATA is never gathered, the others are. */
export const maxPayloadBytes: readonly number[] = [
  0, // no type 0
  16_384, // hello: fixed part and info
  2_048, // open: host 255, address 45, ids 255 each, preface 1,024
  4, // opened
  maxDataBytes, // data
  4, // credit
  2, // reset
  8, // ping
  8, // pong
  512, // goaway
  65_535, // offer: 512 entries of 2 + 253 bytes are less than twice this; the count is checked apart
  16_384, // info
];

const minPayloadBytes: readonly number[] = [0, 12, 13, 4, 0, 4, 2, 8, 8, 2, 0, 2];

/** Frames that belong to a stream have an id, the others have 0. */
const needsStream: readonly boolean[] = [false, false, true, true, true, true, true, false, false, false, false, false];

export function writeHeader(into: Uint8Array, at: number, typeAndFlags: number, length: number, stream: number): void {
  into[at] = typeAndFlags;
  into[at + 1] = length >>> 16;
  into[at + 2] = length >>> 8;
  into[at + 3] = length;
  writeU32(into, at + 4, stream);
}

export function writeU32(into: Uint8Array, at: number, value: number): void {
  into[at] = value >>> 24;
  into[at + 1] = value >>> 16;
  into[at + 2] = value >>> 8;
  into[at + 3] = value;
}

export function readU32(from: Uint8Array, at: number): number {
  return ((from[at]! << 24) | (from[at + 1]! << 16) | (from[at + 2]! << 8) | from[at + 3]!) >>> 0;
}

export const readU16 = (from: Uint8Array, at: number): number => (from[at]! << 8) | from[at + 1]!;

export function writeU16(into: Uint8Array, at: number, value: number): void {
  into[at] = value >>> 8;
  into[at + 1] = value;
}

/** Everything that can be known wrong from the header alone, before a byte of payload is kept. */
export function checkHeader(type: number, flags: number, length: number, stream: number): void {
  // Nearly all frames; the rest of the checks costs as much as the rest of the decoder.
  if (type === frameType.data && flags === 0 && length > 0 && length <= maxDataBytes && stream !== 0) return;
  const max = maxPayloadBytes[type] ?? 0;
  if (max === 0) throw new WireError('protocol', `frame of unknown type ${type}`);
  if (flags !== 0 && (type !== frameType.data || flags !== finFlag))
    throw new WireError('protocol', `flags ${flags} on type ${type}`);
  if (length > max) throw new WireError('protocol', `type ${type} with ${length} bytes, at most ${max}`);
  if (length < minPayloadBytes[type]!) throw new WireError('protocol', `type ${type} with only ${length} bytes`);
  if ((stream !== 0) !== needsStream[type]) throw new WireError('protocol', `type ${type} on stream ${stream}`);
  if (type === frameType.data && length === 0 && flags === 0) throw new WireError('protocol', 'empty DATA without FIN');
}

/** A whole frame with its payload: for the rare ones. DATA is written in place by the session. */
export function encodeFrame(typeAndFlags: number, stream: number, payload: Uint8Array): Uint8Array {
  const frame = new Uint8Array(headerBytes + payload.length);
  writeHeader(frame, 0, typeAndFlags, payload.length, stream);
  frame.set(payload, headerBytes);
  return frame;
}
