// Lists the tunnels of a project: the database finds what a search matches, and the feed knows who is connected. So the status is
// filtered, counted and sorted here, over a few columns of each tunnel; only those of the page are read whole.

import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { TunnelEvent } from '@underpass/rules/entity/resource.ts';
import { type ListPage, type ListQuery, type ListRow, selectPage, tunnelList } from '@underpass/rules/list/list-page.ts';
import { temporaryLabel } from '@underpass/rules/tunnel/tunnel-expiry.ts';
import { type DisplayStatus, decideDisplayStatus, decideTunnelStatus } from '@underpass/rules/tunnel/tunnel-status.ts';
import { type RawBuilder, sql } from 'kysely';
import { orphanedProjects } from '../../edges/feed/region-content.ts';
import { containing } from '../../platform/store/like.ts';
import type { Queries } from '../../platform/store/store.ts';
import { readRemembered, readStanding, type Standing } from './condition.ts';
import { type Reader, readTunnels, type TunnelReadDeps } from './tunnels.ts';

type SortName = (typeof tunnelList.sorts)[number];

export const firstHost = sql<string>`(select h.host from tunnel_hosts h where h.tunnel_id = t.id order by h.position limit 1)`;

const hostCount = sql<number>`(select count(*) from tunnel_hosts h where h.tunnel_id = t.id)`;

/** What sorts. The database does not know the status. */
const sortColumns: Readonly<Record<SortName, RawBuilder<string | null>>> = {
  name: sql`t.name`,
  type: sql`t.type`,
  region: sql`t.region`,
  domains: sql`coalesce(${firstHost}, '')`,
  status: sql`null`,
};

const isTemporary = sql<boolean>`exists (select 1 from quick_tunnels q where q.tunnel_id = t.id and q.expires_at is not null)`;

/** The lists after `in` do not depend on the tunnel, so that the database makes each once. Names and hosts are in lower case. */
function hasWord(word: string, projectId: string) {
  const like = sql`like ${containing(word)} escape '\\'`;
  const hasLabel = temporaryLabel.toLowerCase().includes(word) ? sql`or ${isTemporary}` : sql``;
  return sql<boolean>`(t.name ${like} or t.type ${like}
    or t.region in (select r.name from regions r where lower(r.name || ' ' || r.description) ${like})
    or t.id in (select h.tunnel_id from tunnel_hosts h where h.project_id = ${projectId} and h.host ${like}) ${hasLabel})`;
}

const rowsOf = (db: Queries, projectId: string) =>
  db.selectFrom('tunnels as t').select('t.id').where('t.project_id', '=', projectId);

/** Tunnels that wait for a domain. The words of the condition are those of the index `tunnel_hosts_waiting`. */
async function readWaiting(db: Queries, projectId: string): Promise<ReadonlySet<string>> {
  const query = db.selectFrom('tunnel_hosts').select('tunnel_id').where('project_id', '=', projectId);
  return new Set((await query.where(sql<boolean>`coalesce(live_host, '') = ''`).execute()).map((row) => row.tunnel_id));
}

export async function countHosts(db: Queries, projectId: string): Promise<number> {
  const query = db.selectFrom('tunnel_hosts').select((eb) => eb.fn.countAll<number>().as('n'));
  return Number((await query.where('project_id', '=', projectId).executeTakeFirstOrThrow()).n);
}

const liveOf = ({ feed }: TunnelReadDeps, id: string, waiting: ReadonlySet<string>) => ({
  status: decideTunnelStatus({ allDomainsVerified: !waiting.has(id), isAcknowledged: feed.isServing(id) }),
  connectedClients: feed.clientCount(id),
});

/** Words of so many letters find a status that begins with them: `connected` does not find Disconnected. */
const statusWordChars = 3;
const statuses = tunnelList.statuses.map((status) => ({ status, lower: status.toLowerCase() }));

const statusesOf = (word: string): readonly DisplayStatus[] =>
  word.length < statusWordChars ? [] : statuses.filter(({ lower }) => lower.startsWith(word)).map(({ status }) => status);

interface Found extends ListRow {
  readonly status: DisplayStatus;
  readonly connectedClients: number;
  readonly ingressDomains: number;
}

type FoundRow = { readonly id: string; readonly sorts_by: string | null; readonly hosts: number } & Readonly<
  Record<string, unknown>
>;

/** `either`: words that may find the status. The database does not know it: it tells whether the texts match. */
function readRows(db: Queries, projectId: string, { words, sort }: ListQuery, either: readonly string[]): Promise<FoundRow[]> {
  const column = sort === undefined ? sql<null>`null` : sortColumns[sort as SortName];
  // Without a search, `countHosts` counts those of all tunnels.
  const hosts = words.length === 0 ? sql<number>`0` : hostCount;
  let query = rowsOf(db, projectId).select([column.as('sorts_by'), hosts.as('hosts')]);
  for (const word of words) if (!either.includes(word)) query = query.where(hasWord(word, projectId));
  return query.select(either.map((word, at) => hasWord(word, projectId).as(`match${at}`))).execute();
}

async function findRows(deps: TunnelReadDeps, projectId: string, query: ListQuery): Promise<Found[]> {
  const { db } = deps.store;
  const either = query.words.filter((word) => statusesOf(word).length > 0);
  const [rows, waiting] = await Promise.all([readRows(db, projectId, query, either), readWaiting(db, projectId)]);
  const found: Found[] = [];
  for (const row of rows) {
    const live = liveOf(deps, row.id, waiting);
    const status = decideDisplayStatus(live);
    if (!either.every((word, at) => row[`match${at}`] || statusesOf(word).includes(status))) continue;
    const sortsBy = query.sort === 'status' ? status : (row.sorts_by ?? undefined);
    found.push({ id: row.id, status, sortsBy, connectedClients: live.connectedClients, ingressDomains: row.hosts });
  }
  return found;
}

/** Sums for the dashboard, which must not read every tunnel. */
async function readSums({ store }: TunnelReadDeps, projectId: string, { words }: ListQuery, found: readonly Found[]) {
  const sum = (name: 'ingressDomains' | 'connectedClients') => found.reduce((total, row) => total + Number(row[name]), 0);
  const ingressDomains = words.length === 0 ? await countHosts(store.db, projectId) : sum('ingressDomains');
  return { ingressDomains, connectedClients: sum('connectedClients') };
}

export async function listTunnels(deps: TunnelReadDeps, project: Reader, query: ListQuery): Promise<ListPage<Tunnel>> {
  const found = await findRows(deps, project.id, query);
  const page = selectPage(found, query, tunnelList.statuses);
  const ids = page.rows.map(({ id }) => id);
  const [rows, sums] = await Promise.all([readTunnels(deps, project, ids), readSums(deps, project.id, query, found)]);
  return { ...page, rows, sums };
}

export interface StandingTunnel extends Pick<Tunnel, 'name' | 'type' | 'region' | 'status'> {
  readonly id: string;
  readonly standing: Standing;
}

/** How the project's tunnels stand, or some of them. */
export async function readStandings(
  { store: { db }, feed }: Pick<TunnelReadDeps, 'store' | 'feed'>,
  projectId: string,
  ids?: readonly string[],
): Promise<readonly StandingTunnel[]> {
  const suspendedAt = sql<
    number | null
  >`coalesce(t.suspended_at, (select coalesce(p.suspended_at, p.over_limit_at) from projects p where p.id = t.project_id))`;
  const all = rowsOf(db, projectId)
    .select(['t.name', 't.type', 't.region', suspendedAt.as('suspended_at')])
    .orderBy('t.id');
  const [rows, waiting, remembered, orphaned] = await Promise.all([
    (ids === undefined ? all : all.where('t.id', 'in', ids)).execute(),
    readWaiting(db, projectId),
    readRemembered(db, ids ?? { projectId }),
    orphanedProjects(db, [projectId]),
  ]);
  const orphanedAt = orphaned.get(projectId) ?? null;
  return rows.map(({ id, name, type, region, suspended_at }) => {
    const status = decideTunnelStatus({ allDomainsVerified: !waiting.has(id), isAcknowledged: feed.isServing(id) });
    const about = { id, status, suspendedAt: suspended_at ?? orphanedAt, row: remembered.get(id) };
    return { id, name, type, region, status, standing: readStanding(feed, about) };
  });
}

/** The live part of the project's tunnels, or of some of them. */
export async function readLive(
  deps: TunnelReadDeps,
  projectId: string,
  ids?: readonly string[],
): Promise<readonly (TunnelEvent & { readonly id: string })[]> {
  return (await readStandings(deps, projectId, ids)).map(({ id, name, status, standing }) => {
    const { clients, condition, since, last } = standing;
    const metrics = deps.feed.metrics(id);
    const live = { status, connectedClients: clients, condition, ...(since === undefined ? {} : { conditionSince: since }) };
    const error = last.error === null ? {} : { error: last.error.code };
    return { id, name, ...live, ...error, ...(metrics === undefined ? {} : { metrics }) };
  });
}
