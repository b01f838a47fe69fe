// Adds up what passed through each tunnel until the minute is written: one batch a minute, however many beats.

import type { MinuteRow } from './core/history-points.ts';
import { minuteMs } from './core/history-points.ts';
import type { Traffic } from './core/rate-window.ts';

export interface TunnelMinute extends MinuteRow {
  readonly tunnelId: string;
}

export interface MinuteTally {
  readonly add: (tunnelId: string, traffic: Traffic, clients: number, nowMs: number) => void;
  /** Takes out some of everything up to and without the minute that still runs, of all of it at the end; none when none is left. */
  readonly take: (nowMs: number, ending?: boolean) => readonly TunnelMinute[];
  /** What was taken and could not be written waits on. */
  readonly putBack: (minutes: readonly TunnelMinute[]) => void;
}

/** Rows of one statement: six parameters each, far under both databases' limits. */
const takenAtOnce = 100;
/** Rows waiting to be written when the database is away: two minutes of a full region; then the oldest go. */
const maxRows = 200_000;

type Row = { -readonly [K in keyof TunnelMinute]: TunnelMinute[K] };

export function createMinuteTally(): MinuteTally {
  const rows = new Map<string, Row>();

  const rowOf = (tunnelId: string, nowMs: number): Row => {
    const minute = Math.floor(nowMs / minuteMs) * minuteMs;
    const key = `${minute}/${tunnelId}`;
    const row = rows.get(key) ?? { tunnelId, minuteMs: minute, rxBytes: 0, txBytes: 0, connections: 0, clients: 0 };
    if (!rows.has(key)) dropOldest();
    rows.set(key, row);
    return row;
  };

  const dropOldest = (): void => {
    const oldest = rows.size >= maxRows ? rows.keys().next().value : undefined;
    if (oldest !== undefined) rows.delete(oldest);
  };

  const add = (tunnelId: string, traffic: Traffic, clients: number, nowMs: number): void => {
    if (clients === 0 && traffic.rxBytes + traffic.txBytes + traffic.connections === 0) return;
    const row = rowOf(tunnelId, nowMs);
    row.rxBytes += traffic.rxBytes;
    row.txBytes += traffic.txBytes;
    row.connections += traffic.connections;
    row.clients = Math.max(row.clients, clients);
  };

  const take = (nowMs: number, ending = false): readonly TunnelMinute[] => {
    const running = Math.floor(nowMs / minuteMs) * minuteMs;
    const done: Row[] = [];
    for (const [key, row] of rows) {
      if (done.length === takenAtOnce) break;
      if (!ending && row.minuteMs >= running) continue;
      done.push(row);
      rows.delete(key);
    }
    return done;
  };

  const putBack = (minutes: readonly TunnelMinute[]): void => {
    for (const minute of minutes) if (rows.size < maxRows) rows.set(`${minute.minuteMs}/${minute.tunnelId}`, minute);
  };

  return { add, take, putBack };
}
