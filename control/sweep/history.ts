// Bounds the history: rolls minutes up into quarters, and says which rows no chart shows. Postgres drops these by partition.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { hourMs } from '@underpass/rules/limits.ts';
import type { Logger } from 'pino';
import { historyKeptMs, minutesKeptMs } from '../edges/feed/core/history-points.ts';
import { readRolledUp, rollUp } from '../edges/feed/history-rows.ts';
import { keepPartitions, type PartitionedTable } from '../platform/store/partitions.ts';
import type { Store } from '../platform/store/store.ts';

/** Pieces of a thousand tunnels each: 20 quarters of 100,000 tunnels. The rest waits for the next sweep. */
const piecesOfASweep = 2_000;

const partitionedTables: readonly PartitionedTable[] = [
  { table: 'history_minutes', stepMs: hourMs },
  { table: 'history_quarters', stepMs: 24 * hourMs },
];

/** Where Postgres keeps rows that have no partition. */
export type RestTable = `${PartitionedTable['table']}_rest`;

export async function rollUpHistory(store: Store, nowMs: number): Promise<void> {
  for (let pieces = 0; pieces < piecesOfASweep; pieces++) {
    if (!(await rollUp(store, nowMs))) return;
    // The embedded database answers within the turn: calls of the API need turns between.
    await nextTurn();
  }
}

/** Minutes stay until they are rolled up. */
async function keptFrom({ db }: Store, nowMs: number): Promise<Readonly<Record<PartitionedTable['table'], number>>> {
  const { untilMs } = await readRolledUp(db);
  return { history_minutes: Math.min(untilMs, nowMs - minutesKeptMs), history_quarters: nowMs - historyKeptMs };
}

/** What to delete row by row: all that has expired, but on Postgres only what has no partition. */
export async function expiredHistory(store: Store, nowMs: number) {
  const from = await keptFrom(store, nowMs);
  return partitionedTables.map(({ table }) => ({
    table: store.kind === 'postgres' ? (`${table}_rest` as const) : table,
    beforeMs: from[table],
  }));
}

/** Drops nothing while the time is in doubt. */
export async function keepHistoryPartitions(store: Store, nowMs: number, isTimeKnown: boolean, log: Logger): Promise<void> {
  if (store.kind !== 'postgres') return;
  const from = await keptFrom(store, nowMs);
  for (const partitioned of partitionedTables) {
    const keepFromMs = isTimeKnown ? from[partitioned.table] : 0;
    const isKept = await keepPartitions(store, partitioned, keepFromMs, nowMs);
    if (!isKept)
      log.info(
        { table: partitioned.table },
        'partitions could not be changed while others read them; the next sweep tries again',
      );
  }
}
