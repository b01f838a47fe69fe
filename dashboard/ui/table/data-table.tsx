// A table that has all its rows: the browser searches and sorts them. paged-table.tsx is for lists that grow long.
import { useMemo, useState } from 'react';
import { ListToolbar, SearchField, searchFromRows } from './list-toolbar.tsx';
import { nextSort, type Sort, selectRows } from './table-rows.ts';
import { type TableProps, TableView } from './table-view.tsx';

export interface DataTableProps<Row> extends TableProps<Row> {
  readonly rows: readonly Row[];
  /** The text of a row to search in. Without it there is no search. */
  readonly searchText?: (row: Row) => string;
  readonly initialSort?: Sort;
}

export function DataTable<Row>({ rows, searchText, initialSort, ...table }: DataTableProps<Row>) {
  const { columns, noun = 'rows', bare } = table;
  const [query, setQuery] = useState('');
  const [sort, setSort] = useState<Sort | undefined>(initialSort);
  const shown = useMemo(
    () => selectRows(rows, { query, searchText, sort, sortBy: columns.find((c) => c.key === sort?.key)?.sortBy }),
    [rows, query, searchText, sort, columns],
  );
  const searchable = searchText !== undefined && (rows.length >= searchFromRows || query !== '');
  const counted = `${shown.length === rows.length ? '' : `${shown.length} of `}${rows.length} ${noun}`;
  return (
    <TableView
      {...table}
      rows={shown}
      sort={sort}
      canSort={({ sortBy }) => sortBy !== undefined}
      onSort={(key) => setSort(nextSort(sort, key))}
      toolbar={
        searchable && (
          <ListToolbar counted={counted} bare={bare}>
            <SearchField label={`Search ${noun}`} value={query} onChange={setQuery} />
          </ListToolbar>
        )
      }
      nothing={`No ${noun} match “${query}”.`}
    />
  );
}
