// Every tunnel of every project: the operator can suspend it.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { OperatorTunnel } from '@underpass/rules/entity/resource.ts';
import { askedOf } from '@underpass/rules/list/list-address.ts';
import { allTunnelList, type ListPage } from '@underpass/rules/list/list-page.ts';
import { temporaryLabel } from '@underpass/rules/tunnel/tunnel-expiry.ts';
import { decideDisplayStatus } from '@underpass/rules/tunnel/tunnel-status.ts';
import { tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { later } from '../../api/later.ts';
import { callApi, callPage } from '../../api/request.ts';
import { askColumn, type RowQuestion } from '../../form/ask-column.tsx';
import { type Confirm, useConfirm } from '../../form/use-confirm.tsx';
import { PagedList } from '../../list/paged-list.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { NothingHere } from '../../ui/nothing-here.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { TwoLines } from '../../ui/table/two-lines.tsx';
import { StatusBadge } from '../tunnels/status-badge.tsx';

export const loader = ({ request }: LoaderFunctionArgs) => ({ tunnels: later(readTunnels(request)) });

interface ShownTunnel extends OperatorTunnel {
  /** The region's description, or its name. */
  readonly regionLabel: string;
}

/** Shows region names if the regions fail to load. */
async function readTunnels(request: Request): Promise<ListPage<ShownTunnel>> {
  const asked = askedOf(new URL(request.url).searchParams, allTunnelList);
  const [page, regions] = await Promise.all([
    callPage(operatorCalls.listAllTunnels, asked, { signal: request.signal }),
    callApi(tunnelCalls.listRegions, {}, { signal: request.signal }).catch(() => []),
  ]);
  const descriptions = new Map(regions.map(({ name, description }) => [name, description]));
  const labelOf = ({ region }: OperatorTunnel) => descriptions.get(region) || region;
  return { ...page, rows: page.rows.map((tunnel) => ({ ...tunnel, regionLabel: labelOf(tunnel) })) };
}

export function Component() {
  const { tunnels } = useLoaderData<typeof loader>();
  const confirm = useConfirm();
  return (
    <>
      <PageHeader wide title="All tunnels" subtitle="Suspending a tunnel stops it within a minute. It stays in its project." />
      <PagedList
        promise={tunnels}
        empty={<NothingHere title="No Tunnels" text="The tunnels of all projects appear here." />}
        label="All tunnels"
        wide
        columns={columnsOf(confirm.ask)}
        rules={allTunnelList}
        rowKey={({ id }) => id}
        noun="tunnels"
      />
      {confirm.dialog}
    </>
  );
}

function columnsOf(ask: Confirm['ask']): readonly Column<ShownTunnel>[] {
  return [
    {
      key: 'name',
      header: 'Tunnel',
      width: 'minmax(0, 1.3fr)',
      cell: (tunnel) => <TunnelName tunnel={tunnel} />,
    },
    { key: 'project', header: 'Project', cell: ({ project }) => project.name },
    {
      key: 'domains',
      header: 'Domains',
      width: 'minmax(0, 1.8fr)',
      cell: ({ ingressDomains }) => <Hosts hosts={ingressDomains} />,
    },
    {
      key: 'region',
      header: 'Region',
      width: 'minmax(0, 0.9fr)',
      cell: ({ regionLabel }) => regionLabel,
    },
    { key: 'status', header: 'Status', width: '8rem', cell: (tunnel) => <State tunnel={tunnel} /> },
    askColumn(ask, 'Suspend', '8.5rem', suspensionOf),
  ];
}

function TunnelName({ tunnel }: { readonly tunnel: OperatorTunnel }) {
  const type = tunnelTypes[tunnel.type].label;
  return (
    <TwoLines isTitle second={tunnel.expiresAt === undefined ? type : `${type}, ${temporaryLabel}`}>
      {tunnel.name}
    </TwoLines>
  );
}

const shownHosts = 3;

function Hosts({ hosts }: { readonly hosts: readonly string[] }) {
  const more = hosts.length - shownHosts;
  return (
    <span className="grid font-mono text-sm">
      {hosts.slice(0, shownHosts).map((host) => (
        <span key={host}>
          <Breakable text={host} />
        </span>
      ))}
      {more > 0 && <span className="font-sans text-ink-faint">and {more} more</span>}
    </span>
  );
}

/** The state that the project sees, except that the operator sees the real status behind Unknown. */
function stateOf(tunnel: OperatorTunnel): string {
  if (tunnel.suspended) return 'Suspended';
  const shown = decideDisplayStatus(tunnel);
  return shown === 'Unknown' ? tunnel.status : shown;
}

function State({ tunnel }: { readonly tunnel: OperatorTunnel }) {
  if (tunnel.suspended) return <Badge tone="danger">{stateOf(tunnel)}</Badge>;
  if (decideDisplayStatus(tunnel) !== 'Unknown') return <StatusBadge tunnel={tunnel} />;
  return <Badge tone="info">{stateOf(tunnel)}</Badge>;
}

function suspensionOf({ id, name, project, suspended }: OperatorTunnel): RowQuestion {
  const label = suspended ? 'Resume' : 'Suspend';
  return {
    label,
    of: `${label} ${name} of ${project.name}`,
    title: `${label} Tunnel`,
    warning: suspended
      ? `${name} of ${project.name} works again.`
      : `${name} of ${project.name} stops, and its clients are disconnected.`,
    confirmLabel: label,
    work: () => callApi(operatorCalls.changeTunnel, { id, payload: { suspended: !suspended } }),
    done: suspended ? `${name} resumed.` : `${name} suspended.`,
  };
}
