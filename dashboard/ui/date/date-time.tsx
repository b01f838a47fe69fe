// A date and time, with the seconds and the time zone in the tooltip. A narrow column breaks a long one between day and time.
import { type DateStyle, formatAgo, formatDateTime, formatLeft, formatSpan } from './date-format.ts';

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
export function TimeAgo({ at, className = '' }: TimeProps) {
  return (
    <time dateTime={at} title={formatDateTime(at).title} className={`tabular ${className}`}>
      {formatAgo(at, Date.now())}
    </time>
  );
}

/** How long until then. */
export function TimeLeft({ at, className = '' }: TimeProps) {
  return (
    <time dateTime={at} title={formatDateTime(at).title} className={`tabular ${className}`}>
      {formatLeft(at, Date.now())}
    </time>
  );
}

interface TimeProps {
  readonly at: string;
  readonly className?: string;
}

/** How long since then: `for 3 days`. */
export function TimeSpan({ at }: Pick<TimeProps, 'at'>) {
  return (
    <time dateTime={at} title={formatDateTime(at).title} className="tabular">
      for {formatSpan(at, Date.now())}
    </time>
  );
}
