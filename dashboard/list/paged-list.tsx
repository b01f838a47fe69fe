// A long list as the main part of a page: loads one page of the list, and explains a list that has no row at all.
import type { ListPage } from '@underpass/rules/list/list-page.ts';
import type { ReactNode } from 'react';
import { Load } from '../api/load.tsx';
import { useListAddress } from './list-address.ts';
import { PagedTable, type PagedTableProps } from './paged-table.tsx';

interface PagedListProps<Row> extends Omit<PagedTableProps<Row>, 'page'> {
  readonly promise: Promise<ListPage<Row>>;
  /** Stands in for the table of an empty list. */
  readonly empty: ReactNode;
}

export function PagedList<Row>({ promise, empty, ...table }: PagedListProps<Row>) {
  const { isNarrowed } = useListAddress(table.rules);
  return (
    <Load promise={promise} isKept>
      {(page) => (page.total === 0 && !isNarrowed ? empty : <PagedTable {...table} page={page} />)}
    </Load>
  );
}
