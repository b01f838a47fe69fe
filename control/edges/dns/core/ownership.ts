// When a verified domain is lost. Pure. Re-checked daily, and lost after three misses over 72 hours.

import { hourMs } from '@underpass/rules/limits.ts';
import type { ChallengeAnswer } from './challenge.ts';

/** Checks come a little more often than daily, so that three misses can fall within 72 hours and a bit. */
export const recheckEveryMs = 24 * hourMs;
export const lostAfterMs = 72 * hourMs;
const lostAfterMisses = 3;

interface Misses {
  readonly misses: number;
  readonly firstMissedAt: number | null;
}

export type OwnershipDecision =
  | { readonly kind: 'kept' }
  /** No usable answer: the misses so far stay as they are. */
  | { readonly kind: 'unknown' }
  | ({ readonly kind: 'missed' } & Misses)
  | { readonly kind: 'lost' };

export function decideOwnership(answer: ChallengeAnswer, before: Misses, nowMs: number): OwnershipDecision {
  if (answer === 'found') return { kind: 'kept' };
  if (answer === 'unknown') return { kind: 'unknown' };
  const firstMissedAt = before.firstMissedAt ?? nowMs;
  const misses = before.misses + 1;
  const lost = misses >= lostAfterMisses && nowMs - firstMissedAt >= lostAfterMs;
  return lost ? { kind: 'lost' } : { kind: 'missed', misses, firstMissedAt };
}
