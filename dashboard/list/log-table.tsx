// A table for a log, newest entries first: the server searches, filters and pages; the address says what. A log may have millions
// of entries, so the server does not count them, and they have no other order.
import type { ListRules } from '@underpass/rules/list/list-page.ts';
import { SearchField } from '../ui/table/list-toolbar.tsx';
import { type TableProps, TableView } from '../ui/table/table-view.tsx';
import { useListAddress } from './list-address.ts';
import { PageLinks } from './paged-table.tsx';
import { useTyped } from './use-typed.ts';

/** A page as the calls answer it: `next` has older entries. */
export interface LogPage<Entry> {
  readonly entries: readonly Entry[];
  readonly next: string | null;
  readonly previous?: string | null;
}

interface LogTableProps<Entry> extends Omit<TableProps<Entry>, 'rowKey'> {
  readonly page: LogPage<Entry>;
}

const rules: ListRules = { statuses: [], sorts: [] };

export function LogTable<Entry extends { readonly id: string }>({ page, ...table }: LogTableProps<Entry>) {
  const address = useListAddress(rules);
  const { entries, next, previous = null } = page;
  return (
    <div>
      <TableView {...table} rows={entries} rowKey={({ id }) => id} sort={undefined} canSort={() => false} onSort={() => {}} />
      <PageLinks address={address} next={next} previous={previous} />
    </div>
  );
}

export function LogSearch({ label }: { readonly label: string }) {
  const { q, setQ } = useListAddress(rules);
  const [typed, setTyped] = useTyped(q, setQ);
  return <SearchField label={label} value={typed} onChange={setTyped} />;
}
