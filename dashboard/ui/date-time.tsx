// A date and time, with the seconds and the time zone in the tooltip. A narrow column breaks a long one between day and time.
import { type DateStyle, formatAgo, formatDateTime } from './date-format.ts';

/** The width of a column of dates: a short one fits in one line, a long one in two. */
export const dateWidth = 'minmax(10.5rem, 1fr)';

export function DateTime({ at, style = 'long' }: { readonly at: string; readonly style?: DateStyle }) {
  const { text, title } = formatDateTime(at, style);
  const [day, time] = text.split(' at ');
  return (
    <time dateTime={at} title={title} className="tabular">
      {day}
      {time !== undefined && (
        <>
          {' at '}
          <span className="whitespace-nowrap">{time}</span>
        </>
      )}
    </time>
  );
}

/** How long ago, as of this rendering; the exact time is in the tooltip. */
export function TimeAgo({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={formatDateTime(at).title} className="tabular">
      {formatAgo(at, Date.now())}
    </time>
  );
}
