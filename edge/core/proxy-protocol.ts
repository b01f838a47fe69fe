// Writes and reads PROXY protocol headers, versions 1 and 2. haproxy.org, proxy-protocol.txt.

import type { ProxyProtocol } from '@underpass/rules/entity/entity.ts';
import { addressBytes, addressText, ipv6Text } from './address.ts';

export interface Endpoints {
  readonly sourceAddress: string;
  readonly sourcePort: number;
  readonly destinationAddress: string;
  readonly destinationPort: number;
}

const signature = Uint8Array.from([13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10]);
const encoder = new TextEncoder();
const nothing = new Uint8Array(0);
/** Longest v1 line (section 2.1). */
const maxV1Bytes = 107;
/** v2: fixed part, then addresses and TLVs. */
const v2HeaderBytes = 16;
const maxV2Bytes = v2HeaderBytes + 2048;

/** The header that goes in front of an upstream connection; empty if the tunnel wants none. */
export function encodeProxyHeader(version: ProxyProtocol, ends: Endpoints): Uint8Array {
  if (version === '') return nothing;
  return version === 'v1' ? encoder.encode(encodeV1(ends)) : encodeV2(ends);
}

function encodeV1(ends: Endpoints): string {
  const pair = sameFamily(ends);
  if (pair === null) return 'PROXY UNKNOWN\r\n';
  const family = pair.source.length === 4 ? 'TCP4' : 'TCP6';
  const addresses = `${familyText(pair.source)} ${familyText(pair.destination)}`;
  return `PROXY ${family} ${addresses} ${ends.sourcePort} ${ends.destinationPort}\r\n`;
}

function encodeV2(ends: Endpoints): Uint8Array {
  const pair = sameFamily(ends);
  const size = pair?.source.length ?? 0;
  const length = pair === null ? 0 : 2 * size + 4;
  const out = new Uint8Array(v2HeaderBytes + length);
  out.set(signature);
  out[12] = 0x21; // version 2, command PROXY
  out[13] = pair === null ? 0 : size === 4 ? 0x11 : 0x21; // AF_INET or AF_INET6 over STREAM
  writeU16(out, 14, length);
  if (pair === null) return out;
  out.set(pair.source, 16);
  out.set(pair.destination, 16 + size);
  writeU16(out, 16 + 2 * size, ends.sourcePort);
  writeU16(out, 18 + 2 * size, ends.destinationPort);
  return out;
}

/** Both addresses in one family: if one is IPv6, the other is mapped into it. */
function sameFamily(ends: Endpoints): { source: Uint8Array; destination: Uint8Array } | null {
  const source = addressBytes(ends.sourceAddress);
  const destination = addressBytes(ends.destinationAddress);
  if (source === null || destination === null) return null;
  if (source.length === destination.length) return { source, destination };
  return { source: mapped(source), destination: mapped(destination) };
}

/** A receiver of TCP6 accepts no IPv4 text, not even for a mapped address. */
const familyText = (bytes: Uint8Array): string => (bytes.length === 4 ? addressText(bytes) : ipv6Text(bytes));

function mapped(bytes: Uint8Array): Uint8Array {
  return bytes.length === 16 ? bytes : Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, ...bytes]);
}

function writeU16(out: Uint8Array, at: number, value: number): void {
  out[at] = value >> 8;
  out[at + 1] = value & 255;
}

type ProxyPeek =
  | { readonly kind: 'more' }
  | { readonly kind: 'malformed' }
  /** `ends` is null if the balancer connects for itself (LOCAL, UNKNOWN). */
  | { readonly kind: 'header'; readonly bytes: number; readonly ends: Endpoints | null };

const more: ProxyPeek = { kind: 'more' };
const malformed: ProxyPeek = { kind: 'malformed' };

/** Reads a header that must be there: only connections of configured balancers are read with this. */
export function peekProxyHeader(bytes: Uint8Array): ProxyPeek {
  if (bytes.length === 0) return more;
  return bytes[0] === 13 ? peekV2(bytes) : peekV1(bytes);
}

function peekV1(bytes: Uint8Array): ProxyPeek {
  const end = bytes.subarray(0, maxV1Bytes).indexOf(10);
  if (end < 0) return bytes.length < maxV1Bytes && mayBeginV1(bytes) ? more : malformed;
  const line = String.fromCharCode(...bytes.subarray(0, end + 1));
  if (/^PROXY UNKNOWN[^\r\n]*\r\n$/.test(line)) return { kind: 'header', bytes: end + 1, ends: null };
  const match = /^PROXY (TCP[46]) ([0-9a-fA-F.:]+) ([0-9a-fA-F.:]+) (0|[1-9][0-9]{0,4}) (0|[1-9][0-9]{0,4})\r\n$/.exec(line);
  if (match === null) return malformed;
  const [, family, from, to, fromPort, toPort] = match as unknown as [string, string, string, string, string, string];
  const [source, destination] = [addressBytes(from), addressBytes(to)];
  const size = family === 'TCP4' ? 4 : 16;
  if (source?.length !== size || destination?.length !== size) return malformed;
  if (Number(fromPort) > 65535 || Number(toPort) > 65535) return malformed;
  return { kind: 'header', bytes: end + 1, ends: endsOf(source, Number(fromPort), destination, Number(toPort)) };
}

const mayBeginV1 = (bytes: Uint8Array): boolean => 'PROXY '.startsWith(String.fromCharCode(...bytes.subarray(0, 6)));

function peekV2(bytes: Uint8Array): ProxyPeek {
  for (let i = 0; i < Math.min(signature.length, bytes.length); i++) {
    if (bytes[i] !== signature[i]) return malformed;
  }
  if (bytes.length < v2HeaderBytes) return more;
  const total = v2HeaderBytes + (((bytes[14] as number) << 8) | (bytes[15] as number));
  if (total > maxV2Bytes || (bytes[12] as number) >> 4 !== 2) return malformed;
  if (bytes.length < total) return more;
  return readV2(bytes.subarray(0, total));
}

function readV2(header: Uint8Array): ProxyPeek {
  const command = (header[12] as number) & 15;
  if (command > 1) return malformed;
  const size = header[13] === 0x11 ? 4 : header[13] === 0x21 ? 16 : 0;
  if (command === 0 || size === 0) return { kind: 'header', bytes: header.length, ends: null };
  if (header.length < v2HeaderBytes + 2 * size + 4) return malformed;
  const [destinationAt, portsAt] = [v2HeaderBytes + size, v2HeaderBytes + 2 * size];
  const source = header.subarray(v2HeaderBytes, destinationAt);
  const destination = header.subarray(destinationAt, portsAt);
  const ends = endsOf(source, readU16(header, portsAt), destination, readU16(header, portsAt + 2));
  return { kind: 'header', bytes: header.length, ends };
}

const endsOf = (source: Uint8Array, sourcePort: number, destination: Uint8Array, destinationPort: number): Endpoints => ({
  sourceAddress: addressText(source),
  sourcePort,
  destinationAddress: addressText(destination),
  destinationPort,
});

const readU16 = (bytes: Uint8Array, at: number): number => ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
