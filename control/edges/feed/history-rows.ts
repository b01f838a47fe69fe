// The rows of the history: minutes for the shortest chart, and quarters of an hour, into which they are rolled up, for the others.
// What has been rolled up is noted in the transaction that does it, so each minute counts once.

import { addFigures, type Figures, parseFigures, renderFigures } from '@underpass/rules/tunnel/figures.ts';
import { type RawBuilder, sql } from 'kysely';
import { piecesOf } from '../../platform/store/pieces.ts';
import type { Schema } from '../../platform/store/schema.ts';
import { readSetting, writeSetting } from '../../platform/store/setting.ts';
import type { Queries, Store } from '../../platform/store/store.ts';
import { minuteMs, quarterMs, startOf } from './core/history-points.ts';
import type { TunnelMinute } from './minute-tally.ts';
import { addTotals } from './tunnel-totals.ts';
import { addUsage, usageOfMinutes } from './usage-rows.ts';

type HistoryTableName = 'history_minutes' | 'history_quarters';

/** Rows of one statement. */
const rowsAtOnce = 500;
/** Tunnels of one transaction: 15,000 rows at most. */
const tunnelsAtOnce = 1_000;
/** Control writes a minute within two after its end. Later ones, as after an outage, are added to their quarter. */
const settledMs = 5 * minuteMs;

/** Minutes before `untilMs` are rolled up; those of the quarter that begins there, for tunnels up to `afterId`. */
interface RolledUp {
  readonly untilMs: number;
  readonly afterId: string;
}

const settingName = 'history-rolled-up';

/** The minutes of the tunnel before this are in its quarters. */
export const rolledUpUntil = ({ untilMs, afterId }: RolledUp, tunnelId: string): number =>
  tunnelId <= afterId ? untilMs + quarterMs : untilMs;

const none: RolledUp = { untilMs: 0, afterId: '' };

export const readRolledUp = async (db: Queries): Promise<RolledUp> => (await readSetting<RolledUp>(db, settingName)) ?? none;

/** Another process waits here until the transaction ends. */
async function lockRolledUp(trx: Queries): Promise<RolledUp> {
  const row = await trx
    .insertInto('settings')
    .values({ name: settingName, value: JSON.stringify(none) })
    .onConflict((conflict) => conflict.column('name').doUpdateSet((eb) => ({ value: eb.ref('settings.value') })))
    .returning('value')
    .executeTakeFirstOrThrow();
  return JSON.parse(row.value) as RolledUp;
}

const noteRolledUp = (trx: Queries, rolledUp: RolledUp): Promise<void> => writeSetting(trx, settingName, rolledUp);

/** Adds to rows that exist: another control process may have written the same minute. */
function insertInto(table: HistoryTableName, rows: RawBuilder<unknown>): RawBuilder<unknown> {
  const own = (column: keyof Schema[HistoryTableName]) => sql.ref(`${table}.${column}`);
  return sql`insert into ${sql.table(table)} (start_at, tunnel_id, rx_bytes, tx_bytes, connections, clients, figures) ${rows}
    on conflict (start_at, tunnel_id) do update set
      rx_bytes = ${own('rx_bytes')} + excluded.rx_bytes,
      tx_bytes = ${own('tx_bytes')} + excluded.tx_bytes,
      connections = ${own('connections')} + excluded.connections,
      clients = case when excluded.clients > ${own('clients')} then excluded.clients else ${own('clients')} end,
      figures = coalesce(${own('figures')} || ';' || excluded.figures, ${own('figures')}, excluded.figures)`;
}

const textOf = (figures: Figures): string | null => (figures.length === 0 ? null : renderFigures(figures));

async function addRows(trx: Queries, table: HistoryTableName, minutes: readonly TunnelMinute[]): Promise<void> {
  if (minutes.length === 0) return;
  const values = minutes.map(
    (row) =>
      sql`(${row.minuteMs}, ${row.tunnelId}, ${row.rxBytes}, ${row.txBytes}, ${row.connections}, ${row.clients}, ${textOf(row.figures)})`,
  );
  await insertInto(table, sql`values ${sql.join(values)}`).execute(trx);
}

/** One statement may not change a row twice. */
function sumByQuarter(minutes: readonly TunnelMinute[]): readonly TunnelMinute[] {
  const quarterOf = (row: TunnelMinute): number => startOf(quarterMs, row.minuteMs);
  const groups = Map.groupBy(minutes, (row) => `${quarterOf(row)}/${row.tunnelId}`);
  return [...groups.values()].map((rows) =>
    rows.reduce((sum, row) => ({
      ...row,
      minuteMs: quarterOf(row),
      rxBytes: sum.rxBytes + row.rxBytes,
      txBytes: sum.txBytes + row.txBytes,
      connections: sum.connections + row.connections,
      clients: Math.max(sum.clients, row.clients),
      figures: addFigures(sum.figures, row.figures),
    })),
  );
}

/** A minute that is rolled up already is added to its quarter: only the chart of the last hour lacks it. */
export async function writeMinutes(store: Store, minutes: readonly TunnelMinute[]): Promise<void> {
  await store.write(async (trx) => {
    const rolledUp = await readRolledUp(trx);
    const isLate = (row: TunnelMinute): boolean => row.minuteMs < rolledUpUntil(rolledUp, row.tunnelId);
    const { late = [], timely = [] } = Object.groupBy(minutes, (row) => (isLate(row) ? 'late' : 'timely'));
    await addRows(trx, 'history_minutes', timely);
    await addRows(trx, 'history_quarters', sumByQuarter(late));
    await addUsage(trx, usageOfMinutes(minutes));
    await addTotals(trx, minutes);
  });
}

/** The oldest quarter with a row that is not rolled up. */
async function nextQuarter(trx: Queries, fromMs: number, beforeMs: number): Promise<number | undefined> {
  const oldest = await trx
    .selectFrom('history_minutes')
    .select('start_at')
    .where('start_at', '>=', fromMs)
    .where('start_at', '<', beforeMs)
    .orderBy('start_at')
    .limit(1)
    .executeTakeFirst();
  return oldest && startOf(quarterMs, oldest.start_at);
}

/** The last tunnel of the next piece; undefined if the piece is the last. */
async function endOfPiece(trx: Queries, afterId: string, tunnels: number): Promise<string | undefined> {
  const last = await trx
    .selectFrom('tunnels')
    .select('id')
    .where('id', '>', afterId)
    .orderBy('id')
    .offset(tunnels - 1)
    .limit(1)
    .executeTakeFirst();
  return last?.id;
}

/** The statement above joins the figures of minutes; their sum takes a tenth of the room. */
async function sumFigures(trx: Queries, quarter: number, afterId: string, lastId: string | undefined): Promise<void> {
  const joined = await trx
    .selectFrom('history_quarters')
    .select(['tunnel_id', 'figures'])
    .where('start_at', '=', quarter)
    .where('tunnel_id', '>', afterId)
    .$if(lastId !== undefined, (query) => query.where('tunnel_id', '<=', lastId!))
    .where('figures', 'like', '%;%')
    .execute();
  for (const some of piecesOf(joined, rowsAtOnce)) {
    const sums = some.map((row) => sql`(${row.tunnel_id}, ${textOf(parseFigures(row.figures))})`);
    await sql`with sums (id, figures) as (values ${sql.join(sums)})
      update history_quarters set figures = (select sums.figures from sums where sums.id = tunnel_id)
      where start_at = ${quarter} and tunnel_id in (${sql.join(some.map((row) => row.tunnel_id))})`.execute(trx);
  }
}

async function rollUpPiece(
  { trx, kind }: { readonly trx: Queries; readonly kind: Store['kind'] },
  quarter: number,
  afterId: string,
  lastId: string | undefined,
): Promise<void> {
  // Reads by name, because the key begins with the minute: fifteen short ranges of it.
  const minutes = Array.from({ length: quarterMs / minuteMs }, (_, index) => quarter + index * minuteMs);
  const upToLast = lastId === undefined ? sql`` : sql`and tunnel_id <= ${lastId}`;
  const join = sql.raw(kind === 'postgres' ? 'string_agg' : 'group_concat');
  const sum = (column: string) => sql`cast(sum(${sql.ref(column)}) as bigint)`;
  const rows = sql`select cast(${quarter} as bigint), tunnel_id, ${sum('rx_bytes')}, ${sum('tx_bytes')}, ${sum('connections')},
      max(clients), ${join}(figures, ';')
    from history_minutes where start_at in (${sql.join(minutes)}) and tunnel_id > ${afterId} ${upToLast} group by tunnel_id`;
  await insertInto('history_quarters', rows).execute(trx);
  await sumFigures(trx, quarter, afterId, lastId);
}

/** Rolls up one piece of what is settled. False if there is none. */
export const rollUp = (store: Store, nowMs: number, tunnels = tunnelsAtOnce): Promise<boolean> =>
  store.write(async (trx) => {
    const settledUntilMs = startOf(quarterMs, nowMs - settledMs);
    const { untilMs, afterId } = await lockRolledUp(trx);
    if (untilMs >= settledUntilMs) return false;
    const quarter = afterId === '' ? await nextQuarter(trx, untilMs, settledUntilMs) : untilMs;
    if (quarter === undefined) {
      await noteRolledUp(trx, { untilMs: settledUntilMs, afterId: '' });
      return false;
    }
    const lastId = await endOfPiece(trx, afterId, tunnels);
    await rollUpPiece({ trx, kind: store.kind }, quarter, afterId, lastId);
    const isWhole = lastId === undefined;
    await noteRolledUp(trx, isWhole ? { untilMs: quarter + quarterMs, afterId: '' } : { untilMs: quarter, afterId: lastId });
    return true;
  });
