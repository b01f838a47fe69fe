// The regions on the operators' first screen, failing ones first, each with its edges.
import type { EdgeHealth, ServiceOverview, ServiceRegion } from '@underpass/rules/entity/resource.ts';
import { counted } from '@underpass/rules/text/counted.ts';
import { Link } from 'react-router';
import { paths } from '../../routing/paths.ts';
import { Badge } from '../../ui/badge.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { Card } from '../../ui/card.tsx';
import { TimeAgo, TimeSpan } from '../../ui/date/date-time.tsx';
import { EdgeState } from './edge-state.tsx';

interface RegionsCardProps {
  readonly overview: Pick<ServiceOverview, 'regions' | 'totalRegions'>;
  readonly className: string;
}

export function RegionsCard({ overview: { regions, totalRegions }, className }: RegionsCardProps) {
  const all = (
    <Link to={paths.operator('regions')} className="text-sm font-semibold text-accent-ink underline underline-offset-4">
      {totalRegions > regions.length ? `All ${counted(totalRegions, 'region')}` : 'All regions'}
    </Link>
  );
  return (
    <Card title="Regions" actions={all} flush className={`@container ${className}`}>
      {totalRegions === 0 && <p className="border-t px-4 py-3 text-sm text-ink-soft sm:px-5">There is no region yet.</p>}
      <ul>
        {regions.map((region) => (
          <Region key={region.name} region={region} />
        ))}
      </ul>
    </Card>
  );
}

function Region({ region }: { readonly region: ServiceRegion }) {
  const { name, description, available, edges, totalEdges, connectedEdges, clients } = region;
  const isDark = connectedEdges === 0;
  return (
    <li className="border-t px-4 py-3 sm:px-5">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h3 className="min-w-0 font-semibold wrap-anywhere">{description}</h3>
        <span className="font-mono text-sm text-ink-soft wrap-anywhere">{name}</span>
        {!available && <Badge>Closed</Badge>}
        {isDark && (
          <Badge tone="danger" dot="cross">
            No edge
          </Badge>
        )}
        <span className="ml-auto text-sm text-ink-soft">
          {`${connectedEdges} of ${counted(totalEdges, 'edge')}, ${counted(clients, 'client')}`}
        </span>
      </div>
      <ul className="mt-2 grid gap-2">
        {edges.map((edge) => (
          <Edge key={edge.id} edge={edge} />
        ))}
      </ul>
      {totalEdges > edges.length && (
        <Link
          to={paths.operator('edges')}
          className="mt-2 inline-block text-sm font-semibold text-accent-ink underline underline-offset-4"
        >
          {`And ${counted(totalEdges - edges.length, 'more edge')}`}
        </Link>
      )}
    </li>
  );
}

function Edge({ edge }: { readonly edge: EdgeHealth }) {
  const { id, version, connected, since, lastSeenAt } = edge;
  return (
    <li className="grid gap-x-4 gap-y-1 text-sm @2xl:grid-cols-[minmax(0,1fr)_9rem_minmax(0,1fr)] @2xl:items-center">
      <span className="min-w-0 font-mono wrap-anywhere">
        <Breakable text={id} />
      </span>
      <EdgeState edge={edge} />
      <span className="min-w-0 text-ink-soft wrap-anywhere">
        {connected ? (
          <>
            Connected <TimeSpan at={since} />
          </>
        ) : (
          <>
            Last seen <TimeAgo at={lastSeenAt} />
          </>
        )}
        {', '}
        <Breakable text={version} />
      </span>
    </li>
  );
}
