// A date and time in the spec's format, with the time zone in the tooltip. A narrow column breaks it between day and time.
import { formatDateTime } from './date-format.ts';

/** The width of a column of dates: each fits in two lines. */
export const dateWidth = 'minmax(10.5rem, 1fr)';

export function DateTime({ at }: { readonly at: string }) {
  const { text, title } = formatDateTime(at);
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
