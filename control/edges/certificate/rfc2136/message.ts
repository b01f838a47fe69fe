// DNS UPDATE messages (RFC 2136) signed with TSIG hmac-sha256 (RFC 8945), encoded and decoded.

import { createHmac, timingSafeEqual } from 'node:crypto';

export interface TsigKey {
  readonly name: string;
  /** Base64. */
  readonly secret: string;
}

export interface TxtChange {
  readonly zone: string;
  readonly name: string;
  readonly value: string;
  readonly action: 'add' | 'delete';
}

const classIn = 1;
const classNone = 254;
const classAny = 255;
const typeSoa = 6;
const typeTxt = 16;
const typeTsig = 250;
const updateFlags = 5 << 11;
const ttlSeconds = 60;
/** Permitted clock difference, as RFC 8945 10 recommends. */
const fudgeSeconds = 300;
const algorithm = 'hmac-sha256';

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function u48(value: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUIntBE(value, 0, 6);
  return bytes;
}

/** Uncompressed and in lower case, as the TSIG digest needs it (RFC 8945 4.3.3). */
function encodeName(name: string): Buffer {
  const labels = name
    .toLowerCase()
    .split('.')
    .filter((label) => label !== '');
  const parts = labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'ascii')]);
  return Buffer.concat([...parts, Buffer.from([0])]);
}

const record = (name: string, type: number, cls: number, ttl: number, data: Buffer): Buffer =>
  Buffer.concat([encodeName(name), u16(type), u16(cls), u32(ttl), u16(data.length), data]);

/** One string suffices: a dns-01 value has 43 characters, a string holds 255. */
const txtData = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value, 'ascii')]);

export function encodeUpdate(id: number, change: TxtChange): Buffer {
  const { zone, name, value, action } = change;
  const header = Buffer.concat([u16(id), u16(updateFlags), u16(1), u16(0), u16(1), u16(0)]);
  const zoneSection = Buffer.concat([encodeName(zone), u16(typeSoa), u16(classIn)]);
  const update =
    action === 'add'
      ? record(name, typeTxt, classIn, ttlSeconds, txtData(value))
      : record(name, typeTxt, classNone, 0, txtData(value));
  return Buffer.concat([header, zoneSection, update]);
}

/** The TSIG variables, which the digest covers after the message (RFC 8945 4.3.3). */
const variables = (key: TsigKey, timeSigned: number, error: number, other: Buffer): Buffer =>
  Buffer.concat([
    encodeName(key.name),
    u16(classAny),
    u32(0),
    encodeName(algorithm),
    u48(timeSigned),
    u16(fudgeSeconds),
    u16(error),
    u16(other.length),
    other,
  ]);

function digest(key: TsigKey, ...parts: readonly Buffer[]): Buffer {
  const hmac = createHmac('sha256', Buffer.from(key.secret, 'base64'));
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

interface SignedMessage {
  readonly bytes: Buffer;
  readonly mac: Buffer;
}

export function signMessage(message: Buffer, key: TsigKey, nowMs: number): SignedMessage {
  const timeSigned = Math.floor(nowMs / 1000);
  const none = Buffer.alloc(0);
  const mac = digest(key, message, variables(key, timeSigned, 0, none));
  const id = message.subarray(0, 2);
  const data = Buffer.concat([
    encodeName(algorithm),
    u48(timeSigned),
    u16(fudgeSeconds),
    u16(mac.length),
    mac,
    id,
    u16(0),
    u16(0),
  ]);
  const bytes = Buffer.concat([message, record(key.name, typeTsig, classAny, 0, data)]);
  bytes.writeUInt16BE(message.readUInt16BE(10) + 1, 10);
  return { bytes, mac };
}

const rcodes: Readonly<Record<number, string>> = {
  1: 'FORMERR',
  2: 'SERVFAIL',
  3: 'NXDOMAIN',
  4: 'NOTIMP',
  5: 'REFUSED',
  8: 'NXRRSET',
  9: 'NOTAUTH',
  10: 'NOTZONE',
};

/** The offset after the name at `from`. Names in answers may be compressed (RFC 1035 4.1.4). */
function skipName(bytes: Buffer, from: number): number {
  let at = from;
  for (let length = bytes.readUInt8(at); length !== 0; length = bytes.readUInt8(at)) {
    if (length >= 0xc0) return at + 2;
    at += length + 1;
  }
  return at + 1;
}

function skipRecord(bytes: Buffer, from: number): number {
  const data = skipName(bytes, from) + 10;
  return data + bytes.readUInt16BE(data - 2);
}

function startOfLastRecord(bytes: Buffer): number {
  let at = 12;
  for (let zones = bytes.readUInt16BE(4); zones > 0; zones--) at = skipName(bytes, at) + 4;
  const records = bytes.readUInt16BE(6) + bytes.readUInt16BE(8) + bytes.readUInt16BE(10);
  for (let left = records; left > 1; left--) at = skipRecord(bytes, at);
  return at;
}

/** True if the answer carries a TSIG made with this key over our request (RFC 8945 5.3). */
function isSigned(bytes: Buffer, requestMac: Buffer, key: TsigKey): boolean {
  if (bytes.readUInt16BE(10) === 0) return false;
  const start = startOfLastRecord(bytes);
  const fixed = skipName(bytes, start);
  if (bytes.readUInt16BE(fixed) !== typeTsig) return false;
  const afterAlgorithm = skipName(bytes, fixed + 10);
  const timeSigned = bytes.readUIntBE(afterAlgorithm, 6);
  const macLength = bytes.readUInt16BE(afterAlgorithm + 8);
  const mac = bytes.subarray(afterAlgorithm + 10, afterAlgorithm + 10 + macLength);
  const tail = afterAlgorithm + 10 + macLength;
  const error = bytes.readUInt16BE(tail + 2);
  const other = bytes.subarray(tail + 6, tail + 6 + bytes.readUInt16BE(tail + 4));
  const unsigned = Buffer.from(bytes.subarray(0, start));
  unsigned.writeUInt16BE(bytes.readUInt16BE(10) - 1, 10);
  const expected = digest(key, u16(requestMac.length), requestMac, unsigned, variables(key, timeSigned, error, other));
  return mac.length === expected.length && timingSafeEqual(mac, expected);
}

/** Undefined if the server made the update, else why not: its rcode, or what is wrong with the answer. */
export function readUpdateAnswer(bytes: Buffer, id: number, requestMac: Buffer, key: TsigKey): string | undefined {
  try {
    if (bytes.readUInt16BE(0) !== id) return 'an answer to another request';
    const rcode = bytes.readUInt16BE(2) & 0x0f;
    if (rcode !== 0) return rcodes[rcode] ?? `rcode ${rcode}`;
    return isSigned(bytes, requestMac, key) ? undefined : 'an answer without our signature';
  } catch {
    return 'an answer that cannot be read';
  }
}
