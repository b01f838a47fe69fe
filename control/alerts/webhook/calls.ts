// The calls about a project's webhook: its address and format, its secret, a test, and the log of deliveries.

import type { Alert, AlertDelivery, AlertWebhookPage, NewAlertWebhook } from '@underpass/rules/entity/resource.ts';
import { hourMs } from '@underpass/rules/limits.ts';
import { parseWebhookFormat, parseWebhookUrl, webhookLimits } from '@underpass/rules/tunnel/webhook.ts';
import type { Limiter } from '../../platform/limit/limiter.ts';
import { createId } from '../../platform/store/id.ts';
import type { Queries } from '../../platform/store/store.ts';
import { auditCall } from '../../request/caller/audit.ts';
import type { AreaHandlers, CallContext } from '../../request/caller/call.ts';
import { orInvalid, orMissing, refuse } from '../../request/http/refusal.ts';
import { attempt, type DeliverDeps } from './deliver.ts';
import { createSecret } from './message.ts';
import { addDelivery, findWebhook, toDelivery, toWebhook, webhookContext } from './rows.ts';

interface WebhookCallDeps extends DeliverDeps {
  readonly limiter: Limiter;
  readonly settings: { readonly production: boolean };
}

const deliveriesOf = (db: Queries, projectId: string) =>
  db.selectFrom('alert_deliveries').selectAll().where('project_id', '=', projectId);

async function getWebhook(
  deps: WebhookCallDeps,
  { membership, nowMs }: CallContext<'getAlertWebhook'>,
): Promise<AlertWebhookPage> {
  const { db } = deps.store;
  const row = await findWebhook(db, membership.id);
  const log = deliveriesOf(db, membership.id).orderBy('id', 'desc').limit(webhookLimits.shownDeliveries);
  return {
    webhook: row === undefined ? null : toWebhook(deps.keyRing, row, nowMs),
    deliveries: (await log.execute()).map(toDelivery),
  };
}

/** Makes the webhook, or changes it and switches it on again. Without an address, the present one stays. */
async function saveWebhook(deps: WebhookCallDeps, context: CallContext<'saveAlertWebhook'>): Promise<NewAlertWebhook> {
  const { membership, body, nowMs } = context;
  const format = orInvalid(parseWebhookFormat(body.format));
  const url = body.url === undefined ? undefined : orInvalid(parseWebhookUrl(body.url));
  if (deps.settings.production && url?.startsWith('http:')) refuse('invalid', "The address must begin with 'https://'.");
  const seal = (text: string): string => deps.keyRing.seal(text, webhookContext(membership.id));
  const secret = await deps.store.write(async (trx) => {
    const known = await findWebhook(trx, membership.id);
    const site = url === undefined ? {} : { site: new URL(url).origin };
    await auditCall(trx, context, 'alert-webhook.change', membership.name, { ...site, format });
    if (known !== undefined) {
      const healthy = { failing_since: null, disabled_at: null, updated_at: nowMs };
      const change = { format, ...(url === undefined ? {} : { url_sealed: seal(url) }), ...healthy };
      await trx.updateTable('alert_webhooks').set(change).where('project_id', '=', membership.id).execute();
      return undefined;
    }
    const made = createSecret();
    const texts = { url_sealed: seal(url ?? refuse('invalid', "Field 'url' is missing.")), secret_sealed: seal(made) };
    const none = { old_secret_sealed: null, old_until: null, failing_since: null, disabled_at: null };
    await trx
      .insertInto('alert_webhooks')
      .values({ project_id: membership.id, format, ...texts, ...none, updated_at: nowMs })
      .execute();
    return made;
  });
  const row = orMissing(await findWebhook(deps.store.db, membership.id), 'Webhook');
  return { webhook: toWebhook(deps.keyRing, row, nowMs), ...(secret === undefined ? {} : { secret }) };
}

/** Signs with both secrets for a while, so that the receiver can change its own without a gap. */
async function rotateSecret(deps: WebhookCallDeps, context: CallContext<'rotateAlertWebhook'>): Promise<NewAlertWebhook> {
  const { membership, nowMs } = context;
  const secret = createSecret();
  const secret_sealed = deps.keyRing.seal(secret, webhookContext(membership.id));
  const old_until = nowMs + webhookLimits.oldSecretHours * hourMs;
  await deps.store.write(async (trx) => {
    await auditCall(trx, context, 'alert-webhook.rotate', membership.name);
    const { secret_sealed: old_secret_sealed } = orMissing(await findWebhook(trx, membership.id), 'Webhook');
    const change = trx.updateTable('alert_webhooks').set({ secret_sealed, old_secret_sealed, old_until, updated_at: nowMs });
    await change.where('project_id', '=', membership.id).execute();
  });
  const row = orMissing(await findWebhook(deps.store.db, membership.id), 'Webhook');
  return { webhook: toWebhook(deps.keyRing, row, nowMs), secret };
}

async function deleteWebhook({ store }: WebhookCallDeps, context: CallContext<'deleteAlertWebhook'>): Promise<void> {
  const { membership } = context;
  await store.write(async (trx) => {
    orMissing(await findWebhook(trx, membership.id), 'Webhook');
    await auditCall(trx, context, 'alert-webhook.delete', membership.name);
    for (const table of ['alert_webhooks', 'alert_deliveries'] as const)
      await trx.deleteFrom(table).where('project_id', '=', membership.id).execute();
  });
}

const testAlert = (nowMs: number): Alert => ({
  ...{ id: createId(nowMs), kind: 'tunnel-down', state: 'open', tone: 'neutral', title: 'This is a test' },
  ...{ text: 'Nothing is wrong. Somebody pressed Test.', openedAt: new Date(nowMs).toISOString(), closedAt: null },
});

const pageUrl = ({ origin }: WebhookCallDeps, projectId: string): string => `${origin}/projects/${projectId}/alerts`;

/** Sends one delivery now, never repeats it, and answers how it went. It is not due while this runs, so the queue does not send it too. */
async function testWebhook(
  deps: WebhookCallDeps,
  { membership, nowMs }: CallContext<'testAlertWebhook'>,
): Promise<AlertDelivery> {
  await deps.limiter.take('webhookTestPerProject', membership.id);
  const { db } = deps.store;
  orMissing(await findWebhook(db, membership.id), 'Webhook');
  const lane = `test ${createId(nowMs)}`;
  const about = {
    projectId: membership.id,
    type: 'alert.test',
    alert: testAlert(nowMs),
    url: pageUrl(deps, membership.id),
    lane,
  } as const;
  const id = await addDelivery(db, about, nowMs + 10 * webhookLimits.answerMs, nowMs);
  const read = () => deliveriesOf(db, membership.id).where('id', '=', id).executeTakeFirst();
  await attempt(deps, orMissing(await read(), 'Delivery'));
  return toDelivery(orMissing(await read(), 'Delivery'));
}

async function sendAgain({ store, limiter }: WebhookCallDeps, context: CallContext<'resendAlertDelivery'>): Promise<void> {
  const { membership, segments, nowMs } = context;
  await limiter.take('webhookAgainPerProject', membership.id);
  await store.write(async (trx) => {
    const webhook = orMissing(await findWebhook(trx, membership.id), 'Webhook');
    if (webhook.disabled_at !== null) refuse('conflict', 'The webhook is switched off. Switch it on first.');
    const row = orMissing(await deliveriesOf(trx, membership.id).where('id', '=', segments.id).executeTakeFirst(), 'Delivery');
    const again = trx.updateTable('alert_deliveries').set({ state: 'waiting', attempts: 0, due_at: nowMs });
    await again.where('id', '=', row.id).execute();
  });
}

export const webhookHandlers = {
  ...{ getAlertWebhook: getWebhook, saveAlertWebhook: saveWebhook, rotateAlertWebhook: rotateSecret },
  ...{ deleteAlertWebhook: deleteWebhook, testAlertWebhook: testWebhook, resendAlertDelivery: sendAgain },
} satisfies AreaHandlers<WebhookCallDeps>;
