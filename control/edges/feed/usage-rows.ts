// What each project uses, by the hour: for its own page, for an operator's bill, and for the limit of a month. The tally of minutes
// adds to it in the transaction that writes them, so nothing counts twice.

import { hourMs } from '@underpass/rules/limits.ts';
import { sql } from 'kysely';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { startOf } from './core/history-points.ts';
import type { TunnelMinute } from './minute-tally.ts';

export const usageColumns = ['rx_bytes', 'tx_bytes', 'requests', 'connections', 'tunnel_minutes', 'sign_ins'] as const;
export type UsageCounts = Pick<Schema['usage_hours'], (typeof usageColumns)[number]>;
type UsageRow = UsageCounts & Pick<Schema['usage_hours'], 'project_id' | 'hour_at'>;

export const noUsage: UsageCounts = { rx_bytes: 0, tx_bytes: 0, requests: 0, connections: 0, tunnel_minutes: 0, sign_ins: 0 };

export const addCounts = (a: UsageCounts, b: UsageCounts): UsageCounts =>
  Object.fromEntries(usageColumns.map((name) => [name, Number(a[name]) + Number(b[name])])) as unknown as UsageCounts;

/** One row for each project and hour, in one order in every process: two that write at once then wait for each other in turn. */
export function usageOfMinutes(minutes: readonly TunnelMinute[]): readonly UsageRow[] {
  const rows = new Map<string, UsageRow>();
  for (const { projectId, minuteMs, rxBytes, txBytes, requests, connections, connectedMinutes } of minutes) {
    if (projectId === undefined) continue;
    const hour = startOf(hourMs, minuteMs);
    const key = `${projectId} ${hour}`;
    const own = { rx_bytes: rxBytes, tx_bytes: txBytes, requests, connections, tunnel_minutes: connectedMinutes, sign_ins: 0 };
    rows.set(key, { project_id: projectId, hour_at: hour, ...addCounts(rows.get(key) ?? noUsage, own) });
  }
  return [...rows.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

/** An operator's billing gets rows that grew again. */
export async function addUsage(trx: Queries, rows: readonly UsageRow[]): Promise<void> {
  if (rows.length === 0) return;
  const sums = Object.fromEntries(
    usageColumns.map((name) => [name, sql<number>`${sql.ref(`usage_hours.${name}`)} + ${sql.ref(`excluded.${name}`)}`]),
  );
  await trx
    .insertInto('usage_hours')
    .values(rows.map((row) => ({ ...row, told: 0 as const })))
    .onConflict((conflict) => conflict.columns(['hour_at', 'project_id']).doUpdateSet({ ...sums, told: 0 }))
    .execute();
}

export const addSignIn = (db: Queries, projectId: string, nowMs: number): Promise<void> =>
  addUsage(db, [{ project_id: projectId, hour_at: startOf(hourMs, nowMs), ...noUsage, sign_ins: 1 }]);
