// Minute history in the store: written in batches once a minute, read for charts. The sweep (sweep/sweep.ts) deletes what no chart can show.

import type { HistoryRange, TunnelHistory } from '@underpass/rules/resource.ts';
import type { Store } from '../store/store.ts';
import { historyFrom, historyPoints } from './core/history-points.ts';
import type { MinuteTally, TunnelMinute } from './minute-tally.ts';

const rowOf = (minute: TunnelMinute) => ({
  tunnel_id: minute.tunnelId,
  minute_at: minute.minuteMs,
  rx_bytes: minute.rxBytes,
  tx_bytes: minute.txBytes,
  connections: minute.connections,
  clients: minute.clients,
});

/** Adds to rows that exist: another control process may have written the same minute. */
export async function writeMinutes(store: Store, minutes: readonly TunnelMinute[]): Promise<void> {
  await store.write(async (trx) => {
    const ids = minutes.map((minute) => minute.tunnelId);
    const existing = await trx.selectFrom('tunnels').select('id').where('id', 'in', ids).execute();
    const known = new Set(existing.map((row) => row.id));
    const rows = minutes.filter((minute) => known.has(minute.tunnelId)).map(rowOf);
    if (rows.length === 0) return;
    await trx
      .insertInto('metric_minutes')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['tunnel_id', 'minute_at']).doUpdateSet((eb) => ({
          rx_bytes: eb('metric_minutes.rx_bytes', '+', eb.ref('excluded.rx_bytes')),
          tx_bytes: eb('metric_minutes.tx_bytes', '+', eb.ref('excluded.tx_bytes')),
          connections: eb('metric_minutes.connections', '+', eb.ref('excluded.connections')),
          clients: eb
            .case()
            .when('excluded.clients', '>', eb.ref('metric_minutes.clients'))
            .then(eb.ref('excluded.clients'))
            .else(eb.ref('metric_minutes.clients'))
            .end(),
        })),
      )
      .execute();
  });
}

/** Batches that cannot be written stay in the tally, so an outage of the database leaves no hole in the charts. */
export async function writeTally(store: Store, tally: MinuteTally, nowMs: number, ending: boolean): Promise<void> {
  for (let some = tally.take(nowMs, ending); some.length > 0; some = tally.take(nowMs, ending)) {
    await writeMinutes(store, some).catch((error) => {
      tally.putBack(some);
      throw error;
    });
  }
}

export async function readHistory(store: Store, tunnelId: string, range: HistoryRange, nowMs: number): Promise<TunnelHistory> {
  const rows = await store.db
    .selectFrom('metric_minutes')
    .select(['minute_at as minuteMs', 'rx_bytes as rxBytes', 'tx_bytes as txBytes', 'connections', 'clients'])
    .where('tunnel_id', '=', tunnelId)
    .where('minute_at', '>=', historyFrom(range, nowMs))
    .execute();
  return historyPoints(range, rows, nowMs);
}
