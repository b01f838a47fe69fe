// The rows of a card that fetches them: loading, failed, none, or a table.
import { text } from '@underpass/rules/text/text.ts';
import type { ReactNode } from 'react';
import { Banner } from '../ui/banner.tsx';
import { Button } from '../ui/button.tsx';
import { LoadingArea } from '../ui/spinner.tsx';
import { messageOf } from './error.ts';
import type { Fetched } from './use-fetched.ts';

interface FetchedRowsProps<Row> {
  readonly fetched: Omit<Fetched<readonly Row[]>, 'reloadBy'>;
  /** Plural: `share links`. */
  readonly what: string;
  readonly emptyText: string;
  readonly children: (rows: readonly Row[]) => ReactNode;
}

export function FetchedRows<Row>({ fetched, what, emptyText, children }: FetchedRowsProps<Row>) {
  const { data, error, busy, reload } = fetched;
  if (error !== undefined && !data) {
    return (
      <div className="p-4 sm:p-5">
        <Banner
          tone="danger"
          title={`The ${what} could not be loaded.`}
          action={
            <Button size="sm" busy={busy} onClick={reload}>
              {text.error.retry}
            </Button>
          }
        >
          {messageOf(error)}
        </Banner>
      </div>
    );
  }
  if (!data) return <LoadingArea label={`Loading ${what}`} className="h-24" />;
  if (data.length === 0) return <p className="px-5 py-8 text-center text-ink-soft">{emptyText}</p>;
  return children(data);
}
