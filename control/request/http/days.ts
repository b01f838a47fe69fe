// How many days something secret lives, as its creator asks.

import { dayMs, limits } from '@underpass/rules/limits.ts';
import { refuse } from './refusal.ts';

export const parseDays = (what: 'ticket' | 'token', days: number): number =>
  Number.isInteger(days) && days >= 1 && days <= limits.apiTokenDays
    ? days
    : refuse('invalid', `A ${what} may live from 1 to ${limits.apiTokenDays} days.`);

/** The end of something that lives for ever unless its creator says otherwise. */
export const parseEnd = (what: 'ticket' | 'token', days: number | undefined, nowMs: number): number | null =>
  days === undefined ? null : nowMs + parseDays(what, days) * dayMs;
