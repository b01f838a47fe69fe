// The tunnels of a project (spec 2, Tunnels list).
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { askedOf } from '@underpass/rules/list/list-address.ts';
import { findShown, type ListPage, searchWords, tunnelList } from '@underpass/rules/list/list-page.ts';
import { may } from '@underpass/rules/people/permission.ts';
import { text } from '@underpass/rules/text/text.ts';
import { tcpHostPort } from '@underpass/rules/tunnel/tcp-address.ts';
import { conditionOf } from '@underpass/rules/tunnel/tunnel-condition.ts';
import { temporaryLabel } from '@underpass/rules/tunnel/tunnel-expiry.ts';
import { tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import { useMemo } from 'react';
import { type LoaderFunctionArgs, useLoaderData, useRevalidator } from 'react-router';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { listTunnelPage } from '../../api/tunnels.ts';
import { useListAddress } from '../../list/list-address.ts';
import { PagedTable } from '../../list/paged-table.tsx';
import { useListChanges, useLiveTunnels } from '../../live/live-tunnels.tsx';
import { newTunnelParam } from '../../routing/paths.ts';
import { useLinkedPanel } from '../../routing/use-linked-panel.ts';
import { MayNot } from '../../session/may-not.tsx';
import { useProject } from '../../session/session.ts';
import { AddButton } from '../../ui/add-button.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { NoTunnelsIllustration } from '../../ui/illustrations/no-tunnels.tsx';
import { lazyOverlay } from '../../ui/lazy-part.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { openColumn } from '../../ui/table/columns.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { ConditionNote, isToldByNote, LiveStatusBadge } from './status-badge.tsx';

const NewTunnelPanel = lazyOverlay('The form', () =>
  import('./new-tunnel-panel.tsx').then(({ NewTunnelPanel }) => NewTunnelPanel),
);

export function loader({ params, request }: LoaderFunctionArgs) {
  const asked = askedOf(new URL(request.url).searchParams, tunnelList);
  return { page: later(listTunnelPage(params.projectID!, asked, request.signal)) };
}

export function Component() {
  const { page } = useLoaderData<typeof loader>();
  const { revalidate } = useRevalidator();
  useListChanges(revalidate);
  const project = useProject();
  const mayCreate = may(project.role, 'tunnel.create');
  const { isOpen, setOpen } = useLinkedPanel(newTunnelParam);
  const add = mayCreate && <AddButton onClick={() => setOpen(true)}>{text.tunnels.add}</AddButton>;
  return (
    <>
      <PageHeader wide title={text.tunnels.title} subtitle={text.tunnels.subtitle} actions={add} />
      {!mayCreate && isOpen && <MayNot action="tunnel.create" />}
      <Load promise={page} isKept>
        {(loaded) => <TunnelList page={loaded} add={add} />}
      </Load>
      {mayCreate && <NewTunnelPanel project={project} open={isOpen} onOpenChange={setOpen} />}
    </>
  );
}

interface TunnelListProps {
  readonly page: ListPage<Tunnel>;
  readonly add: React.ReactNode;
}

function TunnelList({ page, add }: TunnelListProps) {
  const rows = useLiveTunnels(page.rows);
  const { q, isNarrowed } = useListAddress(tunnelList);
  const columns = useMemo(() => columnsOf(searchWords(q)), [q]);
  if (page.total === 0 && !isNarrowed) {
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
    <PagedTable
      label={text.tunnels.title}
      columns={columns}
      page={{ ...page, rows }}
      rules={tunnelList}
      rowKey={(tunnel) => tunnel.name}
      rowTo={(tunnel) => encodeURIComponent(tunnel.name)}
      noun="tunnels"
    />
  );
}

/** `words`: of the search. */
const columnsOf = (words: readonly string[]): readonly Column<Tunnel>[] => [
  { key: 'name', header: 'Name', width: 'minmax(0, 1.4fr)', cell: (tunnel) => <Name tunnel={tunnel} /> },
  { key: 'type', header: 'Type', width: 'minmax(0, 0.8fr)', card: 'end', cell: ({ type }) => tunnelTypes[type].label },
  {
    key: 'region',
    header: 'Region',
    width: 'minmax(0, 0.9fr)',
    card: 'hidden',
    cell: (tunnel) => tunnel.regionDescription || tunnel.region,
  },
  {
    key: 'domains',
    header: 'Domains',
    width: 'minmax(0, 2fr)',
    card: 'below',
    cell: (tunnel) => <Domains tunnel={tunnel} words={words} />,
  },
  { key: 'status', header: 'Status', width: '8.75rem', card: 'beside', cell: (tunnel) => <Status tunnel={tunnel} /> },
  openColumn,
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

function Status({ tunnel }: { readonly tunnel: Tunnel }) {
  return (
    <span className="inline-grid justify-items-start gap-0.5 cards:justify-items-end">
      <LiveStatusBadge tunnel={tunnel} />
      {/* A card of a phone has no room for it. */}
      {conditionOf(tunnel) !== 'working' && (
        <span className={isToldByNote(tunnel) ? undefined : 'cards:hidden'}>
          <ConditionNote tunnel={tunnel} />
        </span>
      )}
    </span>
  );
}

interface DomainsProps {
  readonly tunnel: Tunnel;
  readonly words: readonly string[];
}

/** The first domain that the search found, else the first. The tunnel's page shows all. */
function Domains({ tunnel, words }: DomainsProps) {
  const { ingressDomains } = tunnel;
  const hostPort = tcpHostPort(tunnel);
  if (hostPort !== null)
    return (
      <span className="font-mono text-sm">
        <Breakable text={hostPort} />
      </span>
    );
  const names = ingressDomains.map(({ name }) => name);
  const shown = findShown(names, words);
  if (shown === undefined) return <span className="text-sm text-ink-faint">{text.tunnels.noIngressDomains}</span>;
  const more = names.length - 1;
  return (
    <>
      <span className="font-mono text-sm">
        <Breakable text={shown} />
      </span>
      {more > 0 && <span className="text-sm text-ink-faint"> and {more} more</span>}
    </>
  );
}
