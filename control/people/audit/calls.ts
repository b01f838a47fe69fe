// Reads the audit log of a project or of the service: filtered, in pages, and as CSV.

import type { AuditEntry, AuditPage } from '@underpass/rules/entity/resource.ts';
import { limits } from '@underpass/rules/limits.ts';
import { parseTime } from '@underpass/rules/text/date.ts';
import { startOfIds } from '../../platform/store/id.ts';
import type { AuditTable } from '../../platform/store/schema.ts';
import type { Queries, Store } from '../../platform/store/store.ts';
import type { Handlers } from '../../request/caller/call.ts';
import { refuse } from '../../request/http/refusal.ts';
import { renderCsvRow } from './csv.ts';

const toEntry = (row: AuditTable): AuditEntry => ({
  id: row.id,
  at: new Date(row.at).toISOString(),
  actor: row.actor,
  action: row.action,
  target: row.target,
  address: row.address,
  detail: JSON.parse(row.detail) as Record<string, unknown>,
});

interface Filter {
  readonly before?: string;
  readonly action?: string;
  readonly actor?: string;
  readonly from?: string;
  readonly to?: string;
}

const timeOf = (text: string): number =>
  parseTime(text) ?? refuse('invalid', 'A time must be ISO 8601, such as 2026-11-20T10:00:00Z.');

/**
 * Newest first. Times bound the id, which begins with the time of the row: `at` has no index. `action` matches a noun
 * (`tunnel`) or a whole action (`tunnel.create`).
 */
function auditRows(db: Queries, projectId: string | null, filter: Filter) {
  const all = db.selectFrom('audit').selectAll().orderBy('id', 'desc');
  let query = projectId === null ? all.where('project_id', 'is', null) : all.where('project_id', '=', projectId);
  const { before, action, actor, from, to } = filter;
  if (before !== undefined) query = query.where('id', '<', before);
  if (actor !== undefined) query = query.where('actor', '=', actor);
  if (from !== undefined) query = query.where('id', '>=', startOfIds(timeOf(from)));
  if (to !== undefined) query = query.where('id', '<', startOfIds(timeOf(to)));
  if (action === undefined) return query;
  // A noun consists of letters and hyphens, so it contains no LIKE pattern.
  return /^[a-z-]+$/.test(action) ? query.where('action', 'like', `${action}.%`) : query.where('action', '=', action);
}

/** One page of a project's rows; `projectId` null: the rows that concern no project. */
async function readPage(db: Queries, projectId: string | null, filter: Filter): Promise<AuditPage> {
  const rows = await auditRows(db, projectId, filter)
    .limit(limits.auditPageRows + 1)
    .execute();
  const page = rows.slice(0, limits.auditPageRows);
  return { entries: page.map(toEntry), next: rows.length > page.length ? page.at(-1)!.id : null };
}

const exportPageRows = 500;
const columns = ['at', 'actor', 'action', 'target', 'address', 'detail'] as const;

async function* csvLines(db: Queries, projectId: string): AsyncGenerator<string> {
  yield renderCsvRow(columns);
  for (let before: string | undefined; ; ) {
    const filter = before === undefined ? {} : { before };
    const rows = await auditRows(db, projectId, filter).limit(exportPageRows).execute();
    for (const row of rows)
      yield renderCsvRow([new Date(row.at).toISOString(), row.actor, row.action, row.target, row.address, row.detail]);
    if (rows.length < exportPageRows) return;
    before = rows.at(-1)!.id;
  }
}

async function exportAudit(db: Queries, projectId: string): Promise<Response> {
  const body = ReadableStream.from(csvLines(db, projectId)).pipeThrough(new TextEncoderStream());
  return new Response(body, {
    headers: { 'content-type': 'text/csv; charset=utf-8', 'content-disposition': 'attachment; filename="audit.csv"' },
  });
}

export type AuditCalls = 'listAudit' | 'exportAudit' | 'listServiceAudit';

export interface AuditDeps {
  readonly store: Pick<Store, 'db'>;
}

export const createAuditCalls = ({ store: { db } }: AuditDeps): Handlers<AuditCalls> => ({
  listAudit: ({ membership, query }) => readPage(db, membership.id, query),
  exportAudit: ({ membership }) => exportAudit(db, membership.id),
  listServiceAudit: ({ query }) => readPage(db, null, query),
});
