// Dates on the screen: en-US with month name, time and seconds (spec 9), and the same moment with its zone for the hover.

const LIST = { year: 'numeric', month: 'long', day: 'numeric', hour: 'numeric', minute: '2-digit', second: '2-digit' } as const;

export interface DateText {
  readonly text: string;
  readonly title: string;
}

/** zone: an IANA name; the reader's own unless told. */
export function formatDateTime(at: string, zone?: string): DateText {
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return { text: at, title: at };
  const timeZone = zone === undefined ? {} : { timeZone: zone };
  return {
    text: new Intl.DateTimeFormat('en-US', { ...LIST, ...timeZone }).format(moment),
    title: new Intl.DateTimeFormat('en-US', { dateStyle: 'full', timeStyle: 'long', ...timeZone }).format(moment),
  };
}

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
