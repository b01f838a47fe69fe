// The clients that are connected to the tunnel.
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { ConnectedClient } from '@underpass/rules/entity/resource.ts';
import { askFor } from '../../api/answers.ts';
import { FetchedRows } from '../../api/fetched-rows.tsx';
import { useReload } from '../../api/use-again.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { Badge } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { DateTime } from '../../ui/date/date-time.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { LastClientNote } from './last-client.tsx';

export const askClients = (project: string, name: string) => askFor(tunnelCalls.listClients, { project, name });

export function Clients({ project, tunnel }: { readonly project: string; readonly tunnel: Tunnel }) {
  const clients = useFetched(askClients(project, tunnel.name));
  useReload(tunnel.connectedClients, clients.reload);
  return (
    <Card title="Connected clients" flush>
      <div className="border-t">
        <FetchedRows fetched={clients} what="connected clients" emptyText="No client is connected.">
          {(rows) => (
            <DataTable
              label="Connected clients"
              bare
              columns={columns}
              rows={rows}
              rowKey={(client) => client.id}
              searchText={searchText}
              noun="clients"
            />
          )}
        </FetchedRows>
      </div>
      <LastClientNote project={project} tunnel={tunnel} />
    </Card>
  );
}

const searchText = (client: ConnectedClient) => `${client.address} ${client.version} ${client.edge}`;

/** The table shows the version of our own client without its name. */
const ownName = /^underpass\//;

const columns: readonly Column<ConnectedClient>[] = [
  {
    key: 'address',
    header: 'Address',
    width: 'minmax(0, 1.4fr)',
    cell: (client) => <span className="font-mono text-sm">{client.address}</span>,
    sortBy: (client) => client.address,
  },
  {
    key: 'version',
    header: 'Version',
    width: 'minmax(0, 0.7fr)',
    cell: (client) => client.version.replace(ownName, ''),
    sortBy: (client) => client.version,
  },
  { key: 'edge', header: 'Edge', width: 'minmax(0, 1fr)', cell: (client) => client.edge, sortBy: (client) => client.edge },
  {
    key: 'rtt',
    header: 'Round trip',
    width: 'minmax(0, 0.7fr)',
    cell: (client) => <span className="tabular">{formatRtt(client.rttMs)}</span>,
    sortBy: (client) => client.rttMs ?? Number.POSITIVE_INFINITY,
  },
  {
    key: 'since',
    header: 'Since',
    width: 'minmax(0, 1.7fr)',
    cell: (client) => <DateTime at={client.since} style="short" />,
    sortBy: (client) => client.since,
  },
  { key: 'healthy', header: 'Health', width: '8rem', cell: (client) => <Health healthy={client.healthy} /> },
];

/** null: the client has just connected, and nothing is measured yet. */
function formatRtt(rttMs: number | null): string {
  if (rttMs === null) return 'n/a';
  return `${rttMs < 10 ? rttMs.toFixed(1) : Math.round(rttMs)} ms`;
}

function Health({ healthy }: { readonly healthy: boolean }) {
  return healthy ? (
    <Badge tone="ok" dot="filled">
      Healthy
    </Badge>
  ) : (
    <Badge tone="danger" dot="ring">
      Not answering
    </Badge>
  );
}
