// The usage of a month, from the hours in the store.

import type { ProjectUsage } from '@underpass/rules/entity/resource.ts';
import { dayMs } from '@underpass/rules/limits.ts';
import type { UsageMonth } from '@underpass/rules/text/month.ts';
import { addCounts, noUsage, type UsageCounts, usageColumns } from '../edges/feed/usage-rows.ts';
import type { Queries } from '../platform/store/store.ts';

const hoursOf = (db: Queries, projectId: string, { startMs, endMs }: UsageMonth) =>
  db
    .selectFrom('usage_hours')
    .select(['hour_at', ...usageColumns])
    .where('project_id', '=', projectId)
    .where('hour_at', '>=', startMs)
    .where('hour_at', '<', endMs)
    .orderBy('hour_at');

export const renderCounts = (counts: UsageCounts): ProjectUsage['total'] => ({
  rxBytes: counts.rx_bytes,
  txBytes: counts.tx_bytes,
  requests: counts.requests,
  connections: counts.connections,
  tunnelHours: Math.round(counts.tunnel_minutes / 6) / 10,
  signIns: counts.sign_ins,
});

/** Reads the days of a month that have any usage: 31 at most. */
export async function readMonth(
  db: Queries,
  projectId: string,
  month: UsageMonth,
): Promise<Pick<ProjectUsage, 'days' | 'total'>> {
  const hours = await hoursOf(db, projectId, month).execute();
  const byDay = Map.groupBy(hours, ({ hour_at }) => Math.floor(hour_at / dayMs) * dayMs);
  const sum = (rows: readonly UsageCounts[]): UsageCounts => rows.reduce(addCounts, noUsage);
  const days = [...byDay].map(([day, rows]) => ({ day: new Date(day).toISOString().slice(0, 10), ...renderCounts(sum(rows)) }));
  return { days, total: renderCounts(sum(hours)) };
}

/** The hours of one month, 744 at most. */
export const readHours = async (db: Queries, projectId: string, month: UsageMonth) =>
  (await hoursOf(db, projectId, month).execute()).map(({ hour_at, ...counts }) => ({
    hour: new Date(hour_at).toISOString(),
    ...renderCounts(counts),
  }));
