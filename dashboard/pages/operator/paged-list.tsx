// The pages of a long operator list: control tells so many rows, and the address keeps where they begin.
import { limits } from '@underpass/rules/limits.ts';
import type { ReactNode } from 'react';
import { useSearchParams } from 'react-router';
import { ButtonLink } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { Load } from '../../ui/load.tsx';

/** What the loader of the same page asks control for. */
export const beforeOf = (request: Request): string | undefined => new URL(request.url).searchParams.get('before') || undefined;

export interface PagedListProps<Row> {
  readonly promise: Promise<readonly Row[]>;
  readonly children: (rows: readonly Row[]) => ReactNode;
}

export function PagedList<Row extends { readonly id: string }>({ promise, children }: PagedListProps<Row>) {
  const [search] = useSearchParams();
  return (
    <Load promise={promise}>
      {(rows) => (
        <>
          {/* What a list says that is empty would not be true of its end. */}
          {rows.length === 0 && search.has('before') ? (
            <EmptyState title="Nothing Older" text="The list ends here." />
          ) : (
            children(rows)
          )}
          <PageLinks rows={rows} />
        </>
      )}
    </Load>
  );
}

/** Nothing where one page has all the rows. */
function PageLinks({ rows }: { readonly rows: readonly { readonly id: string }[] }) {
  const [search] = useSearchParams();
  const last = rows.length >= limits.operatorPageRows ? rows.at(-1) : undefined;
  if (!last && !search.has('before')) return null;
  return (
    <nav aria-label="Pages" className="mt-4 flex justify-center gap-2">
      {search.has('before') && <ButtonLink to={`?${withBefore(search)}`}>Newest</ButtonLink>}
      {last && <ButtonLink to={`?${withBefore(search, last.id)}`}>Older</ButtonLink>}
    </nav>
  );
}

function withBefore(search: URLSearchParams, before?: string): URLSearchParams {
  const next = new URLSearchParams(search);
  next.delete('before');
  if (before !== undefined) next.set('before', before);
  return next;
}
