// How long to wait before the next dial. Pure: from the number of failures, the problem and a random number.

import type { ProblemCode } from './problem.ts';

const firstMs = 1_000;
const maxMs = 30_000;
/** The first pause for a problem that a person must solve. It is short: the edge may not have received the tunnel's data yet. */
const firstSlowMs = 5_000;
const maxSlowMs = 60_000;
/** Bounds Retry-After: it may come from a captive portal or a load balancer in maintenance, and ask for a day. */
const maxAskedMs = 300_000;

const slowCodes: ReadonlySet<ProblemCode> = new Set([
  'token-refused',
  'tunnel-suspended',
  'wrong-type',
  'tunnel-private',
  'tunnel-public',
  'version',
  'proxy-invalid',
]);

/** Jitter over the whole range, so that ten thousand clients that lost one edge come back evenly. `failures` counts from 0. */
export function nextDelayMs(failures: number, code: ProblemCode, retryAfterMs: number | null, random: number): number {
  const slow = slowCodes.has(code);
  const ownMs = slow
    ? (0.5 + random / 2) * Math.min(maxSlowMs, firstSlowMs * 2 ** failures)
    : random * Math.min(maxMs, firstMs * 2 ** failures);
  if (retryAfterMs === null) return ownMs;
  const askedMs = Math.min(retryAfterMs, maxAskedMs) + random * firstMs;
  // Another server that asks for a second would get a dial a second from every client, for ever.
  return slow || code === 'not-underpass' ? Math.max(ownMs, askedMs) : askedMs;
}
