// What a webhook gets: one event as JSON in the format of its receiver, signed as Standard Webhooks 1.0.0 says. Pure, but for the HMAC.

import { createHmac, randomBytes } from 'node:crypto';
import type { Alert } from '@underpass/rules/entity/resource.ts';
import type { WebhookFormat } from '@underpass/rules/tunnel/webhook.ts';

const eventTypes = ['alert.opened', 'alert.closed', 'alert.noted', 'alert.test'] as const;

/** The body of the format `standard`. */
export interface WebhookEvent {
  readonly type: (typeof eventTypes)[number];
  /** When it happened; a repeated delivery has the same. */
  readonly timestamp: string;
  readonly data: Alert & {
    readonly project: { readonly id: string; readonly name: string };
    /** The page Alerts of the project. */
    readonly url: string;
  };
}

const escapeSlack = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const discordChars = 2000;

const bodies: Readonly<Record<WebhookFormat, (event: WebhookEvent) => object>> = {
  standard: (event) => event,
  slack: ({ data: { title, text, project, url } }) => ({
    text: `*${escapeSlack(title)}* (${escapeSlack(project.name)})\n${escapeSlack(text)}\n<${url}|Alerts>`,
  }),
  discord: ({ data: { title, text, project, url } }) => ({
    content: `**${title}** (${project.name})\n${text}\n${url}`.slice(0, discordChars),
    // A name must not call everybody of a server.
    allowed_mentions: { parse: [] },
  }),
};

export const renderBody = (format: WebhookFormat, event: WebhookEvent): string => JSON.stringify(bodies[format](event));

const secretPrefix = 'whsec_';
/** Standard Webhooks asks for 24 to 64 bytes. */
const secretBytes = 32;

export const createSecret = (): string => `${secretPrefix}${randomBytes(secretBytes).toString('base64')}`;

const sign = (secret: string, text: string): string =>
  createHmac('sha256', Buffer.from(secret.slice(secretPrefix.length), 'base64'))
    .update(text)
    .digest('base64');

export interface Signed {
  readonly id: string;
  readonly atMs: number;
  readonly body: string;
}

/** One signature for each secret: a receiver may hold the old or the new one. */
export function signatureFields(secrets: readonly string[], { id, atMs, body }: Signed): Readonly<Record<string, string>> {
  const seconds = Math.floor(atMs / 1000);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets.map((secret) => `v1,${sign(secret, `${id}.${seconds}.${body}`)}`).join(' '),
  };
}
