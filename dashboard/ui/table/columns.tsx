// Columns that many tables have.
import { neverLabel } from '@underpass/rules/text/date.ts';
import { ChevronRight } from 'lucide-react';
import type { ReactNode } from 'react';
import { Badge, type Tone } from '../badge.tsx';
import { Breakable } from '../breakable.tsx';
import { DateTime, dateWidth } from '../date/date-time.tsx';
import type { Column } from './table-view.tsx';

/** The names of the rows. */
export function nameColumn<Row extends { readonly name: string }>(header: string, width: string): Column<Row> {
  const nameOf = ({ name }: Row) => name;
  return { key: 'name', header, width, cell: (row) => <span className="font-semibold">{nameOf(row)}</span>, sortBy: nameOf };
}

/** Texts that may break anywhere, such as addresses of people. */
export function textColumn<Row>(key: string, header: string, width: string, textOf: (row: Row) => string): Column<Row> {
  return { key, header, width, cell: (row) => <Breakable text={textOf(row)} />, sortBy: textOf };
}

/** Texts of that kind which name the rows. */
export function titleColumn<Row>(key: string, header: string, width: string, textOf: (row: Row) => string): Column<Row> {
  const { cell, ...column } = textColumn(key, header, width, textOf);
  return { ...column, cell: (row) => <span className="font-semibold">{cell(row)}</span> };
}

/** Numbers. */
export function countColumn<Row>(key: string, header: string, width: string, countOf: (row: Row) => number): Column<Row> {
  return { key, header, width, cell: (row) => <span className="tabular">{countOf(row)}</span>, sortBy: countOf };
}

/** Figures as texts, which no table sorts itself. */
export function figureColumn<Row>(key: string, header: string, width: string, textOf: (row: Row) => ReactNode): Column<Row> {
  return { key, header, width, cell: (row) => <span className="tabular">{textOf(row)}</span> };
}

/** One of a few states or kinds. */
export function badgeColumn<Row>(
  key: string,
  header: string,
  width: string,
  badgeOf: (row: Row) => readonly [label: string, tone?: Tone],
): Column<Row> {
  return {
    ...{ key, header, width },
    cell: (row) => {
      const [label, tone] = badgeOf(row);
      return <Badge {...(tone && { tone })}>{label}</Badge>;
    },
  };
}

/** Dates to sort by. `never` says where rows without one sort, and that they show it. */
export function dateColumn<Row>(
  key: string,
  header: string,
  dateOf: (row: Row) => string | null,
  never?: 'first' | 'last',
): Column<Row> {
  return {
    key,
    header,
    width: dateWidth,
    cell: (row) => {
      const at = dateOf(row);
      if (at) return <DateTime at={at} style="short" />;
      return never ? <span className="text-ink-faint">{neverLabel}</span> : null;
    },
    sortBy: (row) => dateOf(row) ?? (never === 'last' ? '9999' : ''),
  };
}

/** The last column of a table whose rows open a page. */
export const openColumn: Column<unknown> = {
  key: 'details',
  header: 'Details',
  width: '3.5rem',
  align: 'end',
  card: 'hidden',
  cell: () => <ChevronRight aria-label="Open" className="inline size-4 text-ink-faint" />,
};

/** The last column: a button for the row. Only screen readers get its header. */
export function buttonColumn<Row>(header: string, width: string, cell: (row: Row) => ReactNode): Column<Row> {
  return { key: 'button', header, hideHeader: true, width, align: 'end', cell };
}

/** The same with a menu, which cards show in their corner. */
export function menuColumn<Row>(cell: (row: Row) => ReactNode): Column<Row> {
  return { ...buttonColumn('Actions', '3rem', cell), card: 'corner' };
}
