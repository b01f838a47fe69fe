// Two answers side by side: status, time and size, the headers that differ, and the lines of the bodies.
import type { Comparison, ExchangeSummary, HeaderDifference } from '@underpass/rules/inspect/exchange.ts';
import { formatSize } from '@underpass/rules/text/size.ts';
import clsx from 'clsx';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { Card } from '../../ui/card.tsx';
import { Field } from '../../ui/input/field.tsx';
import { Select } from '../../ui/input/select.tsx';
import { LoadingArea } from '../../ui/spinner.tsx';
import { compareExchanges } from '../api/calls.ts';
import { candidatesFor } from '../core/candidates.ts';
import { type DiffPart, foldSame } from '../core/fold-same.ts';
import { countOf } from '../core/format.ts';
import { clockOf, durationOf, statusOf } from '../list/rows.ts';
import { StatusBadge } from '../list/status-badge.tsx';
import { goTo } from '../state/route.ts';

interface CompareProps {
  readonly exchange: ExchangeSummary;
  /** Null: the person chooses first. */
  readonly withId: number | null;
  readonly exchanges: readonly ExchangeSummary[];
}

export function Compare({ exchange, withId, exchanges }: CompareProps) {
  const candidates = useMemo(() => candidatesFor(exchange, exchanges), [exchange, exchanges]);
  const otherId = withId ?? candidates[0]?.id;
  const { comparison, error } = useComparison(otherId, exchange.id);
  const options = candidates.map((one) => ({ value: String(one.id), label: titleOf(one) }));
  if (otherId !== undefined && !candidates.some(({ id }) => id === otherId))
    options.unshift({ value: String(otherId), label: `#${otherId}` });
  return (
    <div className="grid gap-3 sm:gap-4">
      <Field label="Compare with">
        {(control) =>
          otherId === undefined ? (
            <p {...control} className="text-base text-ink-soft">
              There is no other request yet.
            </p>
          ) : (
            <Select
              {...control}
              value={String(otherId)}
              options={options}
              onChange={(id) => goTo({ id: exchange.id, compareWith: Number(id) }, { replace: true })}
            />
          )
        }
      </Field>
      {comparison ? (
        <Differences comparison={comparison} />
      ) : error ? (
        <p className="py-8 text-center text-base text-ink-soft">{error.message}</p>
      ) : (
        otherId !== undefined && <LoadingArea />
      )}
    </div>
  );
}

const titleOf = (one: ExchangeSummary): string =>
  `#${one.id} · ${one.method} ${one.target.slice(0, 60)} · ${statusOf(one).text} · ${clockOf(one.startedAtMs)}`;

function useComparison(left: number | undefined, right: number): { readonly comparison?: Comparison; readonly error?: Error } {
  const [loaded, setLoaded] = useState<{ comparison?: Comparison; error?: Error }>({});
  useEffect(() => {
    if (left === undefined) return;
    const stop = new AbortController();
    setLoaded({});
    compareExchanges(left, right, stop.signal).then(
      (comparison) => setLoaded({ comparison }),
      (error: Error) => stop.signal.aborted || setLoaded({ error }),
    );
    return () => stop.abort();
  }, [left, right]);
  return loaded;
}

function Differences({ comparison }: { readonly comparison: Comparison }) {
  const { left, right, headers, lines, hasSameBody } = comparison;
  return (
    <>
      <div className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border bg-line">
        {[left, right].map((one) => (
          <Answer key={one.id} exchange={one} />
        ))}
      </div>
      <Card
        title="Headers"
        description={
          headers.length === 0
            ? 'No difference.'
            : `${countOf(headers.length, 'header')} differ${headers.length === 1 ? 's' : ''}.`
        }
      >
        {headers.length > 0 && <HeaderTable headers={headers} left={left.id} right={right.id} />}
      </Card>
      <Card title="Body" description={bodyText(comparison)}>
        {!hasSameBody && lines !== null && <Lines parts={foldSame(lines)} />}
      </Card>
    </>
  );
}

function bodyText({ hasSameBody, lines, comparedLines }: Comparison): string {
  if (hasSameBody) return 'No difference.';
  if (lines === null) return 'The bodies differ. They are not both text, so there are no lines to show.';
  if (comparedLines === null) return 'The bodies differ.';
  return `The bodies differ. Only the first ${countOf(comparedLines, 'line')} of each are compared.`;
}

function Answer({ exchange }: { readonly exchange: ExchangeSummary }) {
  return (
    <div className="grid justify-items-start gap-1 bg-surface px-4 py-3 text-sm">
      <button
        type="button"
        className="rounded-sm font-semibold text-accent-ink underline"
        onClick={() => goTo({ id: exchange.id })}
      >
        #{exchange.id}
      </button>
      <StatusBadge exchange={exchange} />
      <span className="tabular">
        {durationOf(exchange)} · {formatSize(exchange.responseBytes)}
      </span>
      <span className="text-ink-soft tabular">{clockOf(exchange.startedAtMs)}</span>
    </div>
  );
}

function HeaderTable({
  headers,
  left,
  right,
}: {
  readonly headers: readonly HeaderDifference[];
  readonly left: number;
  readonly right: number;
}) {
  return (
    <table className="w-full table-fixed text-left text-sm">
      <thead className="text-ink-soft">
        <tr className="border-b">
          <th scope="col" className="py-1 pr-3 font-semibold">
            Name
          </th>
          <th scope="col" className="py-1 pr-3 font-semibold">
            #{left}
          </th>
          <th scope="col" className="py-1 font-semibold">
            #{right}
          </th>
        </tr>
      </thead>
      <tbody className="font-mono">
        {headers.map((header) => (
          <tr key={header.name} className="border-b align-top last:border-b-0">
            <th scope="row" className="py-1 pr-3 font-normal wrap-anywhere text-ink-soft">
              {header.name}
            </th>
            <td className="py-1 pr-3 wrap-anywhere">{valuesOf(header.left)}</td>
            <td className="py-1 wrap-anywhere">{valuesOf(header.right)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const valuesOf = (values: HeaderDifference['left']): ReactNode =>
  values.length === 0 ? (
    <span className="font-sans text-ink-faint">none</span>
  ) : (
    values.map((value) => value ?? '••••••••').join(', ')
  );

/** More lines than this help nobody, and slow the page. */
const mostLines = 400;
const signs = { left: '-', right: '+', both: ' ', folded: ' ' } as const;
const words = { left: 'Removed: ', right: 'Added: ', both: '', folded: '' } as const;

function Lines({ parts }: { readonly parts: readonly DiffPart[] }) {
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach a scrolling area (WCAG 2.1.1).
      tabIndex={0}
      aria-label="Difference of the bodies"
      className="max-h-[32rem] overflow-auto rounded-md border bg-sunken py-2 font-mono text-sm"
    >
      {parts.slice(0, mostLines).map((part, at) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no key but their place.
          key={at}
          className={clsx(
            'flex gap-2 px-3',
            part.side === 'left' && 'bg-danger-soft text-danger',
            part.side === 'right' && 'bg-ok-soft text-ok',
            part.side === 'folded' && 'text-ink-faint',
          )}
        >
          <span aria-hidden="true">{signs[part.side]}</span>
          <span className="sr-only">{words[part.side]}</span>
          <span className="min-w-0 wrap-anywhere whitespace-pre-wrap">
            {part.side === 'folded' ? countOf(part.count, 'equal line') : part.text}
          </span>
        </div>
      ))}
      {parts.length > mostLines && <p className="px-3 text-ink-soft">{countOf(parts.length - mostLines, 'more line')}</p>}
    </section>
  );
}
