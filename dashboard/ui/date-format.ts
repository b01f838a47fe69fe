// Dates on screen: the spec's format in the reader's time zone, and a tooltip with the zone and UTC.
import { formatDate } from '@underpass/rules/date.ts';

export interface DateText {
  readonly text: string;
  readonly title: string;
}

export function formatDateTime(at: string, timeZone = readersZone()): DateText {
  const moment = new Date(at);
  const text = formatDate(at, timeZone);
  if (Number.isNaN(moment.getTime())) return { text, title: text };
  const local = new Intl.DateTimeFormat('en-US', { dateStyle: 'full', timeStyle: 'medium', timeZone }).format(moment);
  return { text, title: `${local} (${timeZone}) · ${moment.toISOString()}` };
}

/** The time of day, such as 14:03. */
export const formatTimeOfDay = (atMs: number, timeZone = readersZone()): string =>
  new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone }).format(atMs);

const readersZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
