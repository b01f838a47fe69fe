// Adds up what passed through each tunnel, minute by minute, until it is written to the store.

import type { MinuteRow } from './core/history-points.ts';
import { minuteMs, startOf } from './core/history-points.ts';
import type { Traffic } from './core/rate-window.ts';

export interface TunnelMinute extends MinuteRow {
  readonly tunnelId: string;
}

/** Rows of one statement: six parameters each, far under both databases' limits. One commit for each. */
const takenAtOnce = 500;
/** Rows that wait while the database is away: two minutes of a full region. Beyond that the oldest are dropped. */
const maxRows = 200_000;

type Row = { -readonly [K in keyof TunnelMinute]: TunnelMinute[K] };

const keyOf = ({ minuteMs: start, tunnelId }: TunnelMinute): string => `${start}/${tunnelId}`;

export class MinuteTally {
  readonly #rows = new Map<string, Row>();

  add(tunnelId: string, traffic: Traffic, clients: number, nowMs: number): void {
    if (clients === 0 && traffic.rxBytes + traffic.txBytes + traffic.connections === 0) return;
    const row = this.#rowOf(tunnelId, nowMs);
    row.rxBytes += traffic.rxBytes;
    row.txBytes += traffic.txBytes;
    row.connections += traffic.connections;
    row.clients = Math.max(row.clients, clients);
  }

  /** Takes out one batch of the minutes that are over; at the end also of the running one. Empty when none is left. */
  take(nowMs: number, ending = false): readonly TunnelMinute[] {
    const running = startOf(minuteMs, nowMs);
    const done = this.#rows.values().filter((row) => ending || row.minuteMs < running);
    const batch = [...done.take(takenAtOnce)];
    for (const row of batch) this.#rows.delete(keyOf(row));
    return batch;
  }

  /** A batch that could not be written waits for the next attempt. */
  putBack(minutes: readonly TunnelMinute[]): void {
    for (const minute of minutes) if (this.#rows.size < maxRows) this.#rows.set(keyOf(minute), minute);
  }

  #rowOf(tunnelId: string, nowMs: number): Row {
    const empty = { tunnelId, minuteMs: startOf(minuteMs, nowMs), rxBytes: 0, txBytes: 0, connections: 0, clients: 0 };
    const known = this.#rows.get(keyOf(empty));
    if (known !== undefined) return known;
    const oldest = this.#rows.size >= maxRows ? this.#rows.keys().next().value : undefined;
    if (oldest !== undefined) this.#rows.delete(oldest);
    this.#rows.set(keyOf(empty), empty);
    return empty;
  }
}
