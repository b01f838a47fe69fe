// The partitions of a table by time, in Postgres: made ahead, and dropped whole, which costs nothing for each row.

import { hourMs } from '@underpass/rules/limits.ts';
import { sql } from 'kysely';
import type { Queries, Store } from './store.ts';

export interface PartitionedTable {
  readonly table: 'history_minutes' | 'history_quarters';
  /** An hour or a day. */
  readonly stepMs: number;
}

const madeAhead = 2;
/** Both wait until nobody reads the table, a backup for instance, and all others wait behind them. */
const lockWait = '1s';
/** Postgres: lock_not_available. */
const isBusy = (error: unknown): boolean => (error as { code?: unknown })?.code === '55P03';

/** Sorts by time: `history_minutes_2026_11_26_19`. */
const nameOf = ({ table, stepMs }: PartitionedTable, startMs: number): string =>
  `${table}_${new Date(startMs)
    .toISOString()
    .slice(0, stepMs === hourMs ? 13 : 10)
    .replaceAll(/[-T]/g, '_')}`;

async function partitionsOf(trx: Queries, table: string): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`select child.relname as name from pg_inherits
    join pg_class child on child.oid = inhrelid where inhparent = ${table}::regclass and child.relname ~ '_[0-9]+$'`.execute(trx);
  return rows.map(({ name }) => name);
}

/** Rows of the rest cannot move, so that time stays without a partition. */
async function hasRest(trx: Queries, table: string, fromMs: number, beforeMs: number): Promise<boolean> {
  const rest = sql.table(`${table}_rest`);
  const found = await sql`select 1 from ${rest} where start_at >= ${fromMs} and start_at < ${beforeMs} limit 1`.execute(trx);
  return found.rows.length > 0;
}

async function make(trx: Queries, partitioned: PartitionedTable, startMs: number): Promise<void> {
  const { table, stepMs } = partitioned;
  if (await hasRest(trx, table, startMs, startMs + stepMs)) return;
  const bounds = sql`from (${sql.lit(startMs)}) to (${sql.lit(startMs + stepMs)})`;
  const name = sql.table(nameOf(partitioned, startMs));
  await sql`create table ${name} partition of ${sql.table(table)} for values ${bounds}`.execute(trx);
}

async function keep(trx: Queries, partitioned: PartitionedTable, keepFromMs: number, nowMs: number): Promise<void> {
  // The processes take turns: a name can be made once.
  await sql`select pg_advisory_xact_lock(hashtext(${partitioned.table}))`.execute(trx);
  await sql`set local lock_timeout = ${sql.lit(lockWait)}`.execute(trx);
  const existing = await partitionsOf(trx, partitioned.table);
  const { stepMs } = partitioned;
  const current = Math.floor(nowMs / stepMs) * stepMs;
  for (let ahead = 0; ahead <= madeAhead; ahead++) {
    const startMs = current + ahead * stepMs;
    if (!existing.includes(nameOf(partitioned, startMs))) await make(trx, partitioned, startMs);
  }
  const oldest = nameOf(partitioned, keepFromMs);
  for (const name of existing.filter((each) => each < oldest)) await sql`drop table ${sql.table(name)}`.execute(trx);
}

/** Makes the partitions of now and the next ones, and drops those that end before `keepFromMs`. False if it has to try again. */
export const keepPartitions = (
  store: Store,
  partitioned: PartitionedTable,
  keepFromMs: number,
  nowMs: number,
): Promise<boolean> =>
  store
    .write((trx) => keep(trx, partitioned, keepFromMs, nowMs))
    .then(
      () => true,
      (error) => {
        if (isBusy(error)) return false;
        throw error;
      },
    );
