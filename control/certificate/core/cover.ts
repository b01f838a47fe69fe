// Whether a name may rely on the wildcard above it, or needs a certificate of its own. Pure.

import type { Lifetime } from './lifetime.ts';

/** Two, eight and thirty-two minutes of back-off lie between them: a name server that was away is back, or is broken. */
const failuresUntilFallback = 3;

/** The last sixth of its life: two weeks of 90 days, a day of six. */
const runsOut = ({ startsAt, expiresAt }: Lifetime, nowMs: number): boolean => nowMs >= expiresAt - (expiresAt - startsAt) / 6;

/** `failures` are those in a row of the wildcard. */
export const covers = (wildcard: Lifetime | undefined, failures: number, nowMs: number): boolean =>
  failures < failuresUntilFallback || (wildcard !== undefined && !runsOut(wildcard, nowMs));

const soonMs = 7 * 86_400_000;

/** Whether an operator is told of this failure of a name of ours: once in a row, and daily when the end is near. */
export const isWorthTelling = (known: Lifetime | undefined, failures: number, nowMs: number): boolean =>
  failures === failuresUntilFallback ||
  (failures > failuresUntilFallback && known !== undefined && nowMs >= known.expiresAt - soonMs);
