// How long tokens and links last. Pure.
import { limits } from '@underpass/rules/limits.ts';
import { neverLabel } from '@underpass/rules/text/date.ts';

/** The choice without an end. */
const never = { value: '', label: neverLabel } as const;

export const tokenDays = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: String(limits.apiTokenDays), label: '1 year' },
  never,
] as const;

export const linkHours = [
  { value: '1', label: '1 hour' },
  { value: '24', label: '1 day' },
  { value: '168', label: '7 days' },
  { value: '720', label: '30 days' },
  never,
] as const;

/** Absent: without an end. */
export const numberOf = (choice: string): number | undefined => (choice === '' ? undefined : Number(choice));
