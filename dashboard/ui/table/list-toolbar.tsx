// The bar above a list: the search, the filter by status, and how many rows there are.
import { searchMostChars } from '@underpass/rules/list/list-page.ts';
import clsx from 'clsx';
import { Search } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Input } from '../input/input.tsx';

/** Shorter lists need no search. */
export const searchFromRows = 8;

interface ListToolbarProps {
  /** `12 tunnels` */
  readonly counted: string;
  readonly bare?: boolean | undefined;
  /** The filter by status shows the number too, so a phone leaves it out. */
  readonly hasFilter?: boolean;
  readonly children: ReactNode;
}

export function ListToolbar({ counted, bare, hasFilter = false, children }: ListToolbarProps) {
  return (
    <div className={clsx('flex flex-wrap items-center gap-x-4 gap-y-3', bare && 'px-4 pt-4 sm:px-5')}>
      {children}
      <p role="status" className={clsx('ml-auto text-sm text-ink-soft tabular', hasFilter && 'max-sm:sr-only')}>
        {counted}
      </p>
    </div>
  );
}

export interface SearchFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function SearchField({ label, value, onChange }: SearchFieldProps) {
  return (
    <div className="relative w-full sm:w-72">
      <Search aria-hidden="true" className="pointer-events-none absolute top-3 left-3 size-4 text-ink-faint" />
      <Input
        type="search"
        aria-label={label}
        placeholder={label}
        maxLength={searchMostChars}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className="pl-9"
      />
    </div>
  );
}

interface StatusFilterProps {
  readonly counts: Readonly<Record<string, number>>;
  /** undefined: all. */
  readonly value: string | undefined;
  readonly onChange: (status: string | undefined) => void;
}

type Counts = StatusFilterProps['counts'];

const withCommas = (count: number): string => count.toLocaleString('en-US');

const sumOf = (counts: Counts): number => Object.values(counts).reduce((sum, count) => sum + count, 0);

/** The highest number of each status since the list was opened. */
function useMost(counts: Counts): Counts {
  const [most, setMost] = useState(counts);
  if (Object.entries(counts).every(([status, count]) => count <= (most[status] ?? -1))) return most;
  const more = Object.fromEntries(Object.entries(counts).map(([status, count]) => [status, Math.max(count, most[status] ?? 0)]));
  setMost(more);
  return more;
}

/**
 * A status without rows has no button, unless it is chosen. A button that has shown stays, as wide as it was: a search moves none of
 * them.
 */
export function StatusFilter({ counts, value, onChange }: StatusFilterProps) {
  const most = useMost(counts);
  const shown = Object.entries(counts).filter(([status]) => most[status]! > 0 || status === value);
  const all = sumOf(counts);
  return (
    <fieldset aria-label="Status" className="flex min-w-0 flex-wrap gap-1">
      {[['All', all] as const, ...shown].map(([label, count], index) => {
        const status = index === 0 ? undefined : label;
        return (
          <button
            key={label}
            type="button"
            aria-pressed={status === value}
            onClick={() => onChange(status)}
            className="inline-flex h-8 items-center gap-1.5 rounded-md border border-transparent px-2 text-sm font-semibold text-ink-soft hover:bg-hover aria-pressed:border-edge/60 aria-pressed:bg-surface aria-pressed:text-ink"
          >
            {label}{' '}
            <span
              style={{ minWidth: `${withCommas(most[label] ?? sumOf(most)).length}ch` }}
              className="text-right font-normal text-ink-soft tabular"
            >
              {withCommas(count)}
            </span>
          </button>
        );
      })}
    </fieldset>
  );
}
