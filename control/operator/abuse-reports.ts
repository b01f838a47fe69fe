// Abuse reports: anybody may send one, and operators read and close them.

import { addressKey } from '@underpass/rules/address/address.ts';
import type { AbuseReport } from '@underpass/rules/entity/resource.ts';
import type { ListPage, ListQuery } from '@underpass/rules/list/list-page.ts';
import { parseAbuseReport } from '@underpass/rules/people/abuse-report.ts';
import { sql } from 'kysely';
import { type BotCheck, passBotCheck } from '../people/auth/bot-check.ts';
import { addJob } from '../platform/job/queue.ts';
import { type Limiter, takeShare } from '../platform/limit/limiter.ts';
import { createId } from '../platform/store/id.ts';
import { type ListedColumns, readListPage } from '../platform/store/list-page.ts';
import type { Schema } from '../platform/store/schema.ts';
import type { CallContext } from '../request/caller/call.ts';
import { orInvalidForm, orMissing, refuse } from '../request/http/refusal.ts';
import { type ActingOperator, auditOperator, type OperatorNeeds } from './actor.ts';

export interface AbuseDeps extends Pick<OperatorNeeds, 'store' | 'jobs' | 'origin'> {
  readonly limiter: Limiter;
  readonly botCheck: BotCheck;
}

export async function reportAbuse(deps: AbuseDeps, { body, address, nowMs }: CallContext<'reportAbuse'>): Promise<void> {
  const { host, email, text, botCheck } = orInvalidForm(parseAbuseReport(body));
  await deps.limiter.take('abuseReport', addressKey(address));
  await passBotCheck(deps.botCheck, botCheck, address);
  // A flood fills the operator's mailbox and the list only so far, and keeps nobody from another network from reporting.
  const isMailed = await takeShare(deps.limiter, 'abuseReport', address);
  await deps.store.write(async (trx) => {
    const row = { id: createId(nowMs), host, email, text, state: 'open' as const, address, created_at: nowMs };
    await trx.insertInto('abuse_reports').values(row).execute();
    if (!isMailed) return;
    const mail = `${email} reports ${host}. Read it at ${deps.origin}/operator/abuse-reports\n`;
    await addJob(trx, nowMs, 'operator-mail', { subject: `Abuse report about ${host}`, text: mail });
  });
  deps.jobs.wake();
}

const toReport = (row: Schema['abuse_reports']): AbuseReport => ({
  id: row.id,
  host: row.host,
  email: row.email,
  text: row.text,
  state: row.state,
  createdAt: new Date(row.created_at).toISOString(),
});

const parseState = (text: string): AbuseReport['state'] =>
  text === 'open' || text === 'closed' ? text : refuse('invalid', "State must be 'open' or 'closed'.");

const listed: ListedColumns = {
  id: 'id',
  has: (pattern) => sql`lower(host || ' ' || email || ' ' || text) like ${pattern} escape '\\'`,
  sorts: { host: sql`lower(host)`, created: sql`created_at` },
  numbers: ['created'],
};

export async function listAbuseReports(
  { deps }: ActingOperator,
  state: string | undefined,
  query: ListQuery,
): Promise<ListPage<AbuseReport>> {
  const all = deps.store.db.selectFrom('abuse_reports').selectAll();
  const page = await readListPage(state === undefined ? all : all.where('state', '=', parseState(state)), listed, query);
  return { ...page, rows: page.rows.map(toReport) };
}

export async function changeAbuseReport(operator: ActingOperator, id: string, stateText: string): Promise<AbuseReport> {
  const state = parseState(stateText);
  return operator.deps.store.write(async (trx) => {
    const row = await trx.updateTable('abuse_reports').set({ state }).where('id', '=', id).returningAll().executeTakeFirst();
    const report = toReport(orMissing(row, 'Report'));
    await auditOperator(trx, operator, { action: `abuse-report.${state}`, target: report.host });
    return report;
  });
}
