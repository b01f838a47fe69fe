// Reads the visitor log of a tunnel, and deletes it when its settings change.

import type { AnswerOf } from '@underpass/rules/api/call.ts';
import type { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { VisitorLogEntry } from '@underpass/rules/entity/resource.ts';
import { parseSearch } from '@underpass/rules/list/list-page.ts';
import { parseVisitorLogFilter, type VisitorLogFilter, visitorLogBounds } from '@underpass/rules/tunnel/visitor-log.ts';
import { type RawBuilder, sql } from 'kysely';
import { containing } from '../../platform/store/like.ts';
import { readLogPage } from '../../platform/store/log-page.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import type { CallContext } from '../../request/caller/call.ts';
import { orInvalid } from '../../request/http/refusal.ts';

const milliseconds = (us: number | null): number | null => (us === null ? null : us / 1_000);

const toEntry = (row: Schema['visitor_log']): VisitorLogEntry => ({
  id: row.id,
  at: new Date(row.at).toISOString(),
  ...{ missed: row.missed, address: row.address, who: row.who, method: row.method, host: row.host, path: row.path },
  ...{
    status: row.status,
    bytes: row.bytes,
    code: row.code,
    rule: row.rule ?? '',
    trace: row.trace ?? '',
    totalMs: row.total_us / 1_000,
  },
  ...{ edgeMs: milliseconds(row.edge_us), tunnelMs: milliseconds(row.tunnel_us), upstreamMs: milliseconds(row.upstream_us) },
});

const filters: Readonly<Record<VisitorLogFilter, RawBuilder<boolean>>> = {
  refused: sql<boolean>`code <> ''`,
  '4xx': sql<boolean>`status between 400 and 499`,
  '5xx': sql<boolean>`status between 500 and 599`,
};

/** Rows that the sweep has not deleted yet are over too. */
export async function readVisitorLog(
  db: Queries,
  tunnelId: string,
  { query, nowMs }: Pick<CallContext<'listVisitorLog'>, 'query' | 'nowMs'>,
): Promise<AnswerOf<typeof tunnelCalls.listVisitorLog>> {
  const { keptMs, pageRows } = visitorLogBounds;
  let all = db
    .selectFrom('visitor_log')
    .selectAll()
    .where('tunnel_id', '=', tunnelId)
    .where('at', '>', nowMs - keptMs);
  if (query.status !== undefined) all = all.where(filters[orInvalid(parseVisitorLogFilter(query.status))]);
  for (const word of orInvalid(parseSearch(query.q ?? '')))
    all = all.where(
      sql<boolean>`lower(address || ' ' || who || ' ' || method || ' ' || host || path || ' ' || status || ' ' || code || ' ' || coalesce(trace, '')) like ${containing(word)} escape '\\'`,
    );
  const { rows, next, previous } = await readLogPage(all, 'id', query, pageRows);
  return { entries: rows.map(toEntry), next, previous };
}

export const deleteVisitorLog = (trx: Queries, tunnelId: string) =>
  trx.deleteFrom('visitor_log').where('tunnel_id', '=', tunnelId).execute();
