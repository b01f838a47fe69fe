// The calls about usage: this month or another against the project's limits, its hours as CSV, and figures for Prometheus.

import type { ProjectUsage } from '@underpass/rules/entity/resource.ts';
import { monthAt, parseMonth, type UsageMonth } from '@underpass/rules/text/month.ts';
import { renderCsvRow } from '../people/audit/csv.ts';
import type { AreaHandlers, CallContext } from '../request/caller/call.ts';
import { orInvalid } from '../request/http/refusal.ts';
import { type FiguresDeps, getMetrics } from './figures.ts';
import { readHours, readMonth } from './month.ts';
import { hasTrafficLimit } from './traffic-limit.ts';

type UsageDeps = FiguresDeps;

const monthOf = ({ query, nowMs }: CallContext<'getUsage' | 'exportUsage'>): UsageMonth =>
  query.month === undefined ? monthAt(nowMs) : orInvalid(parseMonth(query.month));

async function getUsage({ store: { db } }: UsageDeps, context: CallContext<'getUsage'>): Promise<ProjectUsage> {
  const { membership } = context;
  const month = monthOf(context);
  const { gigabytesPerMonth } = membership.quotas;
  const row = await db.selectFrom('projects').select('over_limit_at').where('id', '=', membership.id).executeTakeFirstOrThrow();
  return {
    month: month.name,
    ...(await readMonth(db, membership.id, month)),
    ...(hasTrafficLimit(gigabytesPerMonth) ? { gigabytesPerMonth } : {}),
    ...(row.over_limit_at === null || month.startMs !== monthAt(context.nowMs).startMs
      ? {}
      : { stoppedSince: new Date(row.over_limit_at).toISOString() }),
  };
}

const csvColumns = ['hour', 'rxBytes', 'txBytes', 'requests', 'connections', 'tunnelHours', 'signIns'] as const;

async function exportUsage({ store: { db } }: UsageDeps, context: CallContext<'exportUsage'>): Promise<Response> {
  const month = monthOf(context);
  const hours = await readHours(db, context.membership.id, month);
  const lines = hours.map((row) => renderCsvRow(csvColumns.map((name) => String(row[name]))));
  return new Response([renderCsvRow(csvColumns), ...lines].join(''), {
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="usage-${month.name}.csv"`,
    },
  });
}

export const usageHandlers = { getUsage, exportUsage, getMetrics } satisfies AreaHandlers<UsageDeps>;
