// The operator's list of subscriptions, and its import from CSV.

import { parseEmail } from '@underpass/rules/email.ts';
import type { Subscription } from '@underpass/rules/resource.ts';
import { orInvalid, orMissing, refuse } from '../api/refusal.ts';
import { parseCsv } from '../audit/csv.ts';
import { putSubscription, type SubscriptionChange } from '../registration/subscription.ts';
import { parseExpiry } from '../registration/webhook.ts';
import type { SubscriptionsTable } from '../store/schema.ts';
import { auditDesk, type Desk } from './actor.ts';

// The page shows all of them: subscribers of a closed preview.
const listedAtMost = 5_000;

const toSubscription = (row: SubscriptionsTable): Subscription => ({
  id: row.id,
  email: row.email,
  source: row.source,
  active: row.active === 1,
  expiresAt: row.expires_at === null ? null : new Date(row.expires_at).toISOString(),
  updatedAt: new Date(row.updated_at).toISOString(),
});

export const listSubscriptions = async ({ parts }: Desk): Promise<Subscription[]> => {
  const rows = await parts.store.db.selectFrom('subscriptions').selectAll().orderBy('email').limit(listedAtMost).execute();
  return rows.map(toSubscription);
};

export const createSubscription = async (desk: Desk, emailText: string, expiresAt?: string): Promise<Subscription> => {
  const email = orInvalid(parseEmail(emailText));
  const change = { email, source: 'operator', active: true, expiresAt: parseExpiry(expiresAt) } as const;
  await desk.parts.store.write(async (trx) => {
    await putSubscription(trx, change, desk.nowMs);
    await auditDesk(trx, desk, { action: 'subscription.create', target: email });
  });
  const { db } = desk.parts.store;
  return toSubscription(await db.selectFrom('subscriptions').selectAll().where('email', '=', email).executeTakeFirstOrThrow());
};

export const deleteSubscription = (desk: Desk, id: string): Promise<void> =>
  desk.parts.store.write(async (trx) => {
    const row = await trx.deleteFrom('subscriptions').where('id', '=', id).returning('email').executeTakeFirst();
    await auditDesk(trx, desk, { action: 'subscription.delete', target: orMissing(row, 'Subscription').email });
  });

// 5 MB of addresses; more than this is another file.
const importedAtMost = 50_000;
// Shown to somebody who looks at the file beside it.
const problemsShown = 20;

interface Import {
  readonly imported: number;
  /** `line 3: Not a valid email address.` */
  readonly problems: readonly string[];
}

type Line = { readonly change: SubscriptionChange } | { readonly problem: string };

const isHeader = (cells: readonly string[] | undefined): boolean => cells?.[0]?.toLowerCase() === 'email';

/** `email[,active[,expires]]`: active unless it says false, no or 0. */
const readLine = (cells: readonly string[] | undefined): Line => {
  if (!cells) return { problem: 'not CSV' };
  const [emailText = '', active = '', expires = ''] = cells;
  const email = parseEmail(emailText);
  if (!email.ok) return { problem: email.message };
  const expiresAt = expires === '' ? null : Date.parse(expires);
  if (Number.isNaN(expiresAt)) return { problem: 'the third column must be an ISO 8601 time' };
  return { change: { email: email.value, source: 'import', active: !/^(false|no|0)$/i.test(active), expiresAt } };
};

/** Lines that cannot be read are told and passed over; the others count. */
export const importSubscriptions = async (desk: Desk, csv: string): Promise<Import> => {
  const table = parseCsv(csv);
  if (table.length > importedAtMost) refuse('invalid', `A file may have at most ${importedAtMost} lines.`);
  const lines = table.map(readLine);
  const changes = lines.flatMap((line) => ('change' in line ? [line.change] : []));
  await desk.parts.store.write(async (trx) => {
    for (const change of changes) await putSubscription(trx, change, desk.nowMs);
    await auditDesk(trx, desk, { action: 'subscription.import', target: `${changes.length} lines` });
  });
  const problems = lines.flatMap((line, index) =>
    'problem' in line && !(index === 0 && isHeader(table[0])) ? [`line ${index + 1}: ${line.problem}`] : [],
  );
  return { imported: changes.length, problems: problems.slice(0, problemsShown) };
};
