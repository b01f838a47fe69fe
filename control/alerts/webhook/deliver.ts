// Delivers what waits for webhooks: the oldest of each lane, a few at once, each bounded in time and size. A failure is repeated with
// growing pauses; after three days of failures the webhook is disabled, and its owners get a mail.

import { nextDeliveryPauseMs, webhookLimits } from '@underpass/rules/tunnel/webhook.ts';
import { sql } from 'kysely';
import { forEachAtOnce } from '../../platform/job/at-once.ts';
import type { BackgroundWork } from '../../platform/job/background.ts';
import { webhookDisabledMail } from '../../platform/mail/mails.ts';
import type { WithLease } from '../../platform/store/lease.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { writeAudit } from '../../request/caller/audit.ts';
import { addNotices, ownersOf } from '../../request/caller/notice.ts';
import type { CallDeps } from '../../request/deps.ts';
import type { GuardedFetch } from '../../request/http/guarded-fetch.ts';
import { renderBody, signatureFields } from './message.ts';
import { eventOf, findWebhook, openWebhook } from './rows.ts';

export interface DeliverDeps extends Pick<CallDeps, 'store' | 'keyRing' | 'clock' | 'log' | 'origin' | 'jobs'> {
  readonly webhookFetch: GuardedFetch;
}

interface Outcome {
  readonly isDelivered: boolean;
  readonly status: number | null;
  readonly error: string | null;
}

const failures: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The connection was refused.',
  ECONNRESET: 'The connection broke.',
  ENOTFOUND: 'The name has no address.',
  EHOSTUNREACH: 'The address cannot be reached.',
  TimeoutError: `No answer within ${webhookLimits.answerMs / 1000} seconds.`,
  AbortError: `No answer within ${webhookLimits.answerMs / 1000} seconds.`,
  InsideAddress: 'The address is not public.',
  PlainHttp: 'Only https is allowed.',
  LongAnswer: `The answer has more than ${webhookLimits.answerBytes} bytes.`,
  ProtocolSwitch: 'The receiver answers in another protocol.',
  SilentNameServers: 'The name servers do not answer.',
};

/** Says what a person can act on, and no more: neither the address nor what answered there. */
function describeFailure(error: unknown): string {
  const { name, code } = error as Error & { readonly code?: string };
  const known = failures[code ?? ''] ?? failures[name];
  if (known !== undefined) return known;
  return `The request failed${code === undefined ? '' : ` (${code})`}.`;
}

async function send(
  deps: DeliverDeps,
  webhook: Schema['alert_webhooks'],
  delivery: Schema['alert_deliveries'],
): Promise<Outcome> {
  const atMs = deps.clock();
  try {
    const { url, format, secrets } = openWebhook(deps.keyRing, webhook, atMs);
    const body = renderBody(format, eventOf(delivery));
    const signed = signatureFields(secrets, { id: `msg_${delivery.id}`, atMs, body });
    const headers = { 'content-type': 'application/json', 'user-agent': 'underpass', ...signed };
    const signal = AbortSignal.timeout(webhookLimits.answerMs);
    const { status, ok } = await deps.webhookFetch(url, { method: 'POST', headers, body, signal });
    return { isDelivered: ok, status, error: ok ? null : `The receiver answers with status ${status}.` };
  } catch (error) {
    return { isDelivered: false, status: null, error: describeFailure(error) };
  }
}

/** Ends all deliveries, and tells the owners. */
async function disable(trx: Queries, { origin }: DeliverDeps, projectId: string, nowMs: number): Promise<void> {
  await trx.updateTable('alert_webhooks').set({ disabled_at: nowMs }).where('project_id', '=', projectId).execute();
  const waiting = trx.updateTable('alert_deliveries').set({ state: 'failed' }).where('project_id', '=', projectId);
  await waiting.where('state', '=', 'waiting').execute();
  const { name } = await trx.selectFrom('projects').select('name').where('id', '=', projectId).executeTakeFirstOrThrow();
  const mail = webhookDisabledMail(name, `${origin}/projects/${projectId}/alerts`);
  await addNotices(trx, await ownersOf(trx, projectId), mail, nowMs);
  await writeAudit(trx, { projectId, actor: 'underpass', action: 'alert-webhook.disable', target: name, address: '' }, nowMs);
}

/** 410: the receiver wants no more (Standard Webhooks). */
const gone = 410;

/** False if nothing more goes to the webhook: it is gone, or disabled, perhaps by this outcome. */
async function noteHealth(trx: Queries, deps: DeliverDeps, projectId: string, outcome: Outcome, nowMs: number): Promise<boolean> {
  const own = trx.updateTable('alert_webhooks').where('project_id', '=', projectId).where('disabled_at', 'is', null);
  const row = await own
    .set((eb) => ({ failing_since: outcome.isDelivered ? null : eb.fn.coalesce('failing_since', eb.val(nowMs)) }))
    .returning('failing_since')
    .executeTakeFirst();
  if (row === undefined) return false;
  const isOver = outcome.status === gone || isLongAgo(row.failing_since, nowMs);
  if (isOver) await disable(trx, deps, projectId, nowMs);
  return !isOver;
}

const isLongAgo = (sinceMs: number | null, nowMs: number): boolean =>
  sinceMs !== null && nowMs - sinceMs >= webhookLimits.disabledAfterMs;

async function note(deps: DeliverDeps, delivery: Schema['alert_deliveries'], outcome: Outcome): Promise<void> {
  const nowMs = deps.clock();
  const attempts = delivery.attempts + 1;
  const { isDelivered, status, error } = outcome;
  const event = eventOf(delivery);
  const isTest = event.type === 'alert.test';
  await deps.store.write(async (trx) => {
    // The webhook before its deliveries, in the order in which others lock them.
    const goesOn = isTest ? false : await noteHealth(trx, deps, delivery.project_id, outcome, nowMs);
    // A receiver that refuses one event alone must not hold up the rest of its lane.
    const isRepeated = goesOn && !isLongAgo(Date.parse(event.timestamp), nowMs);
    const state = isDelivered ? 'delivered' : isRepeated ? 'waiting' : 'failed';
    const due_at = nowMs + nextDeliveryPauseMs(attempts);
    const row = trx.updateTable('alert_deliveries').set({ state, attempts, status, error, due_at, tried_at: nowMs });
    await row.where('id', '=', delivery.id).execute();
  });
}

/** Sends one delivery, and notes how that went. */
export async function attempt(deps: DeliverDeps, delivery: Schema['alert_deliveries']): Promise<void> {
  const webhook = await findWebhook(deps.store.db, delivery.project_id);
  if (webhook !== undefined) await note(deps, delivery, await send(deps, webhook, delivery));
}

const headsRead = 200;
/** A project with a slow receiver must not keep others waiting. */
const headsPerProject = 4;
const atOnce = 8;
const mostMs = 2 * 60_000;

/** The oldest waiting delivery of each lane, if it is due and its webhook takes it. */
async function readHeads(db: Queries, nowMs: number): Promise<readonly Schema['alert_deliveries'][]> {
  const due = db
    .selectFrom('alert_deliveries as d')
    .innerJoin('alert_webhooks as w', 'w.project_id', 'd.project_id')
    .selectAll('d')
    .select(sql<number>`row_number() over (partition by d.project_id order by d.due_at, d.id)`.as('place'))
    .where('w.disabled_at', 'is', null)
    .where('d.state', '=', 'waiting')
    .where('d.due_at', '<=', nowMs)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('alert_deliveries as e')
            .select('e.id')
            .whereRef('e.project_id', '=', 'd.project_id')
            .whereRef('e.lane', '=', 'd.lane')
            .whereRef('e.id', '<', 'd.id')
            .where('e.state', '=', 'waiting'),
        ),
      ),
    );
  const own = db.selectFrom(due.as('heads')).selectAll().where('place', '<=', headsPerProject);
  return own.orderBy('place').orderBy('due_at').orderBy('id').limit(headsRead).execute();
}

/** Looks again after each round: a delivery makes room for the next of its lane. */
async function deliverAll(deps: DeliverDeps): Promise<void> {
  const untilMs = performance.now() + mostMs;
  for (
    let heads = await readHeads(deps.store.db, deps.clock());
    heads.length > 0;
    heads = await readHeads(deps.store.db, deps.clock())
  ) {
    await forEachAtOnce(heads, atOnce, (each) => attempt(deps, each));
    if (performance.now() > untilMs) return;
  }
}

export const createWebhookWork = (deps: DeliverDeps & { readonly withLease: WithLease }): BackgroundWork => ({
  name: 'alerts: webhooks',
  everyMs: 5_000,
  run: async () => {
    if ((await readHeads(deps.store.db, deps.clock())).length === 0) return;
    await deps.withLease('alert-webhooks', () => deliverAll(deps));
    deps.jobs.wake();
  },
});
