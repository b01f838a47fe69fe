// The history of tunnels in the store: written in batches once a minute, read for charts. The sweep rolls it up and deletes what no
// chart can show (sweep/history.ts).

import type { HistoryRange, TunnelHistory } from '@underpass/rules/resource.ts';
import type { Queries, Store } from '../store/store.ts';
import { historyFrom, historyPoints, type MinuteRow, minuteMs, quarterMs, startOf } from './core/history-points.ts';
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

/** The key begins with the time, so a tunnel's rows are found one by one. */
function readRows(
  db: Queries,
  table: 'history_minutes' | 'history_quarters',
  tunnelId: string,
  [fromMs, beforeMs, stepMs]: readonly [fromMs: number, beforeMs: number, stepMs: number],
): Promise<readonly MinuteRow[]> {
  const count = Math.max(0, Math.ceil((beforeMs - fromMs) / stepMs));
  if (count === 0) return Promise.resolve([]);
  return db
    .selectFrom(table)
    .select(['start_at as minuteMs', 'rx_bytes as rxBytes', 'tx_bytes as txBytes', 'connections', 'clients'])
    .where('tunnel_id', '=', tunnelId)
    .where(
      'start_at',
      'in',
      Array.from({ length: count }, (_, index) => fromMs + index * stepMs),
    )
    .execute();
}

/** What the previous release writes, and wrote: empty a week after the last of its processes has ended. */
const readPreviousRows = (db: Queries, tunnelId: string, fromMs: number): Promise<readonly MinuteRow[]> =>
  db
    .selectFrom('metric_minutes')
    .select(['minute_at as minuteMs', 'rx_bytes as rxBytes', 'tx_bytes as txBytes', 'connections', 'clients'])
    .where('tunnel_id', '=', tunnelId)
    .where('minute_at', '>=', fromMs)
    .execute();

/** Quarters as far as the minutes are rolled up, then minutes. */
async function readRange(db: Queries, range: HistoryRange, tunnelId: string, nowMs: number): Promise<readonly MinuteRow[]> {
  const fromMs = historyFrom(range, nowMs);
  const endMs = startOf(minuteMs, nowMs) + minuteMs;
  if (range === 'hour') return readRows(db, 'history_minutes', tunnelId, [fromMs, endMs, minuteMs]);
  const untilMs = Math.max(fromMs, rolledUpUntil(await readRolledUp(db), tunnelId));
  const quarters = await readRows(db, 'history_quarters', tunnelId, [fromMs, untilMs, quarterMs]);
  const minutes = await readRows(db, 'history_minutes', tunnelId, [untilMs, endMs, minuteMs]);
  return [...quarters, ...minutes];
}

export const readHistory = (store: Store, tunnelId: string, range: HistoryRange, nowMs: number): Promise<TunnelHistory> =>
  store.read(async (trx) => {
    const rows = await readRange(trx, range, tunnelId, nowMs);
    const previous = await readPreviousRows(trx, tunnelId, historyFrom(range, nowMs));
    return historyPoints(range, [...rows, ...previous], nowMs);
  });
