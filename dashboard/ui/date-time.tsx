// A moment in the spec's format, and in the reader's own zone on hover and for screen readers. A narrow place breaks it between
// day and time.
import { formatDateTime } from './date-format.ts';

/** The width of a column of moments: two lines at the most. */
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
