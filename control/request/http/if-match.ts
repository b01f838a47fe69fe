// Keeps two editors from overwriting each other: refuses a save whose `If-Match` names an outdated state (RFC 9110 13.1.1).
// A save without `If-Match` is accepted, as scripts expect.

import { refuse } from './refusal.ts';

/** Call it only if the save changes something: a repeated save finds its change made and must succeed (RFC 9110 13.1.1). */
export function refuseStale({ headers }: Request, updatedAt: number, what: string): void {
  const asked = headers.get('if-match');
  const tags = [`"${new Date(updatedAt).toISOString()}"`, '*'];
  if (asked === null || asked.split(',').some((tag) => tags.includes(tag.trim()))) return;
  refuse('stale', `${what} has changed since you opened it.`);
}

/** The time of a change, which also names the new state: always later than the last one, even if the clock was set back. */
export const nextUpdate = (updatedAt: number, nowMs: number): number => Math.max(nowMs, updatedAt + 1);
