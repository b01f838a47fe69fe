// A moment in the spec's format, and in the reader's own zone on hover and for screen readers.
import { formatDateTime } from './date-format.ts';

export function DateTime({ at }: { readonly at: string }) {
  const { text, title } = formatDateTime(at);
  return (
    <time dateTime={at} title={title} className="tabular">
      {text}
    </time>
  );
}
