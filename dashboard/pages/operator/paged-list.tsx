// The pages of a long operator list. Control sends one page of rows; the URL holds where it begins.
import { limits } from '@underpass/rules/limits.ts';
import type { ReactNode } from 'react';
import { useSearchParams } from 'react-router';
import { Load } from '../../api/load.tsx';
import { ButtonLink } from '../../ui/button-link.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';

/** Where the loader of the same page begins. */
export const beforeOf = (request: Request): string | undefined => new URL(request.url).searchParams.get('before') || undefined;

export interface PagedListProps<Row> {
  readonly promise: Promise<readonly Row[]>;
  /** `isWhole`: there is no other page, so the browser may sort. */
  readonly children: (rows: readonly Row[], isWhole: boolean) => ReactNode;
}

export function PagedList<Row extends { readonly id: string }>({ promise, children }: PagedListProps<Row>) {
  const [search] = useSearchParams();
  return (
    <Load promise={promise}>
      {(rows) => (
        <>
          {/* Rows exist on newer pages, so the list's own text for no rows would be wrong. */}
          {rows.length === 0 && search.has('before') ? (
            <EmptyState title="No Older Entries" text="This is the end of the list." />
          ) : (
            children(rows, rows.length < limits.operatorPageRows && !search.has('before'))
          )}
          <PageLinks rows={rows} />
        </>
      )}
    </Load>
  );
}

/** Shows nothing if one page holds all rows. */
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
