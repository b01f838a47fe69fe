// Minute history in the store: written in one batch a minute, read for charts, dropped when no chart can show it.

import type { Store } from '../store/store.ts';
import { type History, type HistoryRange, historyFrom, historyKeptMs, historyPoints } from './core/history-points.ts';
import type { TunnelMinute } from './minute-tally.ts';

/** Old rows go this many minutes at a time. */
const minuteOfMs = 60_000;

export interface MetricHistory {
  readonly write: (minutes: readonly TunnelMinute[]) => Promise<void>;
  readonly read: (tunnelId: string, range: HistoryRange, nowMs: number) => Promise<History>;
  readonly prune: (nowMs: number) => Promise<void>;
}

export function createHistory(store: Store): MetricHistory {
  const write = async (minutes: readonly TunnelMinute[]): Promise<void> => {
    await store.write(async (trx) => {
      const ids = minutes.map((minute) => minute.tunnelId);
      const alive = await trx.selectFrom('tunnels').select('id').where('id', 'in', ids).execute();
      const living = new Set(alive.map((row) => row.id));
      const rows = minutes.filter((minute) => living.has(minute.tunnelId)).map(rowOf);
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
  };

  return {
    write,
    read: async (tunnelId, range, nowMs) => {
      const rows = await store.db
        .selectFrom('metric_minutes')
        .select(['minute_at as minuteMs', 'rx_bytes as rxBytes', 'tx_bytes as txBytes', 'connections', 'clients'])
        .where('tunnel_id', '=', tunnelId)
        .where('minute_at', '>=', historyFrom(range, nowMs))
        .execute();
      return historyPoints(range, rows, nowMs);
    },
    prune: async (nowMs) => {
      const before = Math.floor((nowMs - historyKeptMs) / minuteOfMs) * minuteOfMs;
      await store.db.deleteFrom('metric_minutes').where('minute_at', '<', before).execute();
    },
  };
}

const rowOf = (minute: TunnelMinute) => ({
  tunnel_id: minute.tunnelId,
  minute_at: minute.minuteMs,
  rx_bytes: minute.rxBytes,
  tx_bytes: minute.txBytes,
  connections: minute.connections,
  clients: minute.clients,
});
