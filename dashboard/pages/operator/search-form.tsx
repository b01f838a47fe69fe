// The search of a long operator list. Control searches; the URL holds the query.
import { useSearchParams } from 'react-router';
import { typedState } from '../../list/list-address.ts';
import { useTyped } from '../../list/use-typed.ts';
import { SearchField } from '../../ui/table/list-toolbar.tsx';

/** The query for the loader of the same page. */
export const searchOf = (request: Request): string | undefined => new URL(request.url).searchParams.get('q') || undefined;

export function SearchForm({ label }: { readonly label: string }) {
  const [search, setSearch] = useSearchParams();
  const send = (q: string) => {
    const next = new URLSearchParams(search);
    next.delete('before');
    if (q === '') next.delete('q');
    else next.set('q', q);
    setSearch(next, { replace: true, preventScrollReset: true, state: typedState });
  };
  const [typed, setTyped] = useTyped(search.get('q') ?? '', send);
  return (
    <search>
      <SearchField label={label} value={typed} onChange={setTyped} />
    </search>
  );
}
