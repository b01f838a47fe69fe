// The operator's view of projects: their limits and suspension.

import type { OperatorProject } from '@underpass/rules/entity/resource.ts';
import { highestQuotas, type ProjectQuotas, projectQuotas } from '@underpass/rules/limits.ts';
import { type ListPage, projectList } from '@underpass/rules/list/list-page.ts';
import { sql } from 'kysely';
import { minuteMs } from '../edges/feed/core/history-points.ts';
import { deleteProject } from '../people/project/deletion.ts';
import { tellNarrowed } from '../platform/bus/narrowed-rights.ts';
import { gather } from '../platform/store/gather.ts';
import { type ListedColumns, readListPage } from '../platform/store/list-page.ts';
import type { Schema } from '../platform/store/schema.ts';
import type { Queries } from '../platform/store/store.ts';
import type { CallContext } from '../request/caller/call.ts';
import { readQuotas } from '../request/caller/membership.ts';
import { lockProject } from '../request/caller/project-lock.ts';
import { orMissing, refuse } from '../request/http/refusal.ts';
import { type ActingOperator, auditOperator, newest, suspension } from './actor.ts';
import { countTunnels } from './tunnels.ts';

async function ownersOf(db: Queries, ids: readonly string[]): Promise<Map<string, string[]>> {
  const query = db.selectFrom('members as m').innerJoin('users as u', 'u.id', 'm.user_id').select(['m.project_id', 'u.email']);
  const rows = await query.where('m.role', '=', 'owner').where('m.project_id', 'in', ids).orderBy('m.created_at').execute();
  return gather(rows, 'project_id', (row) => row.email);
}

/** Bytes to and from visitors of each project in the last hour: control keeps no older minutes. */
function lastHourTraffic(db: Queries, nowMs: number) {
  // Part of the text: Postgres takes two equal parameters of a group for different ones.
  const from = sql.lit(nowMs - 60 * minuteMs);
  return db
    .selectFrom('history_minutes as h')
    .innerJoin('tunnels as t', 't.id', 'h.tunnel_id')
    .select(['t.project_id', sql<number>`sum(h.rx_bytes + h.tx_bytes)`.as('bytes')])
    .where('h.start_at', '>=', from)
    .groupBy('t.project_id');
}

async function toProjects(db: Queries, rows: readonly Schema['projects'][], nowMs: number): Promise<OperatorProject[]> {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.id);
  const [owners, tunnels, traffic] = await Promise.all([
    ownersOf(db, ids),
    countTunnels(db, 'project_id', ids),
    lastHourTraffic(db, nowMs).where('t.project_id', 'in', ids).execute(),
  ]);
  const bytes = new Map(traffic.map((row) => [row.project_id, Number(row.bytes)]));
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    owners: owners.get(row.id) ?? [],
    suspended: row.suspended_at !== null,
    limits: readQuotas(row.limits),
    tunnels: tunnels.get(row.id) ?? 0,
    trafficBytes: bytes.get(row.id) ?? 0,
    createdAt: new Date(row.created_at).toISOString(),
  }));
}

const ownersIn = sql`members m join users u on u.id = m.user_id where m.project_id = p.id and m.role = 'owner'`;

const listed: ListedColumns = {
  id: 'p.id',
  has: (pattern) => sql`(lower(p.name || ' ' || p.id) like ${pattern} escape '\\' or exists (
    select 1 from ${ownersIn} and lower(u.email) like ${pattern} escape '\\'))`,
  sorts: {
    name: sql`lower(p.name)`,
    owners: sql`coalesce((select min(u.email) from ${ownersIn}), '')`,
    tunnels: sql`(select count(*) from tunnels t where t.project_id = p.id)`,
    traffic: sql`coalesce(traffic.bytes, 0)`,
    state: suspension('p.suspended_at'),
    since: sql`p.created_at`,
  },
  numbers: ['tunnels', 'traffic', 'since'],
  status: suspension('p.suspended_at'),
};

/** A search finds a name, an id, or an owner's e-mail. */
export async function listAllProjects({ deps, nowMs }: ActingOperator, query = newest()): Promise<ListPage<OperatorProject>> {
  const { db } = deps.store;
  const all = db.selectFrom('projects as p').selectAll('p');
  // The traffic of all projects is summed only to sort by it; otherwise only that of the projects of this page.
  const rows =
    query.sort === 'traffic' ? all.leftJoin(lastHourTraffic(db, nowMs).as('traffic'), 'traffic.project_id', 'p.id') : all;
  const page = await readListPage(rows, listed, query, projectList.statuses);
  return { ...page, rows: await toProjects(db, page.rows, nowMs) };
}

function parseQuotas(given: Readonly<Record<string, number>>): Partial<ProjectQuotas> {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(projectQuotas, name)) refuse('invalid', `There is no limit '${name}'.`);
    const most = highestQuotas[name as keyof ProjectQuotas];
    if (value < 0 || value > most) refuse('invalid', `Limit '${name}' must be from 0 to ${most}, is ${value}.`);
  }
  return given;
}

type ProjectChange = CallContext<'changeProject'>['body'];

const columnsOf = (row: Schema['projects'], { suspended, limits: given }: ProjectChange, nowMs: number) => ({
  ...(suspended === undefined ? {} : { suspended_at: suspended ? nowMs : null }),
  ...(given === undefined ? {} : { limits: JSON.stringify({ ...JSON.parse(row.limits ?? '{}'), ...parseQuotas(given) }) }),
});

const tunnelIdsOf = async (db: Queries, projectId: string): Promise<string[]> =>
  (await db.selectFrom('tunnels').select('id').where('project_id', '=', projectId).execute()).map((row) => row.id);

export async function changeProject(operator: ActingOperator, id: string, change: ProjectChange): Promise<OperatorProject> {
  const { deps, nowMs } = operator;
  const { row, tunnelIds } = await deps.store.write(async (trx) => {
    await lockProject(trx, id);
    const before = orMissing(await trx.selectFrom('projects').selectAll().where('id', '=', id).executeTakeFirst(), 'Project');
    const set = columnsOf(before, change, nowMs);
    if (Object.keys(set).length === 0) refuse('invalid', "Nothing to change: give 'suspended' or 'limits'.");
    const after = await trx.updateTable('projects').set(set).where('id', '=', id).returningAll().executeTakeFirstOrThrow();
    const was = change.limits === undefined ? {} : { before: { limits: JSON.parse(before.limits ?? '{}') as object } };
    const detail = { ...change, ...was };
    await auditOperator(trx, operator, { projectId: id, action: 'project.change', target: before.name, detail });
    return { row: after, tunnelIds: change.suspended === undefined ? [] : await tunnelIdsOf(trx, id) };
  });
  deps.feed.tunnelsChanged(tunnelIds);
  return (await toProjects(deps.store.db, [row], operator.nowMs))[0]!;
}

/** Deletes a project whose owners are gone, or that was suspended for good: a command. */
export async function removeProject(
  operator: ActingOperator,
  id: string,
): Promise<{ readonly id: string; readonly name: string }> {
  const { deps, nowMs } = operator;
  const { name, tunnelIds } = await deps.store.write(async (trx) => {
    await lockProject(trx, id);
    const row = await trx.selectFrom('projects').select('name').where('id', '=', id).executeTakeFirstOrThrow();
    const ids = await deleteProject(trx, id, nowMs);
    await auditOperator(trx, operator, { projectId: id, action: 'project.delete', target: row.name });
    return { name: row.name, tunnelIds: ids };
  });
  deps.feed.tunnelsChanged(tunnelIds);
  tellNarrowed(deps.bus, id);
  return { id, name };
}
