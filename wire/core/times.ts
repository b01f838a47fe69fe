// The payload of TIMES: how long a request and its answer took at the edge. Layout: docs/protocol.md 7, Offers.

import { readU32, writeU32 } from './frame.ts';

export interface Times {
  /** Time until the edge had a client for the request. */
  readonly edgeMs: number;
  /** Time until the last byte of the answer had arrived at the edge. */
  readonly totalMs: number;
}

/** More than an hour; a longer time reads as this one. */
const maxMicroseconds = 0xffff_ffff;

export function encodeTimes({ edgeMs, totalMs }: Times): Uint8Array {
  const into = new Uint8Array(8);
  writeU32(into, 0, microseconds(edgeMs));
  writeU32(into, 4, microseconds(totalMs));
  return into;
}

const microseconds = (ms: number): number => Math.min(maxMicroseconds, Math.max(0, Math.round(ms * 1_000)));

export const parseTimes = (payload: Uint8Array): Times => ({
  edgeMs: readU32(payload, 0) / 1_000,
  totalMs: readU32(payload, 4) / 1_000,
});
