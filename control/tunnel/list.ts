// Lists the tunnels of a project: the database finds what a search matches, and the feed knows who is connected. So the status is
// filtered, counted and sorted here, over a few columns of each tunnel; only those of the page are read whole.

import type { Tunnel } from '@underpass/rules/entity.ts';
import { type ListPage, type ListQuery, type ListRow, selectPage, tunnelList } from '@underpass/rules/list-page.ts';
import type { TunnelEvent } from '@underpass/rules/resource.ts';
import { temporaryLabel } from '@underpass/rules/tunnel-expiry.ts';
import { decideDisplayStatus, decideTunnelStatus } from '@underpass/rules/tunnel-status.ts';
import { type RawBuilder, sql } from 'kysely';
import { containing } from '../store/like.ts';
import type { Queries } from '../store/store.ts';
import { type Reader, readTunnels, type TunnelReadDeps } from './tunnels.ts';

type SortName = (typeof tunnelList.sorts)[number];

const firstHost = sql<string>`(select h.host from tunnel_hosts h where h.tunnel_id = t.id order by h.position limit 1)`;

const hostCount = sql<number>`(select count(*) from tunnel_hosts h where h.tunnel_id = t.id)`;

/** What sorts, in the database; null: it does not know. */
const sortColumns: Readonly<Record<SortName, RawBuilder<string> | null>> = {
  name: sql`t.name`,
  type: sql`t.type`,
  region: sql`t.region`,
  domains: sql`coalesce(${firstHost}, '')`,
  status: null,
};

const isTemporary = sql<boolean>`exists (select 1 from quick_tunnels q where q.tunnel_id = t.id and q.expires_at is not null)`;

const hasWord = (word: string) => {
  const pattern = containing(word);
  const hasLabel = temporaryLabel.toLowerCase().includes(word) ? sql`or ${isTemporary}` : sql``;
  return sql<boolean>`(lower(t.name || ' ' || t.type || ' ' || t.region) like ${pattern} escape '\\' ${hasLabel}
    or exists (select 1 from regions r where r.name = t.region and lower(r.description) like ${pattern} escape '\\')
    or exists (select 1 from tunnel_hosts h where h.tunnel_id = t.id and h.host like ${pattern} escape '\\'))`;
};

const rowsOf = (db: Queries, projectId: string) =>
  db.selectFrom('tunnels as t').select('t.id').where('t.project_id', '=', projectId);

/** Tunnels that wait for a domain. A query of its own: as a subquery of each tunnel, SQLite would walk the waiting hosts each time. */
const readWaiting = async (db: Queries, projectId: string): Promise<ReadonlySet<string>> => {
  const query = db.selectFrom('tunnel_hosts').select('tunnel_id').distinct().where('project_id', '=', projectId);
  return new Set((await query.where('live_host', 'is', null).execute()).map((row) => row.tunnel_id));
};

const liveOf = ({ feed }: TunnelReadDeps, id: string, waiting: ReadonlySet<string>) => ({
  status: decideTunnelStatus({ allDomainsVerified: !waiting.has(id), isAcknowledged: feed.isServing(id) }),
  connectedClients: feed.clients(id).length,
});

/** Words of so many letters find a status that begins with them: `connected` does not find Disconnected. */
const statusWordChars = 3;
const statuses = tunnelList.statuses.map((status) => ({ status, lower: status.toLowerCase() }));

const statusesOf = (word: string): readonly string[] =>
  word.length < statusWordChars ? [] : statuses.filter(({ lower }) => lower.startsWith(word)).map(({ status }) => status);

type Found = ListRow & { readonly status: string; readonly ingressDomains: number; readonly connectedClients: number };

type FoundRow = { readonly id: string; readonly sorts_by: string; readonly hosts: number } & Readonly<Record<string, unknown>>;

const findRows = async (deps: TunnelReadDeps, project: Reader, { words, sort }: ListQuery): Promise<Found[]> => {
  const { db } = deps.store;
  const either = words.filter((word) => statusesOf(word).length > 0);
  const column = (sort !== undefined && sortColumns[sort as SortName]) || sql<string>`''`;
  let query = rowsOf(db, project.id).select([column.as('sorts_by'), hostCount.as('hosts')]);
  for (const word of words) if (!either.includes(word)) query = query.where(hasWord(word));
  // The database does not know the status: it tells whether the texts match.
  const rows: FoundRow[] = await query.select(either.map((word, at) => hasWord(word).as(`match${at}`))).execute();
  const waiting = await readWaiting(db, project.id);
  const found = rows.map((row) => {
    const live = liveOf(deps, row.id, waiting);
    return { row, status: decideDisplayStatus(live), connectedClients: live.connectedClients };
  });
  return found
    .filter(({ row, status }) => either.every((word, at) => row[`match${at}`] || statusesOf(word).includes(status)))
    .map(({ row: { id, hosts, sorts_by }, status, connectedClients }) => ({
      ...{ id, status, connectedClients, ingressDomains: hosts },
      ...sortOf(sort, sorts_by, status),
    }));
};

const sortOf = (sort: string | undefined, value: string, status: string) => {
  if (sort === undefined) return {};
  return { sortsBy: sort === 'status' ? status : value };
};

/** For the dashboard, which must not read every tunnel. */
const sumsOf = (found: readonly Found[]) => {
  const sum = (name: 'ingressDomains' | 'connectedClients') => found.reduce((total, row) => total + row[name], 0);
  return { ingressDomains: sum('ingressDomains'), connectedClients: sum('connectedClients') };
};

export const listTunnels = async (deps: TunnelReadDeps, project: Reader, query: ListQuery): Promise<ListPage<Tunnel>> => {
  const found = await findRows(deps, project, query);
  const page = selectPage(found, query, tunnelList.statuses);
  const ids = page.rows.map(({ id }) => id);
  return { ...page, sums: sumsOf(found), rows: await readTunnels(deps, project, ids) };
};

/** The live part of the project's tunnels, or of some of them. */
export const readLive = async (
  deps: TunnelReadDeps,
  projectId: string,
  ids?: readonly string[],
): Promise<readonly (TunnelEvent & { readonly id: string })[]> => {
  const all = rowsOf(deps.store.db, projectId).select('t.name').orderBy('t.id');
  const rows = await (ids === undefined ? all : all.where('t.id', 'in', ids)).execute();
  const waiting = await readWaiting(deps.store.db, projectId);
  return rows.map(({ id, name }) => {
    const metrics = deps.feed.metrics(id);
    return { id, name, ...liveOf(deps, id, waiting), ...(metrics === undefined ? {} : { metrics }) };
  });
};
