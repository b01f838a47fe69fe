// How long to wait before the next try. Pure: the try's number, its problem and a random number in, milliseconds out.

import type { ProblemCode } from './problem.ts';

const firstMs = 1_000;
const mostMs = 30_000;
/** Somebody has to do something first. At the beginning it may be that word of it has not come to this edge yet. */
const firstSlowMs = 5_000;
const mostSlowMs = 60_000;
/** An answer may be a captive portal's, or of a balancer that is being worked on: nobody may send a client away for a day. */
const mostAskedMs = 300_000;

const slowCodes: ReadonlySet<ProblemCode> = new Set([
  'token-refused',
  'tunnel-suspended',
  'wrong-type',
  'version',
  'proxy-invalid',
]);

/** Whole range jitter, so that ten thousand clients that lost one edge come back evenly; failures counts from 0. */
export function nextDelayMs(failures: number, code: ProblemCode, retryAfterMs: number | null, random: number): number {
  const slow = slowCodes.has(code);
  const ownMs = slow
    ? (0.5 + random / 2) * Math.min(mostSlowMs, firstSlowMs * 2 ** failures)
    : random * Math.min(mostMs, firstMs * 2 ** failures);
  if (retryAfterMs === null) return ownMs;
  const askedMs = Math.min(retryAfterMs, mostAskedMs) + random * firstMs;
  return slow ? Math.max(ownMs, askedMs) : askedMs;
}
