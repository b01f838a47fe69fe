// Dates as the tables show them: en-US, month name, time with seconds (spec 9). Times as calls and files give them.

/** Stands for an end or a last use that there is not. */
export const neverLabel = 'Never';

export function formatDate(iso: string, timeZone: string): string {
  const timeMs = Date.parse(iso);
  if (Number.isNaN(timeMs)) return 'n/a';
  return dateFormat({ ...dateStyle, timeZone }).format(timeMs);
}

const dateStyle = {
  year: 'numeric',
  month: 'long',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
  second: '2-digit',
} as const;

/** Formats by their options: to make one takes much longer than to use it. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** A format in English, made once. Its options come from code and the reader's time zone, so there are few. */
export function dateFormat(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify(options);
  const format = formats.get(key) ?? new Intl.DateTimeFormat('en-US', options);
  formats.set(key, format);
  return format;
}

export const isoTime = /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?:[Zz]|([+-]\d\d)(?::?(\d\d))?)?)?$/;

/**
 * Milliseconds of an ISO 8601 date or time, or null. Without a zone it is UTC, so the meaning does not depend on the server's own
 * zone. The platform's own parser takes "1" and "Dec 5" for dates of 2001.
 */
export function parseTime(text: string): number | null {
  const match = isoTime.exec(text.trim());
  if (match === null) return null;
  const [, day, time = '00:00', zoneHours = '+00', zoneMinutes = '00'] = match;
  const timeMs = Date.parse(`${day}T${time}${zoneHours}:${zoneMinutes}`);
  return Number.isNaN(timeMs) || !isDay(day as string) ? null : timeMs;
}

/** The platform takes February 30 for the second of March. */
function isDay(day: string): boolean {
  return new Date(`${day}T00:00Z`).toISOString().startsWith(day);
}
