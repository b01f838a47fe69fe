// The rows of webhooks and their deliveries: opens the secrets, and adds what is to be delivered.

import type { Alert, AlertDelivery, AlertWebhook } from '@underpass/rules/entity/resource.ts';
import { type WebhookFormat, webhookLimits } from '@underpass/rules/tunnel/webhook.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import { createId } from '../../platform/store/id.ts';
import { isoOrNull, isoTime } from '../../platform/store/iso-time.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import type { WebhookEvent } from './message.ts';

/** The same for all three texts of a row: a rotation copies the secret to the old one. */
export const webhookContext = (projectId: string): string => `alert_webhooks/${projectId}`;

interface OpenWebhook {
  readonly url: string;
  readonly format: WebhookFormat;
  /** The newest first. */
  readonly secrets: readonly string[];
}

export const findWebhook = (db: Queries, projectId: string): Promise<Schema['alert_webhooks'] | undefined> =>
  db.selectFrom('alert_webhooks').selectAll().where('project_id', '=', projectId).executeTakeFirst();

export function openWebhook(keyRing: KeyRing, row: Schema['alert_webhooks'], nowMs: number): OpenWebhook {
  const open = (sealed: string): string => keyRing.open(sealed, webhookContext(row.project_id));
  const isOldValid = row.old_secret_sealed !== null && (row.old_until ?? 0) > nowMs;
  const secrets = [row.secret_sealed, ...(isOldValid ? [row.old_secret_sealed!] : [])].map(open);
  return { url: open(row.url_sealed), format: row.format, secrets };
}

/** Shows the site alone: the rest of the address of a chat is a secret. */
export function toWebhook(keyRing: KeyRing, row: Schema['alert_webhooks'], nowMs: number): AlertWebhook {
  const oldUntil = row.old_until !== null && row.old_until > nowMs ? row.old_until : null;
  return {
    ...{ site: new URL(openWebhook(keyRing, row, nowMs).url).origin, format: row.format },
    ...{ failingSince: isoOrNull(row.failing_since), disabledAt: isoOrNull(row.disabled_at) },
    ...{ oldSecretUntil: isoOrNull(oldUntil), updatedAt: isoTime(row.updated_at) },
  };
}

export const eventOf = ({ event }: Schema['alert_deliveries']): WebhookEvent => JSON.parse(event) as WebhookEvent;

export function toDelivery(row: Schema['alert_deliveries']): AlertDelivery {
  const { type, timestamp, data } = eventOf(row);
  return {
    ...{ id: row.id, type, title: data.title, at: timestamp, state: row.state, attempts: row.attempts },
    ...{ status: row.status, error: row.error, triedAt: isoOrNull(row.tried_at) },
    nextAt: row.state === 'waiting' ? isoTime(row.due_at) : null,
  };
}

export interface NewDelivery {
  readonly projectId: string;
  readonly type: WebhookEvent['type'];
  readonly alert: Alert;
  /** The page Alerts of the project. */
  readonly url: string;
  /** Deliveries of a lane keep their order. */
  readonly lane: string;
}

export async function addDelivery(trx: Queries, about: NewDelivery, dueAt: number, nowMs: number): Promise<string> {
  const { projectId, type, alert, url, lane } = about;
  const { name } = await trx.selectFrom('projects').select('name').where('id', '=', projectId).executeTakeFirstOrThrow();
  const event: WebhookEvent = { type, timestamp: isoTime(nowMs), data: { ...alert, project: { id: projectId, name }, url } };
  const id = createId(nowMs);
  const row = { id, project_id: projectId, lane, event: JSON.stringify(event), state: 'waiting' as const, due_at: dueAt };
  await trx
    .insertInto('alert_deliveries')
    .values({ ...row, attempts: 0, status: null, error: null, tried_at: null })
    .execute();
  return id;
}

/** Adds nothing for a project without a webhook, with a disabled one, or with too many deliveries that wait. */
export async function queueDelivery(trx: Queries, about: NewDelivery, nowMs: number): Promise<void> {
  const webhook = await findWebhook(trx, about.projectId);
  if (webhook === undefined || webhook.disabled_at !== null) return;
  const waiting = trx.selectFrom('alert_deliveries').select('id').where('project_id', '=', about.projectId);
  const most = webhookLimits.waiting;
  if ((await waiting.where('state', '=', 'waiting').limit(most).execute()).length >= most) return;
  await addDelivery(trx, about, nowMs, nowMs);
}
