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

const readersZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** '3 minutes ago', in one unit; under a minute it is 'just now'. */
export function formatSince(at: string, nowMs: number): string {
  const seconds = Math.max(0, (nowMs - Date.parse(at)) / 1000);
  const unit = UNITS.find(([, size]) => seconds >= size);
  if (!unit) return 'just now';
  return new Intl.RelativeTimeFormat('en').format(-Math.floor(seconds / unit[1]), unit[0]);
}
