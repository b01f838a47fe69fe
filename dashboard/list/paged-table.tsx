// A table for a list that may be long: the server searches, filters, sorts and pages; the address says what (list-address.ts).
import type { ListPage, ListRules } from '@underpass/rules/list/list-page.ts';
import { Button } from '../ui/button.tsx';
import { ButtonLink } from '../ui/button-link.tsx';
import { ListToolbar, SearchField, StatusFilter, searchFromRows } from '../ui/table/list-toolbar.tsx';
import { type TableProps, TableView } from '../ui/table/table-view.tsx';
import { type ListAddress, useListAddress } from './list-address.ts';
import { useTyped } from './use-typed.ts';

export interface PagedTableProps<Row> extends TableProps<Row> {
  readonly page: ListPage<Row>;
  /** The columns with the names of its sorts can sort. */
  readonly rules: ListRules;
  readonly noun: string;
}

export function PagedTable<Row>({ page, rules, ...table }: PagedTableProps<Row>) {
  const address = useListAddress(rules);
  const { noun } = table;
  const asked = [address.q, address.status, address.sort.key, address.sort.direction].join(' ');
  return (
    <>
      <TableView
        {...table}
        rows={page.rows}
        asked={asked}
        sort={address.sort}
        canSort={({ key }) => rules.sorts.includes(key)}
        onSort={address.sortBy}
        toolbar={<PagedToolbar page={page} address={address} noun={noun} />}
        nothing={<Nothing address={address} noun={noun} />}
      />
      <PageLinks key={asked} address={address} next={page.next} previous={page.previous} />
    </>
  );
}

interface PagedToolbarProps {
  readonly page: ListPage<unknown>;
  readonly address: ListAddress;
  readonly noun: string;
}

function PagedToolbar({ page: { total, counts }, address, noun }: PagedToolbarProps) {
  const [typed, setTyped] = useTyped(address.q, address.setQ);
  if (total < searchFromRows && !address.isNarrowed && typed === '') return null;
  const hasFilter = Object.keys(counts).length > 0;
  const counted = `${total.toLocaleString('en-US')} ${total === 1 ? noun.replace(/s$/, '') : noun}`;
  return (
    <ListToolbar counted={counted} hasFilter={hasFilter}>
      <SearchField label={`Search ${noun}`} value={typed} onChange={setTyped} />
      {hasFilter && <StatusFilter counts={counts} value={address.status} onChange={address.setStatus} />}
    </ListToolbar>
  );
}

function Nothing({ address: { q, status, clear }, noun }: { readonly address: ListAddress; readonly noun: string }) {
  const sought = q === '' ? '' : ` “${q}”`;
  return (
    <span className="grid justify-items-center gap-3">
      {status === undefined ? `No ${noun} match${sought}.` : `No ${noun} with status ${status}${sought && ` match${sought}`}.`}
      <Button size="sm" onClick={clear}>
        Show all {noun}
      </Button>
    </span>
  );
}

interface PageLinksProps extends Pick<ListPage<unknown>, 'next' | 'previous'> {
  readonly address: ListAddress;
}

/** Shows nothing if one page has all rows. */
export function PageLinks({ address: { pageSearch }, next, previous }: PageLinksProps) {
  if (previous === null && next === null) return null;
  return (
    <nav aria-label="Pages" className="mt-4 flex flex-wrap justify-center gap-2">
      {previous && <ButtonLink to={pageSearch()}>First page</ButtonLink>}
      {previous !== null && <ButtonLink to={pageSearch({ before: previous })}>Previous page</ButtonLink>}
      {next !== null && <ButtonLink to={pageSearch({ after: next })}>Next page</ButtonLink>}
    </nav>
  );
}
