// Columns that many tables have.
import { neverLabel } from '@underpass/rules/text/date.ts';
import type { ReactNode } from 'react';
import { DateTime, dateWidth } from '../date-time.tsx';
import type { Column } from './table-view.tsx';

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
      return at ? <DateTime at={at} style="short" /> : <span className="text-ink-faint">{never && neverLabel}</span>;
    },
    sortBy: (row) => dateOf(row) ?? (never === 'last' ? '9999' : ''),
  };
}

/** The last column: a button for the row. Only screen readers get its header. */
export function buttonColumn<Row>(header: string, width: string, cell: (row: Row) => ReactNode): Column<Row> {
  return { key: 'button', header, hideHeader: true, width, align: 'end', cell };
}

/** The same with a menu, which cards show in their corner. */
export function menuColumn<Row>(cell: (row: Row) => ReactNode): Column<Row> {
  return { ...buttonColumn('Actions', '3rem', cell), card: 'corner' };
}
