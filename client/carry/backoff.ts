// How long to wait before the next try. Pure: the try's number, its problem and a random number in, milliseconds out.

import type { ProblemCode } from './problem.ts';

const firstMs = 1_000;
const mostMs = 30_000;
/** Waiting shorter would not help: somebody has to do something first. */
const slowMs = 60_000;

const slowCodes: ReadonlySet<ProblemCode> = new Set(['token-refused', 'tunnel-suspended', 'version', 'proxy-invalid']);

/** Whole range jitter, so that ten thousand clients that lost one edge come back evenly; failures counts from 0. */
export function nextDelayMs(failures: number, code: ProblemCode, retryAfterMs: number | null, random: number): number {
  const slow = slowCodes.has(code);
  const ownMs = slow ? slowMs / 2 + (random * slowMs) / 2 : random * Math.min(mostMs, firstMs * 2 ** failures);
  if (retryAfterMs === null) return ownMs;
  const askedMs = retryAfterMs + random * firstMs;
  return slow ? Math.max(ownMs, askedMs) : askedMs;
}
