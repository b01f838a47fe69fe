// The history of tunnels in the store: written in batches once a minute, read for charts. The sweep rolls it up and deletes what no
// chart can show (sweep/history.ts).

import type { HistoryRange, TunnelHistory } from '@underpass/rules/entity/resource.ts';
import { parseFigures } from '@underpass/rules/tunnel/figures.ts';
import { sql } from 'kysely';
import type { Queries, Store } from '../../platform/store/store.ts';
import {
  historyFrom,
  historyPoints,
  type MinuteRow,
  minuteMs,
  quarterMs,
  startOf,
  tracePoints,
  traceSpan,
} from './core/history-points.ts';
import { readRolledUp, rolledUpUntil, writeMinutes } from './history-rows.ts';
import type { MinuteTally } from './minute-tally.ts';

/** Batches that cannot be written stay in the tally, so an outage of the database leaves no hole in the charts. */
export async function writeTally(store: Store, tally: MinuteTally, nowMs: number, ending: boolean): Promise<void> {
  for (let some = tally.take(nowMs, ending); some.length > 0; some = tally.take(nowMs, ending)) {
    await writeMinutes(store, some).catch((error) => {
      tally.putBack(some);
      throw error;
    });
  }
}

interface Queryable {
  readonly db: Queries;
  readonly kind: Store['kind'];
}

interface Span {
  readonly fromMs: number;
  readonly beforeMs: number;
  readonly stepMs: number;
}

const rowColumns = sql.raw(
  'start_at as "minuteMs", rx_bytes as "rxBytes", tx_bytes as "txBytes", connections as "connections", clients as "clients", figures as "figures"',
);

interface KeptRow extends Omit<MinuteRow, 'figures'> {
  readonly figures: string | null;
}

/** The key begins with the time, so a tunnel's rows are found one by one. */
async function readRows(
  { db, kind }: Queryable,
  table: 'history_minutes' | 'history_quarters',
  tunnelId: string,
  { fromMs, beforeMs, stepMs }: Span,
): Promise<readonly MinuteRow[]> {
  const count = Math.max(0, Math.ceil((beforeMs - fromMs) / stepMs));
  if (count === 0) return [];
  const times = sql.join(Array.from({ length: count }, (_, index) => fromMs + index * stepMs));
  // For a plain list, Postgres would look for all times in every partition, in three times as long.
  const rows =
    kind === 'postgres'
      ? sql<KeptRow>`select found.* from unnest(array[${times}]::bigint[]) as times (at) cross join lateral
          (select ${rowColumns} from ${sql.table(table)} where start_at = times.at and tunnel_id = ${tunnelId} limit 1) as found`
      : sql<KeptRow>`select ${rowColumns} from ${sql.table(table)} where start_at in (${times}) and tunnel_id = ${tunnelId}`;
  return (await rows.execute(db)).rows.map((row) => ({ ...row, figures: parseFigures(row.figures) }));
}

/** What the previous release writes, and wrote: empty a week after the last of its processes has ended. */
async function readPreviousRows(db: Queries, tunnelId: string, fromMs: number): Promise<readonly MinuteRow[]> {
  const rows = await db
    .selectFrom('metric_minutes')
    .select(['minute_at as minuteMs', 'rx_bytes as rxBytes', 'tx_bytes as txBytes', 'connections', 'clients'])
    .where('tunnel_id', '=', tunnelId)
    .where('minute_at', '>=', fromMs)
    .execute();
  return rows.map((row) => ({ ...row, figures: [] }));
}

/** Quarters as far as the minutes are rolled up, then minutes. */
async function readRange(from: Queryable, range: HistoryRange, tunnelId: string, nowMs: number): Promise<readonly MinuteRow[]> {
  const fromMs = historyFrom(range, nowMs);
  const endMs = startOf(minuteMs, nowMs) + minuteMs;
  if (range === 'hour') return readRows(from, 'history_minutes', tunnelId, { fromMs, beforeMs: endMs, stepMs: minuteMs });
  const untilMs = Math.max(fromMs, rolledUpUntil(await readRolledUp(from.db), tunnelId));
  const quarters = await readRows(from, 'history_quarters', tunnelId, { fromMs, beforeMs: untilMs, stepMs: quarterMs });
  const minutes = await readRows(from, 'history_minutes', tunnelId, { fromMs: untilMs, beforeMs: endMs, stepMs: minuteMs });
  return [...quarters, ...minutes];
}

export const readHistory = (store: Store, tunnelId: string, range: HistoryRange, nowMs: number): Promise<TunnelHistory> =>
  store.read(async (trx) => {
    const rows = await readRange({ db: trx, kind: store.kind }, range, tunnelId, nowMs);
    const previous = await readPreviousRows(trx, tunnelId, historyFrom(range, nowMs));
    return historyPoints(range, [...rows, ...previous], nowMs);
  });

interface TraceRow extends Pick<MinuteRow, 'minuteMs' | 'rxBytes' | 'txBytes'> {
  readonly tunnelId: string;
}

const traceColumns = sql.raw('tunnel_id as "tunnelId", start_at as "minuteMs", rx_bytes as "rxBytes", tx_bytes as "txBytes"');

async function readTraceRows({ db, kind }: Queryable, ids: readonly string[], { fromMs, beforeMs }: Omit<Span, 'stepMs'>) {
  const times = sql.join(Array.from({ length: (beforeMs - fromMs) / minuteMs }, (_, index) => fromMs + index * minuteMs));
  // For the same reason as above: one look-up for each minute of each tunnel, in one query.
  const rows =
    kind === 'postgres'
      ? sql<TraceRow>`select found.* from unnest(array[${times}]::bigint[]) as times (at)
          cross join unnest(array[${sql.join(ids)}]::text[]) as ids (id) cross join lateral
          (select ${traceColumns} from history_minutes where start_at = times.at and tunnel_id = ids.id limit 1) as found`
      : sql<TraceRow>`select ${traceColumns} from history_minutes where start_at in (${times}) and tunnel_id in (${sql.join(ids)})`;
  return (await rows.execute(db)).rows;
}

/** Traces of few tunnels: one look-up for each of their minutes. */
export async function readTraces(
  { db, kind }: Queryable,
  tunnelIds: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, readonly number[]>> {
  if (tunnelIds.length === 0) return new Map();
  const span = traceSpan(nowMs);
  const rows = Map.groupBy(await readTraceRows({ db, kind }, tunnelIds, span), ({ tunnelId }) => tunnelId);
  return new Map(tunnelIds.map((id) => [id, tracePoints(rows.get(id) ?? [], span)]));
}
