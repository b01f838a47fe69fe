// Decides whether an e-mail has an active subscription: from the store (import, webhook, operator), else by asking the provider.

import { createId } from '../../platform/store/id.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import type { CallDeps } from '../../request/deps.ts';
import { readBounded } from '../../request/http/body.ts';

const lookupTimeoutMs = 5_000;
// The expected answer is `{"active": true}` and little more.
const answerMaxBytes = 64 * 1024;

export async function hasStoredSubscription(db: Queries, email: string, nowMs: number): Promise<boolean> {
  const row = await db
    .selectFrom('subscriptions')
    .select('id')
    .where('email', '=', email)
    .where('active', '=', 1)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', nowMs)]))
    .executeTakeFirst();
  return row !== undefined;
}

/** Where the provider answers whether an e-mail is subscribed. */
export interface SubscriptionLookup {
  readonly url: string;
  readonly token?: string;
}

async function ask({ url, token }: SubscriptionLookup, email: string): Promise<boolean> {
  const target = new URL(url);
  target.searchParams.set('email', email);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(target, { headers, signal: AbortSignal.timeout(lookupTimeoutMs), redirect: 'error' });
  if (response.status === 404) return false;
  if (!response.ok) throw new Error(`subscription lookup answered ${response.status}`);
  const text = (await readBounded(response, answerMaxBytes)).toString('utf8');
  return (JSON.parse(text) as { active?: unknown }).active === true;
}

interface SubscriptionDeps extends Pick<CallDeps, 'clock' | 'log'> {
  readonly db: Queries;
  readonly lookup: SubscriptionLookup | undefined;
}

/** False without an answer from the provider: the operator still sees the registration and decides. */
export async function isSubscribed({ db, lookup, clock, log }: SubscriptionDeps, email: string): Promise<boolean> {
  if (await hasStoredSubscription(db, email, clock())) return true;
  if (lookup === undefined) return false;
  try {
    return await ask(lookup, email);
  } catch (error) {
    log.warn({ err: error }, 'subscription lookup failed');
    return false;
  }
}

export interface SubscriptionChange {
  readonly email: string;
  readonly source: Schema['subscriptions']['source'];
  readonly active: boolean;
  readonly expiresAt: number | null;
}

/**
 * One row per e-mail holds the latest report, made at `saidAt`. Webhooks arrive late and twice, so an older one changes
 * nothing. Returns whether the row changed.
 */
export async function putSubscription(db: Queries, change: SubscriptionChange, saidAt: number): Promise<boolean> {
  const values = {
    source: change.source,
    active: change.active ? (1 as const) : (0 as const),
    expires_at: change.expiresAt,
    updated_at: saidAt,
  };
  const row = await db
    .insertInto('subscriptions')
    .values({ id: createId(saidAt), email: change.email, ...values })
    .onConflict((conflict) => {
      const update = conflict.column('email').doUpdateSet(values);
      if (change.source !== 'webhook') return update;
      return update.where((eb) =>
        eb.or([eb('subscriptions.source', '<>', 'webhook'), eb('subscriptions.updated_at', '<=', saidAt)]),
      );
    })
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}
