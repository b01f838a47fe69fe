// Tells an operator's billing system what projects used, hour by hour, and takes limits from its answer. An hour is sent once it is
// over; if more of it arrives later, it is sent again with the same id, and replaces what was sent before.

import { createHash } from 'node:crypto';
import { hourMs } from '@underpass/rules/limits.ts';
import type { Logger } from 'pino';
import { signatureFields } from '../alerts/webhook/message.ts';
import { usageColumns } from '../edges/feed/usage-rows.ts';
import type { OperatorNeeds } from '../operator/actor.ts';
import { changeProject } from '../operator/projects.ts';
import type { UsageHoursTable } from '../platform/store/schema.ts';
import type { Queries } from '../platform/store/store.ts';
import { readBounded } from '../request/http/body.ts';
import { renderCounts } from './month.ts';

export interface UsageWebhook {
  readonly url: string;
  /** `whsec_…`, as Standard Webhooks has it. */
  readonly secret: string;
}

export interface BillingDeps extends OperatorNeeds {
  readonly usageWebhook: UsageWebhook | undefined;
  readonly clock: () => number;
  readonly log: Logger;
}

/** Edges and control have reported an hour by then, unless one of them was away. */
const settledMs = 10 * 60_000;
const hoursOfAMessage = 500;
const messagesOfARun = 20;
const answerTimeoutMs = 10_000;
const answerMaxBytes = 256 * 1024;

type Row = Pick<UsageHoursTable, 'hour_at' | 'project_id' | 'changed_at' | (typeof usageColumns)[number]>;

const readUntold = (db: Queries, nowMs: number): Promise<Row[]> =>
  db
    .selectFrom('usage_hours')
    .select(['hour_at', 'project_id', 'changed_at', ...usageColumns])
    .where('told', '=', 0)
    .where('hour_at', '<=', nowMs - hourMs - settledMs)
    .orderBy('hour_at')
    .orderBy('project_id')
    .limit(hoursOfAMessage)
    .execute();

/** A row that has changed since it was read is sent again. */
async function noteTold(db: Queries, rows: readonly Row[]): Promise<void> {
  for (const { hour_at, project_id, changed_at } of rows) {
    const own = db
      .updateTable('usage_hours')
      .set({ told: 1 })
      .where('hour_at', '=', hour_at)
      .where('project_id', '=', project_id);
    await own.where('changed_at', '=', changed_at).execute();
  }
}

function renderMessage(rows: readonly Row[], nowMs: number): { readonly id: string; readonly body: string } {
  const hours = rows.map(({ hour_at, project_id, changed_at, ...counts }) => {
    const hour = new Date(hour_at).toISOString();
    return { id: `${project_id}/${hour}`, project: project_id, hour, ...renderCounts(counts) };
  });
  const body = JSON.stringify({ type: 'usage.hours', timestamp: new Date(nowMs).toISOString(), data: { hours } });
  // The same hours with the same counts have the same id, so that a receiver may ignore a repetition.
  const id = `msg_${createHash('sha256').update(JSON.stringify(hours)).digest('base64url').slice(0, 27)}`;
  return { id, body };
}

/** What the answer says; an empty one says nothing. Throws unless the receiver has taken the message. */
async function post({ url, secret }: UsageWebhook, message: { readonly id: string; readonly body: string }, nowMs: number) {
  const headers = { 'content-type': 'application/json', ...signatureFields([secret], { ...message, atMs: nowMs }) };
  const signal = AbortSignal.timeout(answerTimeoutMs);
  const response = await fetch(url, { method: 'POST', headers, body: message.body, signal, redirect: 'error' });
  if (!response.ok) throw new Error(`the receiver of usage answered ${response.status}`);
  const text = (await readBounded(response, answerMaxBytes)).toString('utf8');
  return text.trim().startsWith('{') ? (JSON.parse(text) as { readonly limits?: unknown }) : {};
}

const isNumbers = (value: unknown): value is Readonly<Record<string, number>> =>
  typeof value === 'object' && value !== null && Object.values(value).every((each) => Number.isSafeInteger(each));

/** `{"limits": {"PROJECT": {"gigabytesPerMonth": 50}}}`. A limit that cannot be set stops no other. */
async function takeLimits(deps: BillingDeps, limits: unknown): Promise<void> {
  if (typeof limits !== 'object' || limits === null) return;
  const operator = { deps, by: 'billing', address: '', nowMs: deps.clock() };
  for (const [project, own] of Object.entries(limits)) {
    const change = isNumbers(own) ? changeProject(operator, project, { limits: own }) : Promise.reject(new Error('not numbers'));
    await change.catch((error: unknown) => deps.log.warn({ project, err: error }, 'usage: a limit was not set'));
  }
}

/** Sends what has not been sent. A failure leaves it for the next run. */
export async function tellUsage(deps: BillingDeps): Promise<void> {
  const { store, usageWebhook, clock } = deps;
  if (usageWebhook === undefined) return;
  for (let sent = 0; sent < messagesOfARun; sent++) {
    const rows = await readUntold(store.db, clock());
    if (rows.length === 0) return;
    const { limits } = await post(usageWebhook, renderMessage(rows, clock()), clock());
    await noteTold(store.db, rows);
    await takeLimits(deps, limits);
  }
}
