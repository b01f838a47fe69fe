// Reads the audit log of a project or of the service: filtered, in pages, and as CSV.

import type { AuditEntry, AuditPage } from '@underpass/rules/entity/resource.ts';
import { limits } from '@underpass/rules/limits.ts';
import { parseSearch } from '@underpass/rules/list/list-page.ts';
import { parseTime } from '@underpass/rules/text/date.ts';
import { sql } from 'kysely';
import { startOfIds } from '../../platform/store/id.ts';
import { containing } from '../../platform/store/like.ts';
import { type LogCursor, readLogPage } from '../../platform/store/log-page.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries, Store } from '../../platform/store/store.ts';
import type { AreaHandlers } from '../../request/caller/call.ts';
import { orInvalid, refuse } from '../../request/http/refusal.ts';
import { renderCsvRow } from './csv.ts';

const toEntry = (row: Schema['audit'] & { readonly first_name: string | null }): AuditEntry => ({
  id: row.id,
  at: new Date(row.at).toISOString(),
  actor: row.actor,
  action: row.action,
  target: row.target,
  address: row.address,
  detail: JSON.parse(row.detail) as Record<string, unknown>,
  ...(row.first_name ? { actorName: row.first_name } : {}),
});

interface Filter extends LogCursor {
  readonly q?: string;
  readonly action?: string;
  readonly actor?: string;
  readonly by?: string;
  readonly from?: string;
  readonly to?: string;
}

const timeOf = (text: string): number =>
  parseTime(text) ?? refuse('invalid', 'A time must be ISO 8601, such as 2026-11-20T10:00:00Z.');

/** Nouns consist of letters and hyphens, so they contain no LIKE pattern. */
const nouns = /^[a-z-]+(?:,[a-z-]+)*$/;

/** The parts of the JSON in `detail` that say which API token made the call: see auditCall. */
function tokenPattern(by: string): string {
  const [kind, ...name] = by.split(':');
  if (kind !== 'api-token') refuse('invalid', "By must be 'api-token', or 'api-token:' and a name.");
  return containing(name.length === 0 ? '"by":"api-token"' : `"apiToken":${JSON.stringify(name.join(':'))}`);
}

const textOf = sql`lower(a.actor || ' ' || a.target || ' ' || a.address || ' ' || a.detail)`;

/**
 * Times bound the id, which begins with the time of the row: `at` has no index. `action` matches nouns (`tunnel,domain`) or a whole
 * action (`tunnel.create`).
 */
function auditRows(db: Queries, projectId: string | null, filter: Filter) {
  const all = db.selectFrom('audit as a').selectAll('a');
  let query = projectId === null ? all.where('a.project_id', 'is', null) : all.where('a.project_id', '=', projectId);
  const { q, action, actor, by, from, to } = filter;
  if (actor !== undefined) query = query.where('a.actor', '=', actor);
  if (by !== undefined) query = query.where(sql<boolean>`lower(a.detail) like ${tokenPattern(by)} escape '\\'`);
  if (from !== undefined) query = query.where('a.id', '>=', startOfIds(timeOf(from)));
  if (to !== undefined) query = query.where('a.id', '<', startOfIds(timeOf(to)));
  for (const word of orInvalid(parseSearch(q ?? '')))
    query = query.where(sql<boolean>`${textOf} like ${containing(word)} escape '\\'`);
  if (action === undefined) return query;
  if (!nouns.test(action)) return query.where('a.action', '=', action);
  return query.where((eb) => eb.or(action.split(',').map((noun) => eb('a.action', 'like', `${noun}.%`))));
}

/** One page of a project's rows; `projectId` null: the rows that concern no project. */
async function readPage(db: Queries, projectId: string | null, filter: Filter): Promise<AuditPage> {
  const named = auditRows(db, projectId, filter).leftJoin('users as u', 'u.email', 'a.actor').select('u.first_name');
  const { rows, next, previous } = await readLogPage(named, 'a.id', filter, limits.auditPageRows);
  return { entries: rows.map(toEntry), next, previous };
}

const exportPageRows = 500;
const columns = ['at', 'actor', 'action', 'target', 'address', 'detail'] as const;

async function* csvLines(db: Queries, projectId: string): AsyncGenerator<string> {
  yield renderCsvRow(columns);
  for (let cursor: LogCursor = {}; ; ) {
    const page = await readLogPage(auditRows(db, projectId, {}), 'a.id', cursor, exportPageRows);
    for (const row of page.rows)
      yield renderCsvRow([new Date(row.at).toISOString(), row.actor, row.action, row.target, row.address, row.detail]);
    if (page.next === null) return;
    cursor = { before: page.next };
  }
}

async function exportAudit(db: Queries, projectId: string): Promise<Response> {
  const body = ReadableStream.from(csvLines(db, projectId)).pipeThrough(new TextEncoderStream());
  return new Response(body, {
    headers: { 'content-type': 'text/csv; charset=utf-8', 'content-disposition': 'attachment; filename="audit.csv"' },
  });
}

interface AuditDeps {
  readonly store: Pick<Store, 'db'>;
}

export const auditHandlers = {
  listAudit: ({ store }, { membership, query }) => readPage(store.db, membership.id, query),
  exportAudit: ({ store }, { membership }) => exportAudit(store.db, membership.id),
  listServiceAudit: ({ store }, { query }) => readPage(store.db, null, query),
} satisfies AreaHandlers<AuditDeps>;
