// Dates on screen in the reader's time zone, in the spec's format or shorter, and a tooltip with the whole date, the zone and UTC.
import { formatDate } from '@underpass/rules/date.ts';

export interface DateText {
  readonly text: string;
  readonly title: string;
}

/** `long` is the spec's format; `short` fits on one line of a column. */
export type DateStyle = 'long' | 'short';

export function formatDateTime(at: string, style: DateStyle = 'long', timeZone = readersZone()): DateText {
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return { text: 'n/a', title: 'n/a' };
  const text =
    style === 'long'
      ? formatDate(at, timeZone)
      : new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeStyle: 'short', timeZone }).format(moment);
  const local = new Intl.DateTimeFormat('en-US', { dateStyle: 'full', timeStyle: 'medium', timeZone }).format(moment);
  return { text, title: `${local} (${timeZone}) · ${moment.toISOString()}` };
}

/** The time of day, such as 14:03. */
export const formatTimeOfDay = (atMs: number, timeZone = readersZone()): string =>
  new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone }).format(atMs);

const readersZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
