// Delivers what waits for webhooks: the oldest of each lane, a few at once, each bounded in time and size. A failure is repeated with
// growing pauses; after three days of failures the webhook is disabled, and its owners get a mail.

import { nextDeliveryPauseMs, webhookLimits } from '@underpass/rules/tunnel/webhook.ts';
import type { Logger } from 'pino';
import type { BackgroundWork } from '../../platform/job/background.ts';
import type { JobQueue } from '../../platform/job/queue.ts';
import { webhookDisabledMail } from '../../platform/mail/mails.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import type { WithLease } from '../../platform/store/lease.ts';
import { piecesOf } from '../../platform/store/pieces.ts';
import type { AlertDeliveriesTable, AlertWebhooksTable } from '../../platform/store/schema.ts';
import type { Queries, Store } from '../../platform/store/store.ts';
import { writeAudit } from '../../request/caller/audit.ts';
import { addNotices, ownersOf } from '../../request/caller/notice.ts';
import type { GuardedFetch } from '../../request/http/guarded-fetch.ts';
import { renderBody, signatureFields } from './message.ts';
import { eventOf, findWebhook, openWebhook } from './rows.ts';

export interface DeliverDeps {
  readonly store: Store;
  readonly keyRing: KeyRing;
  readonly clock: () => number;
  readonly log: Logger;
  readonly origin: string;
  readonly jobs: Pick<JobQueue, 'wake'>;
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
};

/** Says what a person can act on, and no more: neither the address nor what answered there. */
function describeFailure(error: unknown): string {
  const { name, code, message } = error as Error & { readonly code?: string };
  const known = failures[code ?? ''] ?? failures[name];
  if (known !== undefined) return known;
  if (/only https|has more than|do not answer/.test(message))
    return `${message.slice(0, 1).toUpperCase()}${message.slice(1, 200)}.`;
  return `The request failed${code === undefined ? '' : ` (${code})`}.`;
}

async function send(deps: DeliverDeps, webhook: AlertWebhooksTable, delivery: AlertDeliveriesTable): Promise<Outcome> {
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

const isTest = (delivery: AlertDeliveriesTable): boolean => eventOf(delivery).type === 'alert.test';

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

async function noteHealth(trx: Queries, deps: DeliverDeps, projectId: string, outcome: Outcome, nowMs: number): Promise<void> {
  const webhook = await findWebhook(trx, projectId);
  if (webhook === undefined || webhook.disabled_at !== null) return;
  const since = outcome.isDelivered ? null : (webhook.failing_since ?? nowMs);
  await trx.updateTable('alert_webhooks').set({ failing_since: since }).where('project_id', '=', projectId).execute();
  const isOver = since !== null && nowMs - since >= webhookLimits.disabledAfterMs;
  if (isOver || outcome.status === gone) await disable(trx, deps, projectId, nowMs);
}

async function note(deps: DeliverDeps, delivery: AlertDeliveriesTable, outcome: Outcome): Promise<void> {
  const nowMs = deps.clock();
  const attempts = delivery.attempts + 1;
  const { isDelivered, status, error } = outcome;
  const state = isDelivered ? 'delivered' : isTest(delivery) ? 'failed' : 'waiting';
  const due_at = nowMs + nextDeliveryPauseMs(attempts);
  await deps.store.write(async (trx) => {
    const row = trx.updateTable('alert_deliveries').set({ state, attempts, status, error, due_at, tried_at: nowMs });
    await row.where('id', '=', delivery.id).execute();
    if (!isTest(delivery)) await noteHealth(trx, deps, delivery.project_id, outcome, nowMs);
  });
}

/** Sends one delivery, and notes how that went. */
export async function attempt(deps: DeliverDeps, delivery: AlertDeliveriesTable): Promise<void> {
  const webhook = await findWebhook(deps.store.db, delivery.project_id);
  if (webhook !== undefined) await note(deps, delivery, await send(deps, webhook, delivery));
}

const headsRead = 200;
/** A project with a slow receiver must not keep others waiting. */
const headsPerProject = 4;
const atOnce = 8;
const mostMs = 2 * 60_000;

/** The oldest waiting delivery of each lane, if it is due. */
async function readHeads(db: Queries, nowMs: number): Promise<readonly AlertDeliveriesTable[]> {
  const heads = await db
    .selectFrom('alert_deliveries as d')
    .selectAll()
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
    )
    .orderBy('d.due_at')
    .orderBy('d.id')
    .limit(headsRead)
    .execute();
  return [...Map.groupBy(heads, ({ project_id }) => project_id).values()].flatMap((own) => own.slice(0, headsPerProject));
}

/** Looks again after each round: a delivery makes room for the next of its lane. */
async function deliverAll(deps: DeliverDeps): Promise<void> {
  const untilMs = performance.now() + mostMs;
  for (
    let heads = await readHeads(deps.store.db, deps.clock());
    heads.length > 0;
    heads = await readHeads(deps.store.db, deps.clock())
  ) {
    for (const some of piecesOf(heads, atOnce)) await Promise.all(some.map((each) => attempt(deps, each)));
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
