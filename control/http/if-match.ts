// Two who change one thing: a save that names the state it began with is refused once that is past (RFC 9110 13.1.1).
// A save without `If-Match` is taken, as scripts expect.

import { refuse } from './refusal.ts';

/** Called behind "nothing to change": a save that arrives twice has done what it asked (RFC 9110 13.1.1). */
export const refuseStale = ({ headers }: Request, updatedAt: number, what: string): void => {
  const asked = headers.get('if-match');
  const tags = [`"${new Date(updatedAt).toISOString()}"`, '*'];
  if (asked === null || asked.split(',').some((tag) => tags.includes(tag.trim()))) return;
  refuse('stale', `${what} was changed meanwhile.`);
};

/** The time of a change, and the name of the state it makes: later than the last, be the clock where it may. */
export const nextUpdate = (updatedAt: number, nowMs: number): number => Math.max(nowMs, updatedAt + 1);
