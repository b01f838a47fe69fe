// The signed webhook with which the provider reports changed subscriptions: POST /hooks/subscriptions.
// Header Underpass-Signature: t=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<body>">.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { addressKey } from '@underpass/rules/address/address.ts';
import { bodyMaxBytes } from '@underpass/rules/limits.ts';
import { parseEmail } from '@underpass/rules/people/email.ts';
import { parseTime } from '@underpass/rules/text/date.ts';
import { hashToken } from '../../platform/secret/token.ts';
import type { Queries } from '../../platform/store/store.ts';
import { writeAudit } from '../../request/caller/audit.ts';
import type { CallDeps } from '../../request/deps.ts';
import { readBounded } from '../../request/http/body.ts';
import { orInvalid, refuse } from '../../request/http/refusal.ts';
import { putSubscription } from './subscription.ts';

// The age from which a recorded request cannot be replayed. The clocks may differ by as much.
const toleranceSeconds = 300;

/** The time of the signature in ms; undefined if it is wrong, or not within the tolerance of `nowMs`. */
function readSignedAt(header: string, body: Buffer, secret: string, nowMs: number): number | undefined {
  const match = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header);
  if (!match) return undefined;
  const [, seconds = '', given = ''] = match;
  if (Math.abs(nowMs / 1000 - Number(seconds)) > toleranceSeconds) return undefined;
  const wanted = createHmac('sha256', secret).update(`${seconds}.`).update(body).digest();
  return timingSafeEqual(wanted, Buffer.from(given, 'hex')) ? Number(seconds) * 1000 : undefined;
}

interface Change {
  readonly email?: unknown;
  readonly active?: unknown;
  readonly expiresAt?: unknown;
}

function parseChange(body: Buffer): Change {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? value : refuse('invalid', 'The body must be a JSON object.');
  } catch {
    return refuse('invalid', 'The body must be a JSON object.');
  }
}

/** Null if there is no end. */
export function parseExpiry(value: unknown): number | null {
  if (value === undefined || value === null || value === '') return null;
  const ms = typeof value === 'string' ? parseTime(value) : null;
  return ms ?? refuse('invalid', 'expiresAt must be ISO 8601, such as 2027-01-31T00:00:00Z.');
}

/** False for a request that was taken before. Kept until its signature is too old. */
async function isFirst(trx: Queries, signature: string, signedAt: number): Promise<boolean> {
  const row = { answer_hash: hashToken(`webhook ${signature}`), expires_at: signedAt + 2 * toleranceSeconds * 1000 };
  const taken = trx
    .insertInto('spent_answers')
    .values(row)
    .onConflict((conflict) => conflict.doNothing());
  return (await taken.returning('answer_hash').executeTakeFirst()) !== undefined;
}

interface WebhookDeps extends Pick<CallDeps, 'store' | 'limiter' | 'clock'> {
  /** Undefined if no provider is set up: then the webhook answers 404. */
  readonly secret: string | undefined;
}

export async function takeSubscriptionWebhook(deps: WebhookDeps, request: Request, address: string): Promise<Response> {
  const { secret } = deps;
  if (secret === undefined) return refuse('missing', 'Page not found');
  await deps.limiter.take('apiPerAddress', addressKey(address));
  const body = await readBounded(request, bodyMaxBytes.webhook);
  const nowMs = deps.clock();
  const signature = request.headers.get('underpass-signature') ?? '';
  const signedAt = readSignedAt(signature, body, secret, nowMs) ?? refuse('signedOut', 'The signature is wrong or too old.');
  const { email, active, expiresAt } = parseChange(body);
  if (typeof active !== 'boolean') refuse('invalid', "Field 'active' must be true or false.");
  const change = {
    email: orInvalid(parseEmail(typeof email === 'string' ? email : '')),
    active: active === true,
    expiresAt: parseExpiry(expiresAt),
  };
  // The sender's clock may be ahead. A time to come would make the next report, a cancellation perhaps, look older than this one.
  const saidAt = Math.min(signedAt, nowMs);
  await deps.store.write(async (trx) => {
    if (!(await isFirst(trx, signature, signedAt))) return;
    if (!(await putSubscription(trx, { ...change, source: 'webhook' }, saidAt))) return;
    const detail = { active: change.active, expiresAt: change.expiresAt && new Date(change.expiresAt).toISOString() };
    const by = { projectId: null, actor: 'webhook', address };
    await writeAudit(trx, { ...by, action: 'subscription.change', target: change.email, detail }, nowMs);
  });
  return new Response(null, { status: 204 });
}
