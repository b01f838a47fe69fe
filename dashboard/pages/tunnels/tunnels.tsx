// The tunnels of a project (spec 2, Tunnels list).
import type { Tunnel } from '@underpass/rules/entity.ts';
import { may } from '@underpass/rules/permission.ts';
import { text } from '@underpass/rules/text.ts';
import { temporaryLabel } from '@underpass/rules/tunnel-expiry.ts';
import { decideDisplayStatus } from '@underpass/rules/tunnel-status.ts';
import { tunnelTypes } from '@underpass/rules/tunnel-type.ts';
import { ChevronRight, Plus } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { type LoaderFunctionArgs, useLoaderData, useLocation, useNavigate, useSearchParams } from 'react-router';
import { later } from '../../api/later.ts';
import { listTunnels } from '../../api/tunnels.ts';
import { useLiveTunnels } from '../../live/live-tunnels.tsx';
import { newTunnelParam } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { Button } from '../../ui/button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { NoTunnelsIllustration } from '../../ui/illustrations/no-tunnels.tsx';
import { Load } from '../../ui/load.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { NewTunnelPanel } from './new-tunnel-panel.tsx';
import { LiveStatusBadge } from './status-badge.tsx';

export function loader({ params, request }: LoaderFunctionArgs) {
  return { tunnels: later(listTunnels(params.projectID!, request.signal)) };
}

export function Component() {
  const { tunnels } = useLoaderData<typeof loader>();
  const project = useProject();
  const [search] = useSearchParams();
  const mayCreate = may(project.role, 'tunnel.create');
  const setOpen = useNewTunnelParam();
  const add = mayCreate && (
    <Button variant="primary" icon={<Plus aria-hidden="true" />} onClick={() => setOpen(true)}>
      {text.tunnels.add}
    </Button>
  );
  return (
    <>
      <PageHeader title={text.tunnels.title} subtitle={text.tunnels.subtitle} actions={add} />
      <Load promise={tunnels}>{(loaded) => <TunnelList tunnels={loaded} add={add} />}</Load>
      {mayCreate && <NewTunnelPanel project={project} open={search.has(newTunnelParam)} onOpenChange={setOpen} />}
    </>
  );
}

const OPENED_HERE = 'opened-here';

/** Opening the panel adds a history entry: Back closes it, and closing it goes back. A link to the open panel adds no entry. */
function useNewTunnelParam(): (open: boolean) => void {
  const [, setSearch] = useSearchParams();
  const { state, key } = useLocation();
  const navigate = useNavigate();
  // Going back takes a moment: a second Escape in that time must not go back twice.
  const isLeaving = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new key means that the step back is done.
  useEffect(() => {
    isLeaving.current = false;
  }, [key]);
  return (open) => {
    if (open) setSearch({ [newTunnelParam]: '' }, { state: OPENED_HERE, preventScrollReset: true });
    else if (state !== OPENED_HERE) setSearch({}, { replace: true, preventScrollReset: true });
    else if (!isLeaving.current) {
      isLeaving.current = true;
      navigate(-1);
    }
  };
}

function TunnelList({ tunnels, add }: { readonly tunnels: readonly Tunnel[]; readonly add: React.ReactNode }) {
  const live = useLiveTunnels(tunnels);
  if (live.length === 0) {
    return (
      <EmptyState
        title={text.tunnels.emptyTitle}
        text={text.tunnels.empty}
        action={add}
        illustration={<NoTunnelsIllustration />}
      />
    );
  }
  return (
    <DataTable
      label={text.tunnels.title}
      columns={columns}
      rows={live}
      rowKey={(tunnel) => tunnel.name}
      rowTo={(tunnel) => encodeURIComponent(tunnel.name)}
      searchText={searchText}
      noun="tunnels"
      initialSort={{ key: 'name', direction: 'ascending' }}
    />
  );
}

const searchText = (tunnel: Tunnel) =>
  [
    tunnel.name,
    tunnel.type,
    tunnel.region,
    tunnel.regionDescription,
    decideDisplayStatus(tunnel),
    tunnel.expiresAt === undefined ? '' : temporaryLabel,
    ...tunnel.ingressDomains.map(({ name }) => name),
  ].join(' ');

const columns: readonly Column<Tunnel>[] = [
  {
    key: 'name',
    header: 'Name',
    width: 'minmax(0, 1.4fr)',
    cell: (tunnel) => <Name tunnel={tunnel} />,
    sortBy: (tunnel) => tunnel.name,
  },
  {
    key: 'type',
    header: 'Type',
    width: 'minmax(0, 0.8fr)',
    cell: (tunnel) => tunnelTypes[tunnel.type].label,
    sortBy: (tunnel) => tunnel.type,
  },
  {
    key: 'region',
    header: 'Region',
    width: 'minmax(0, 0.9fr)',
    cell: (tunnel) => tunnel.regionDescription || tunnel.region,
    sortBy: (tunnel) => tunnel.region,
  },
  {
    key: 'domains',
    header: 'Domains',
    width: 'minmax(0, 2fr)',
    cell: (tunnel) => <Domains tunnel={tunnel} />,
    sortBy: (tunnel) => tunnel.ingressDomains[0]?.name ?? '',
  },
  {
    key: 'status',
    header: 'Status',
    width: '8.5rem',
    cell: (tunnel) => <LiveStatusBadge tunnel={tunnel} />,
    sortBy: decideDisplayStatus,
  },
  {
    key: 'details',
    header: 'Details',
    width: '3.5rem',
    align: 'end',
    wideOnly: true,
    cell: () => <ChevronRight aria-label="Open" className="inline size-4 text-ink-faint" />,
  },
];

function Name({ tunnel }: { readonly tunnel: Tunnel }) {
  if (tunnel.expiresAt === undefined) return tunnel.name;
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
      {tunnel.name}
      <Badge tone="warn">{temporaryLabel}</Badge>
    </span>
  );
}

/** The tunnel's page shows the whole list. */
const SHOWN_DOMAINS = 2;

function Domains({ tunnel }: { readonly tunnel: Tunnel }) {
  const { ingressDomains } = tunnel;
  if (ingressDomains.length === 0) return <span className="text-ink-faint">{text.tunnels.noIngressDomains}</span>;
  const more = ingressDomains.length - SHOWN_DOMAINS;
  return (
    <ul className="text-sm">
      {ingressDomains.slice(0, SHOWN_DOMAINS).map(({ name }) => (
        <li key={name} className="font-mono">
          <Breakable text={name} />
        </li>
      ))}
      {more > 0 && <li className="text-ink-faint">and {more} more</li>}
    </ul>
  );
}
