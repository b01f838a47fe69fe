// The operators' first screen: what in the service needs them, the regions with their edges, and the other parts.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import type { ServiceOverview, StatusRow } from '@underpass/rules/entity/resource.ts';
import {
  describeEdges,
  describeServiceItem,
  nameOfPart,
  type ServiceItem,
  type ServicePart,
  serviceKinds,
} from '@underpass/rules/tunnel/service-attention.ts';
import { type LoaderFunctionArgs, useLoaderData, useRevalidator } from 'react-router';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { callApi } from '../../api/request.ts';
import { every, useAgain } from '../../api/use-again.ts';
import { type OperatorPage, paths } from '../../routing/paths.ts';
import { AttentionList, CalmLine } from '../../ui/attention-list.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { Card } from '../../ui/card.tsx';
import { DateTime, TimeAgo } from '../../ui/date/date-time.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { LoadingArea } from '../../ui/spinner.tsx';
import { RegionsCard } from './regions-card.tsx';

const refreshes = every(10_000);

export const loader = ({ request }: LoaderFunctionArgs) => ({
  overview: later(callApi(operatorCalls.getServiceOverview, {}, { signal: request.signal })),
});

export function Component() {
  const { overview } = useLoaderData<typeof loader>();
  useAgain(useRevalidator().revalidate, refreshes);
  return (
    <div data-full-width>
      <PageHeader title="Service overview" subtitle="How the whole service stands." />
      <Load promise={overview} fallback={<LoadingArea className="min-h-[32rem]" />}>
        {(loaded) => <OverviewView overview={loaded} />}
      </Load>
    </div>
  );
}

function OverviewView({ overview }: { readonly overview: ServiceOverview }) {
  return (
    <div className="grid gap-6">
      <Attention overview={overview} />
      <div className="grid items-start gap-6 xl:grid-cols-3">
        <RegionsCard overview={overview} className="xl:col-span-2" />
        <PartsCard parts={overview.parts} />
      </div>
    </div>
  );
}

function Attention({ overview: { attention, moreAttention, edges, connectedEdges } }: { readonly overview: ServiceOverview }) {
  const sentence = describeEdges(connectedEdges, edges);
  if (attention.length === 0)
    return <CalmLine sentence={`All is well. ${sentence} Nothing waits.`} isServing={connectedEdges > 0} />;
  const entries = attention.map((item) => ({
    ...describeServiceItem(item),
    key: keyOf(item),
    tone: serviceKinds[item.kind].tone,
    when: item.since && <TimeAgo at={item.since} className="text-sm whitespace-nowrap text-ink-faint" />,
    to: placeOf(item),
  }));
  return <AttentionList sentence={sentence} entries={entries} more={moreAttention} />;
}

const keyOf = ({ kind, part, name }: ServiceItem): string => [kind, part, name].join(' ');

/** What is mended on its own machine has no page. */
const pageOfPart: Readonly<Partial<Record<ServicePart, OperatorPage>>> = {
  edge: 'edges',
  copy: 'edges',
  region: 'regions',
  certificate: 'regions',
};

/** Where it is mended. */
function placeOf({ kind, part = 'control' }: ServiceItem): string | undefined {
  switch (kind) {
    case 'registrations-waiting':
      return paths.operator('registrations');
    case 'abuse-open':
      return paths.operator('abuse-reports');
    case 'edge-behind':
      return paths.operator('edges');
    case 'part-failing': {
      const page = pageOfPart[part];
      return page && paths.operator(page);
    }
  }
}

/** The others changed when they began to stand as they do. */
const isMade: ReadonlySet<ServicePart> = new Set(['backup']);

function PartsCard({ parts }: { readonly parts: readonly StatusRow[] }) {
  const sorted = parts.toSorted((one, other) => Number(one.ok) - Number(other.ok));
  return (
    <Card title="Parts" flush>
      <ul className="border-t">
        {sorted.map((row) => (
          <Part key={`${row.part} ${row.name}`} row={row} />
        ))}
      </ul>
    </Card>
  );
}

function Part({ row: { part, name, ok, state, since } }: { readonly row: StatusRow }) {
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-x-4 gap-y-0.5 border-b px-4 py-3 last:border-b-0 sm:px-5">
      <span className="min-w-0">
        <span className="block font-semibold wrap-anywhere">
          <Breakable text={nameOfPart(part, name)} />
        </span>
        <span className="block text-sm text-ink-soft">
          {state}
          {since !== null && (
            <>
              {isMade.has(part) ? ' at ' : ' since '}
              <DateTime at={since} style="short" />
            </>
          )}
        </span>
      </span>
      <Badge tone={ok ? 'ok' : 'danger'} dot={ok ? 'filled' : 'cross'}>
        {ok ? 'OK' : 'Failing'}
      </Badge>
    </li>
  );
}
