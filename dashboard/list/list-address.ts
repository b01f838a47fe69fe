// What a long list shows is in the address: search, status, order and page. So Back, a reload and a link show the same rows.
import { askedOf } from '@underpass/rules/list/list-address.ts';
import type { ListRules } from '@underpass/rules/list/list-page.ts';
import { useSearchParams } from 'react-router';
import { nextSort, type Sort } from '../ui/table/table-rows.ts';

export interface ListAddress {
  readonly q: string;
  readonly status: string | undefined;
  readonly sort: Sort;
  /** The address asks for less than the whole list, so that no rows need not mean an empty list. */
  readonly isNarrowed: boolean;
  /** Each goes back to the first page. */
  readonly setQ: (q: string) => void;
  readonly setStatus: (status: string | undefined) => void;
  readonly sortBy: (key: string) => void;
  readonly clear: () => void;
  /** The address of another page; without a cursor: the first. */
  readonly pageSearch: (cursor?: { readonly after: string } | { readonly before: string }) => string;
}

/** Marks a change of the address by typing: the search field already shows it. */
export const typedState = 'typed';

const first = { after: undefined, before: undefined };

export function useListAddress(rules: ListRules): ListAddress {
  const [search, setSearch] = useSearchParams();
  const { q = '', status, sort: asked = '', after, before } = askedOf(search, rules);
  const sort: Sort = { key: asked.replace('-', ''), direction: asked.startsWith('-') ? 'descending' : 'ascending' };
  // Of the address, because a change may follow before the page has shown the one before.
  const change = (changes: Readonly<Record<string, string | undefined>>, state?: string) =>
    setSearch(changed(new URLSearchParams(location.search), { ...changes, ...first }), {
      replace: true,
      preventScrollReset: true,
      state,
    });
  const sortBy = (key: string) => {
    const next = nextSort(sort, key);
    change({ sort: next.direction === 'descending' ? `-${key}` : key });
  };
  return {
    q,
    status,
    sort,
    isNarrowed: q !== '' || status !== undefined || after !== undefined || before !== undefined,
    setQ: (next) => change({ q: next }, typedState),
    setStatus: (next) => change({ status: next }),
    sortBy,
    clear: () => change({ q: undefined, status: undefined }),
    pageSearch: (cursor) => `?${changed(search, { ...first, ...cursor })}`,
  };
}

function changed(search: URLSearchParams, changes: Readonly<Record<string, string | undefined>>): URLSearchParams {
  const next = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  return next;
}
