// Dates as the tables show them: en-US, month name, time with seconds (spec 9).

export function formatDate(iso: string, timeZone: string): string {
  const timeMs = Date.parse(iso);
  if (Number.isNaN(timeMs)) return 'n/a';
  return dateFormat(timeZone).format(timeMs);
}

function dateFormat(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    year: 'numeric',
    month: 'long',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    second: '2-digit',
  });
}
