// The frame header and the small numbers of payloads. Header: u8 flags and type, u24 length, u32 stream.
// docs/protocol.md 2, Frames.

export const headerBytes = 8;

/** One read of a socket on common platforms. A larger frame would only wait in buffers. */
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
  times: 12,
} as const;

export const finFlag = 0x80;

/** The peer broke a rule of the protocol: the session ends with this GOAWAY code. */
export class WireError extends Error {
  readonly code: 'protocol' | 'flow-control' | 'flood' | 'version';

  constructor(code: 'protocol' | 'flow-control' | 'flood' | 'version', detail: string) {
    super(detail);
    this.name = 'WireError';
    this.code = code;
  }
}

/** The longest payload of each type; 0 marks a type that does not exist. All but DATA are gathered before they are read. */
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
  65_535, // offer; 512 entries of 255 bytes would be twice this, so encodeOffers checks both
  16_384, // info
  8, // times
];

const minPayloadBytes: readonly number[] = [0, 12, 13, 4, 0, 4, 2, 8, 8, 2, 0, 2, 8];

/** Frames that belong to a stream have an id, the others have 0. */
const needsStream: readonly boolean[] = [false, false, true, true, true, true, true, false, false, false, false, false, true];

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

/** Every rule that a header can break. The decoder checks them before it keeps a byte of payload. */
export function checkHeader(type: number, flags: number, length: number, stream: number): void {
  // A short way for nearly all frames: the other checks cost as much as the rest of the decoder.
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
