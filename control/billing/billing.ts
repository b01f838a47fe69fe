// Tells an operator's billing system what projects used, hour by hour, and takes limits from its answer. An hour is sent once it is
// over; if more of it arrives later, it is sent again with the same id, and replaces what was sent before.

import { createHash } from 'node:crypto';
import { hourMs } from '@underpass/rules/limits.ts';
import { signatureFields } from '../alerts/webhook/message.ts';
import { usageColumns } from '../edges/feed/usage-rows.ts';
import type { OperatorNeeds } from '../operator/actor.ts';
import { changeProject } from '../operator/projects.ts';
import type { Schema } from '../platform/store/schema.ts';
import type { Queries } from '../platform/store/store.ts';
import { readQuotas } from '../request/caller/membership.ts';
import type { CallDeps } from '../request/deps.ts';
import { readBounded } from '../request/http/body.ts';
import { renderCounts } from '../usage/month.ts';

export interface UsageWebhook {
  readonly url: string;
  /** `whsec_…`, as Standard Webhooks has it. */
  readonly secret: string;
}

type BillingDeps = OperatorNeeds & Pick<CallDeps, 'clock' | 'log'>;

/** Edges and control have reported an hour by then, unless one of them was away. */
const settledMs = 10 * 60_000;
const hoursOfAMessage = 500;
const messagesOfARun = 20;
const answerTimeoutMs = 10_000;
const answerMaxBytes = 256 * 1024;

type Row = Pick<Schema['usage_hours'], 'hour_at' | 'project_id' | (typeof usageColumns)[number]>;

const readUntold = (db: Queries, nowMs: number): Promise<Row[]> =>
  db
    .selectFrom('usage_hours')
    .select(['hour_at', 'project_id', ...usageColumns])
    .where('told', '=', 0)
    .where('hour_at', '<=', nowMs - hourMs - settledMs)
    .orderBy('hour_at')
    .orderBy('project_id')
    .limit(hoursOfAMessage)
    .execute();

/** A row that has grown since it was read is sent again: no count falls. */
async function noteTold(db: Queries, rows: readonly Row[]): Promise<void> {
  for (const row of rows) {
    const own = db.updateTable('usage_hours').set({ told: 1 }).where('hour_at', '=', row.hour_at);
    const same = usageColumns.reduce((query, name) => query.where(name, '=', row[name]), own);
    await same.where('project_id', '=', row.project_id).execute();
  }
}

function renderMessage(rows: readonly Row[], nowMs: number): { readonly id: string; readonly body: string } {
  const hours = rows.map(({ hour_at, project_id, ...counts }) => {
    const hour = new Date(hour_at).toISOString();
    return { id: `${project_id}/${hour}`, project: project_id, hour, ...renderCounts(counts) };
  });
  const body = JSON.stringify({ type: 'usage.hours', timestamp: new Date(nowMs).toISOString(), data: { hours } });
  // The same hours with the same counts have the same id, so that a receiver may ignore a repetition.
  const id = `msg_${createHash('sha256').update(JSON.stringify(hours)).digest('base64url').slice(0, 27)}`;
  return { id, body };
}

/** What the answer says about limits. Throws unless the receiver has taken the message. */
async function post({ url, secret }: UsageWebhook, message: { readonly id: string; readonly body: string }, nowMs: number) {
  const headers = { 'content-type': 'application/json', ...signatureFields([secret], { ...message, atMs: nowMs }) };
  const signal = AbortSignal.timeout(answerTimeoutMs);
  const response = await fetch(url, { method: 'POST', headers, body: message.body, signal, redirect: 'error' });
  if (!response.ok) throw new Error(`the receiver of usage answered ${response.status}`);
  return readLimits(response).catch(() => undefined);
}

/** An answer that is no JSON, or too long, says nothing about limits. */
async function readLimits(response: Response): Promise<unknown> {
  const text = (await readBounded(response, answerMaxBytes)).toString('utf8');
  return (JSON.parse(text) as { readonly limits?: unknown } | null)?.limits;
}

const isNumbers = (value: unknown): value is Readonly<Record<string, number>> =>
  typeof value === 'object' && value !== null && Object.values(value).every((each) => Number.isSafeInteger(each));

/** `{"limits": {"PROJECT": {"gigabytesPerMonth": 50}}}`. A limit that cannot be set stops no other. */
async function takeLimits(deps: BillingDeps, limits: unknown): Promise<void> {
  if (typeof limits !== 'object' || limits === null) return;
  for (const [project, own] of Object.entries(limits))
    await takeLimit(deps, project, own).catch((error: unknown) =>
      deps.log.warn({ project, err: error }, 'usage: a limit was not set'),
    );
}

/** Changes nothing, and logs nothing, where the project has these limits: an answer may repeat them every hour. */
async function takeLimit(deps: BillingDeps, project: string, own: unknown): Promise<void> {
  if (!isNumbers(own)) throw new Error('limits must be whole numbers');
  const row = await deps.store.db.selectFrom('projects').select('limits').where('id', '=', project).executeTakeFirst();
  const quotas: Readonly<Record<string, number>> = readQuotas(row?.limits ?? null);
  if (row !== undefined && Object.entries(own).every(([name, value]) => quotas[name] === value)) return;
  await changeProject({ deps, by: 'billing', address: '', nowMs: deps.clock() }, project, { limits: own });
}

/** Sends what has not been sent. A failure leaves it for the next run. */
export async function tellUsage(deps: BillingDeps, webhook: UsageWebhook): Promise<void> {
  const { store, clock } = deps;
  for (let sent = 0; sent < messagesOfARun; sent++) {
    const rows = await readUntold(store.db, clock());
    if (rows.length === 0) return;
    const limits = await post(webhook, renderMessage(rows, clock()), clock());
    await noteTold(store.db, rows);
    await takeLimits(deps, limits);
  }
}
