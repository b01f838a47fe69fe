// The operator's view of tunnels: finds one by the host that a report names, and suspends it.

import type { OperatorTunnel } from '@underpass/rules/entity/resource.ts';
import { allTunnelList, type ListPage } from '@underpass/rules/list/list-page.ts';
import { decideTunnelStatus } from '@underpass/rules/tunnel/tunnel-status.ts';
import { sql } from 'kysely';
import { type ListedColumns, readListPage } from '../platform/store/list-page.ts';
import type { Queries } from '../platform/store/store.ts';
import { lockProject } from '../request/caller/project-lock.ts';
import { orMissing } from '../request/http/refusal.ts';
import { firstHost } from '../tunnels/tunnel/list.ts';
import { readHosts } from '../tunnels/tunnel/tunnels.ts';
import { type ActingOperator, auditOperator, newest, type OperatorNeeds, suspension } from './actor.ts';

const tunnelRows = (db: Queries) =>
  db
    .selectFrom('tunnels as t')
    .innerJoin('projects as p', 'p.id', 't.project_id')
    .leftJoin('quick_tunnels as q', 'q.tunnel_id', 't.id')
    .select(['t.id', 't.name', 't.type', 't.region', 't.suspended_at', 'p.id as project_id', 'p.name as project_name'])
    .select('q.expires_at');

type Row = Awaited<ReturnType<ReturnType<typeof tunnelRows>['execute']>>[number];

async function toTunnels(deps: OperatorNeeds, rows: readonly Row[]): Promise<OperatorTunnel[]> {
  const hosts = await readHosts(
    deps.store.db,
    rows.map((row) => row.id),
  );
  return rows.map((row) => {
    const own = hosts.get(row.id) ?? [];
    const allDomainsVerified = own.every((host) => host.live_host !== null);
    return {
      id: row.id,
      name: row.name,
      project: { id: row.project_id, name: row.project_name },
      type: row.type,
      region: row.region,
      status: decideTunnelStatus({ allDomainsVerified, isAcknowledged: deps.feed.isServing(row.id) }),
      ingressDomains: own.map((host) => host.host),
      suspended: row.suspended_at !== null,
      ...(row.expires_at === null ? {} : { expiresAt: new Date(row.expires_at).toISOString() }),
    };
  });
}

/** How many tunnels each of these regions or projects has. One that has none is missing. */
export async function countTunnels(
  db: Queries,
  by: 'region' | 'project_id',
  among: readonly string[],
): Promise<Map<string, number>> {
  if (among.length === 0) return new Map();
  const query = db.selectFrom('tunnels').select((eb) => [eb.ref(by).as('key'), eb.fn.countAll<number>().as('n')]);
  return new Map((await query.where(by, 'in', among).groupBy(by).execute()).map(({ key, n }) => [key, Number(n)]));
}

const listed: ListedColumns = {
  id: 't.id',
  has: (pattern) => sql`(lower(t.name || ' ' || p.name) like ${pattern} escape '\\' or exists (
    select 1 from tunnel_hosts h where h.tunnel_id = t.id and h.host like ${pattern} escape '\\'))`,
  sorts: {
    name: sql`t.name`,
    project: sql`lower(p.name)`,
    domains: sql`coalesce(${firstHost}, '')`,
    region: sql`t.region`,
  },
  numbers: [],
  status: suspension('t.suspended_at'),
};

/** A search finds a tunnel's name, an ingress domain or a project's name. */
export async function listAllTunnels({ deps }: ActingOperator, query = newest()): Promise<ListPage<OperatorTunnel>> {
  const page = await readListPage(tunnelRows(deps.store.db), listed, query, allTunnelList.statuses);
  return { ...page, rows: await toTunnels(deps, page.rows) };
}

export async function changeTunnel(
  operator: ActingOperator,
  id: string,
  change: { readonly suspended: boolean },
): Promise<OperatorTunnel> {
  const { deps, nowMs } = operator;
  await deps.store.write(async (trx) => {
    const known = trx.selectFrom('tunnels').select('project_id').where('id', '=', id);
    // Waits for the project's lock: a deletion that has begun would remove the tunnel that this suspends.
    await lockProject(trx, orMissing(await known.executeTakeFirst(), 'Tunnel').project_id);
    const suspendedAt = change.suspended ? nowMs : null;
    const update = trx.updateTable('tunnels').set({ suspended_at: suspendedAt }).where('id', '=', id);
    const row = orMissing(await update.returning(['name', 'project_id']).executeTakeFirst(), 'Tunnel');
    const action = change.suspended ? 'tunnel.suspend' : 'tunnel.resume';
    await auditOperator(trx, operator, { projectId: row.project_id, action, target: row.name });
  });
  deps.feed.tunnelsChanged([id]);
  const row = await tunnelRows(deps.store.db).where('t.id', '=', id).executeTakeFirst();
  return (await toTunnels(deps, [orMissing(row, 'Tunnel')]))[0]!;
}
