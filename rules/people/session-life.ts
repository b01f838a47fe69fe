// When a session ends because it is old or nobody used it.

import { dayMs, durations, hourMs } from '../limits.ts';

const idleMs = durations.sessionIdleDays * dayMs;
const operatorIdleMs = durations.operatorSessionIdleHours * hourMs;
const operatorMaxMs = durations.operatorSessionMaxDays * dayMs;

interface Life {
  readonly created_at: number;
  readonly seen_at: number;
  readonly expires_at: number;
}

/** A user who becomes an operator has the shorter life in the sessions that exist, too. */
export function isLive({ created_at, seen_at, expires_at }: Life, operator: boolean, nowMs: number): boolean {
  if (expires_at <= nowMs || seen_at <= nowMs - idleMs) return false;
  return !operator || (seen_at > nowMs - operatorIdleMs && created_at > nowMs - operatorMaxMs);
}
