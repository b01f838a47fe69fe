// The edges of all regions and their state, reloaded every few seconds.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import type { EdgeHealth } from '@underpass/rules/entity/resource.ts';
import { type LoaderFunctionArgs, useLoaderData, useRevalidator } from 'react-router';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { callApi } from '../../api/request.ts';
import { every, useAgain } from '../../api/use-again.ts';
import { Breakable } from '../../ui/breakable.tsx';
import { NothingHere } from '../../ui/nothing-here.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { countColumn, dateColumn } from '../../ui/table/columns.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { EdgeState, stateOf } from './edge-state.tsx';

const refreshes = every(10_000);

export const loader = ({ request }: LoaderFunctionArgs) => ({
  edges: later(callApi(operatorCalls.listEdges, {}, { signal: request.signal })),
});

export function Component() {
  const { edges } = useLoaderData<typeof loader>();
  useAgain(useRevalidator().revalidate, refreshes);
  return (
    <>
      <PageHeader wide title="Edges" subtitle="The servers that carry traffic, and whether they have the latest routes." />
      <Load promise={edges}>{(loaded) => <EdgeList edges={loaded} />}</Load>
    </>
  );
}

function EdgeList({ edges }: { readonly edges: readonly EdgeHealth[] }) {
  if (edges.length === 0) {
    return <NothingHere title="No Edges" text="An edge appears here once it connects with its region's key." />;
  }
  return (
    <DataTable
      label="Edges"
      wide
      columns={edgeColumns}
      rows={edges}
      rowKey={({ id }) => id}
      searchText={searchText}
      noun="edges"
    />
  );
}

const searchText = ({ id, region, version }: EdgeHealth) => `${id} ${region} ${version}`;

const edgeColumns: readonly Column<EdgeHealth>[] = [
  {
    key: 'id',
    header: 'Edge',
    width: 'minmax(0, 1.4fr)',
    cell: (edge) => <EdgeName edge={edge} />,
    sortBy: ({ id }) => id,
  },
  { key: 'region', header: 'Region', cell: ({ region }) => region, sortBy: ({ region }) => region },
  {
    key: 'state',
    header: 'State',
    width: '9rem',
    cell: (edge) => <EdgeState edge={edge} />,
    sortBy: (edge) => stateOf(edge).label,
  },
  countColumn('clients', 'Clients', '5.5rem', ({ clients }) => clients),
  dateColumn('since', 'Connected since', ({ since }) => since),
  dateColumn('seen', 'Last seen', ({ lastSeenAt }) => lastSeenAt),
];

function EdgeName({ edge: { id, version } }: { readonly edge: EdgeHealth }) {
  return (
    <span className="grid text-sm">
      <span className="font-mono">
        <Breakable text={id} />
      </span>
      <span className="text-ink-soft">
        <Breakable text={version} />
      </span>
    </span>
  );
}
