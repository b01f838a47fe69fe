// Whether a name may rely on the wildcard above it, or needs a certificate of its own. Pure.

import { dayMs } from '@underpass/rules/limits.ts';
import { isRunningOut, type Lifetime } from './renewal.ts';

/** The back-off between them is 2, 8 and 32 minutes: a name server that was away is back by then, or is broken. */
const failuresUntilFallback = 3;
const soonMs = 7 * dayMs;

/** `failures`: how many orders for the wildcard have failed since the last success. */
export const isCovering = (wildcard: Lifetime | undefined, failures: number, nowMs: number): boolean =>
  failures < failuresUntilFallback || (wildcard !== undefined && !isRunningOut(wildcard, nowMs));

/** Whether this failure of one of our own names alarms the operator: the third in a row does, and each later one in the last week. */
export const needsAlarm = (held: Lifetime | undefined, failures: number, nowMs: number): boolean =>
  failures === failuresUntilFallback ||
  (failures > failuresUntilFallback && held !== undefined && nowMs >= held.expiresAt - soonMs);
