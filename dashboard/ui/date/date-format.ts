// Dates on screen in the reader's time zone, in the spec's format or shorter, and a tooltip with the whole date, the zone and UTC.
// The only place of the dashboard that formats a date or time, so that all screens have one clock.
import { counted } from '@underpass/rules/text/counted.ts';
import { dateFormat, formatDate } from '@underpass/rules/text/date.ts';

interface DateText {
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
      : dateFormat({ dateStyle: 'medium', timeStyle: 'short', timeZone }).format(moment);
  const local = dateFormat({ dateStyle: 'full', timeStyle: 'medium', timeZone }).format(moment);
  return { text, title: `${local} (${timeZone}) · ${moment.toISOString()}` };
}

/** Text such as `November 2026`, of a month in UTC. */
export const formatMonth = (startMs: number): string =>
  dateFormat({ month: 'long', year: 'numeric', timeZone: 'UTC' }).format(startMs);

const agoUnits = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** Text such as `4 minutes ago`. A clock that runs ahead of the server's counts as now. */
export function formatAgo(at: string, nowMs: number): string {
  const seconds = (nowMs - Date.parse(at)) / 1000;
  if (Number.isNaN(seconds)) return 'n/a';
  const [unit, length] = agoUnits.find(([, each]) => seconds >= each) ?? [];
  if (unit === undefined) return 'just now';
  return new Intl.RelativeTimeFormat('en').format(-Math.floor(seconds / length), unit);
}

/** Text such as `3 days`. */
export function formatSpan(at: string, nowMs: number): string {
  const seconds = (nowMs - Date.parse(at)) / 1000;
  if (Number.isNaN(seconds)) return 'n/a';
  const [unit, length] = agoUnits.find(([, each]) => seconds >= each) ?? [];
  return unit === undefined ? 'a moment' : counted(Math.floor(seconds / length), unit);
}

/** Text such as `in 3 days`. */
export function formatLeft(at: string, nowMs: number): string {
  const seconds = (Date.parse(at) - nowMs) / 1000;
  if (Number.isNaN(seconds)) return 'n/a';
  const [unit, length] = agoUnits.find(([, each]) => seconds >= each) ?? [];
  if (unit === undefined) return 'now';
  return new Intl.RelativeTimeFormat('en').format(Math.floor(seconds / length), unit);
}

/** The time of day, such as 2:03 PM; `medium` has the seconds. */
export const formatTimeOfDay = (atMs: number, timeStyle: 'short' | 'medium' = 'short', timeZone = readersZone()): string =>
  dateFormat({ timeStyle, timeZone }).format(atMs);

/** A day, such as Nov 2, 2026. */
export const formatDay = (at: string, dateStyle: 'medium' | 'long' = 'medium', timeZone = readersZone()): string =>
  dateFormat({ dateStyle, timeZone }).format(new Date(at));

/** A day of a chart's axis, such as Nov 2. */
export const formatDayOfYear = (atMs: number): string => dateFormat({ month: 'short', day: 'numeric' }).format(atMs);

const readersZone = () => dateFormat({}).resolvedOptions().timeZone;
