// The webhook of a project: its formats, the rule for its address, and when a delivery is tried again.

import { dayMs } from '../limits.ts';
import { accept, type Parsed, refuse } from '../parsed.ts';
import { parseUrl } from '../text/parse-url.ts';

export const webhookFormats = {
  standard: { label: 'Standard Webhooks', hint: 'Signed JSON' },
  slack: { label: 'Slack', hint: 'An incoming webhook of Slack, Mattermost or Rocket.Chat' },
  discord: { label: 'Discord', hint: 'A webhook of a Discord channel' },
} as const;
export type WebhookFormat = keyof typeof webhookFormats;

export const deliveryStates = ['waiting', 'delivered', 'failed'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

export const webhookLimits = {
  urlChars: 2048,
  /** An answer that takes longer, or is longer, is a failure. */
  answerMs: 10_000,
  answerBytes: 16 * 1024,
  /** Deliveries of a project that wait. Further news is not delivered until there is room. */
  waiting: 1000,
  shownDeliveries: 50,
  logDays: 30,
  /** How long the old secret signs too after a rotation. */
  oldSecretHours: 24,
  /** Failures in a row for this long switch the webhook off. */
  disabledAfterMs: 3 * dayMs,
} as const;

/** 5 s, 30 s, 3 min, 18 min, 1.8 h, 11 h, then once a day. */
export const nextDeliveryPauseMs = (attempts: number): number => Math.min(5_000 * 6 ** (attempts - 1), dayMs);

export function parseWebhookUrl(typed: string): Parsed<string> {
  const text = typed.trim();
  const url = parseUrl(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    return refuse('Enter a complete address, such as https://example.com/alerts.');
  if (text.length > webhookLimits.urlChars) return refuse(`The address may have at most ${webhookLimits.urlChars} characters.`);
  if (url.username !== '' || url.password !== '') return refuse('The address must not contain a user name or a password.');
  return accept(url.href.split('#', 1)[0]!);
}

export function parseWebhookFormat(text: string): Parsed<WebhookFormat> {
  const formats = Object.keys(webhookFormats) as WebhookFormat[];
  const format = formats.find((each) => each === text);
  return format === undefined ? refuse(`The format must be one of ${formats.join(', ')}.`) : accept(format);
}
