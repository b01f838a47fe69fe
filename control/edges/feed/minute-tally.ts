// Adds up what passed through each tunnel, minute by minute, until it is written to the store.

import { addFigures } from '@underpass/rules/tunnel/figures.ts';
import type { Passed } from './core/counter.ts';
import { type MinuteRow, minuteMs, startOf } from './core/history-points.ts';

/** What is counted of one tunnel in one minute. Its usage is that of its project. */
export interface TunnelMinute extends MinuteRow {
  readonly tunnelId: string;
  /** Undefined for a tunnel that has left the region. */
  readonly projectId: string | undefined;
  readonly requests: number;
  /** 1 if a client was connected and no other process counts that. */
  readonly connectedMinutes: number;
}

type Counted = Pick<TunnelMinute, 'tunnelId' | 'projectId' | 'clients'> & { readonly isFirst: boolean };

/** Rows of one statement: six parameters each, far under both databases' limits. One commit for each. */
const takenAtOnce = 500;
/** Rows that wait while the database is away: two minutes of a full region. Beyond that the oldest are dropped. */
const maxRows = 200_000;

type Row = { -readonly [K in keyof TunnelMinute]: TunnelMinute[K] };

const keyOf = ({ minuteMs: start, tunnelId }: TunnelMinute): string => `${start}/${tunnelId}`;

export class MinuteTally {
  readonly #rows = new Map<string, Row>();

  add({ tunnelId, projectId, clients, isFirst }: Counted, passed: Passed, nowMs: number): void {
    if (clients === 0 && passed.rxBytes + passed.txBytes + passed.connections + passed.figures.length === 0) return;
    const row = this.#rowOf(tunnelId, nowMs);
    row.projectId = projectId ?? row.projectId;
    row.rxBytes += passed.rxBytes;
    row.txBytes += passed.txBytes;
    row.connections += passed.connections;
    row.requests += passed.requests;
    row.figures = addFigures(row.figures, passed.figures);
    row.clients = Math.max(row.clients, clients);
    if (isFirst) row.connectedMinutes = 1;
  }

  /** Takes out one batch of the minutes that are over; at the end also of the running one. Empty when none is left. */
  take(nowMs: number, ending: boolean): readonly TunnelMinute[] {
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
    const none = { rxBytes: 0, txBytes: 0, connections: 0, requests: 0, clients: 0, connectedMinutes: 0, figures: [] };
    const empty: Row = { tunnelId, projectId: undefined, minuteMs: startOf(minuteMs, nowMs), ...none };
    const known = this.#rows.get(keyOf(empty));
    if (known !== undefined) return known;
    const oldest = this.#rows.size >= maxRows ? this.#rows.keys().next().value : undefined;
    if (oldest !== undefined) this.#rows.delete(oldest);
    this.#rows.set(keyOf(empty), empty);
    return empty;
  }
}
