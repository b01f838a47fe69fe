// Abuse reports: anybody may send one, operators read and close them.

import { addressKey } from '@underpass/rules/address.ts';
import { parseEmail } from '@underpass/rules/email.ts';
import { parseHostname } from '@underpass/rules/hostname.ts';
import type { AbuseReport } from '@underpass/rules/resource.ts';
import type { CallContext } from '../api/call.ts';
import { orInvalid, orMissing, refuse } from '../api/refusal.ts';
import { passBotCheck } from '../auth/calls.ts';
import { addJob } from '../job/queue.ts';
import { auditDesk, type Desk, listedAtMost } from '../operator/actor.ts';
import { createId } from '../store/id.ts';
import type { AbuseReportsTable } from '../store/schema.ts';

const textMaxChars = 5_000;

/** People paste an address, or a host. */
const parseHost = (text: string): string => {
  const trimmed = text.trim();
  const host = parseHostname(URL.parse(trimmed)?.hostname ?? trimmed);
  return host ?? refuse('invalid', 'Please enter a valid domain name.');
};

const parseText = (text: string): string => {
  const value = text.trim();
  if (value === '') return refuse('invalid', 'Required.');
  return value.length <= textMaxChars
    ? value
    : refuse('invalid', `Must be at most ${textMaxChars} characters; this has ${value.length}.`);
};

export const reportAbuse = async ({ deps, body, address, nowMs }: CallContext<'reportAbuse'>): Promise<void> => {
  const host = parseHost(body.host);
  const email = orInvalid(parseEmail(body.email));
  const text = parseText(body.text);
  await deps.limiter.take('abuseReport', addressKey(address));
  await passBotCheck(deps, body['bot-check'], address);
  await deps.limiter.take('abuseReportOverall', 'all');
  await deps.store.write(async (trx) => {
    const row = { id: createId(nowMs), host, email, text, state: 'open' as const, address, created_at: nowMs };
    await trx.insertInto('abuse_reports').values(row).execute();
    const mail = `${email} reports ${host}. Read it at ${deps.settings.origin}/operator/abuse-reports\n`;
    await addJob(trx, nowMs, 'operator-mail', { subject: `Abuse report about ${host}`, text: mail });
  });
  deps.jobs.wake();
};

const toReport = (row: AbuseReportsTable): AbuseReport => ({
  id: row.id,
  host: row.host,
  email: row.email,
  text: row.text,
  state: row.state,
  createdAt: new Date(row.created_at).toISOString(),
});

const parseState = (text: string): AbuseReport['state'] =>
  text === 'open' || text === 'closed' ? text : refuse('invalid', "State must be 'open' or 'closed'.");

export const listAbuseReports = async ({ parts }: Desk, state?: string): Promise<AbuseReport[]> => {
  const all = parts.store.db.selectFrom('abuse_reports').selectAll().orderBy('id', 'desc').limit(listedAtMost);
  const rows = await (state === undefined ? all : all.where('state', '=', parseState(state))).execute();
  return rows.map(toReport);
};

export const changeAbuseReport = async (desk: Desk, id: string, stateText: string): Promise<AbuseReport> => {
  const state = parseState(stateText);
  return desk.parts.store.write(async (trx) => {
    const row = await trx.updateTable('abuse_reports').set({ state }).where('id', '=', id).returningAll().executeTakeFirst();
    const report = toReport(orMissing(row, 'Report'));
    await auditDesk(trx, desk, { action: `abuse-report.${state}`, target: report.host });
    return report;
  });
};
