// The operator's list of subscriptions, and the import from CSV.

import type { Subscription, SubscriptionImport } from '@underpass/rules/entity/resource.ts';
import { type ListPage, type ListQuery, subscriptionList } from '@underpass/rules/list/list-page.ts';
import { accept, type Parsed, refuse } from '@underpass/rules/parsed.ts';
import { parseEmail } from '@underpass/rules/people/email.ts';
import { parseTime } from '@underpass/rules/text/date.ts';
import { sql } from 'kysely';
import { parseCsvLine } from '../people/audit/csv.ts';
import { putSubscription, type SubscriptionChange } from '../people/registration/subscription.ts';
import { parseExpiry } from '../people/registration/webhook.ts';
import { type ListedColumns, readListPage } from '../platform/store/list-page.ts';
import type { Schema } from '../platform/store/schema.ts';
import { orInvalid, orMissing } from '../request/http/refusal.ts';
import { type ActingOperator, auditOperator } from './actor.ts';
import { importedLines, importRows } from './import.ts';

const toSubscription = (row: Schema['subscriptions']): Subscription => ({
  id: row.id,
  email: row.email,
  source: row.source,
  active: row.active === 1,
  expiresAt: row.expires_at === null ? null : new Date(row.expires_at).toISOString(),
  updatedAt: new Date(row.updated_at).toISOString(),
});

const activity = sql<string>`case when active = 1 then 'Active' else 'Ended' end`;
/** A subscription without an end sorts behind every end. */
const never = sql.lit(Number.MAX_SAFE_INTEGER);

const listed: ListedColumns = {
  id: 'id',
  has: (pattern) => sql`email like ${pattern} escape '\\'`,
  sorts: {
    email: sql`email`,
    active: activity,
    source: sql`source`,
    expires: sql`coalesce(expires_at, ${never})`,
    updated: sql`updated_at`,
  },
  numbers: ['expires', 'updated'],
  status: activity,
};

export async function listSubscriptions({ deps }: ActingOperator, query: ListQuery): Promise<ListPage<Subscription>> {
  const rows = deps.store.db.selectFrom('subscriptions').selectAll();
  const page = await readListPage(rows, listed, query, subscriptionList.statuses);
  return { ...page, rows: page.rows.map(toSubscription) };
}

export async function createSubscription(operator: ActingOperator, emailText: string, expiresAt?: string): Promise<Subscription> {
  const email = orInvalid(parseEmail(emailText));
  const change = { email, source: 'operator', active: true, expiresAt: parseExpiry(expiresAt) } as const;
  await operator.deps.store.write(async (trx) => {
    await putSubscription(trx, change, operator.nowMs);
    await auditOperator(trx, operator, { action: 'subscription.create', target: email });
  });
  const { db } = operator.deps.store;
  return toSubscription(await db.selectFrom('subscriptions').selectAll().where('email', '=', email).executeTakeFirstOrThrow());
}

export const deleteSubscription = (operator: ActingOperator, id: string): Promise<void> =>
  operator.deps.store.write(async (trx) => {
    const row = await trx.deleteFrom('subscriptions').where('id', '=', id).returning('email').executeTakeFirst();
    await auditOperator(trx, operator, { action: 'subscription.delete', target: orMissing(row, 'Subscription').email });
  });

// The columns of a file without a header line; only the first is required.
const plainColumns: readonly string[] = ['email', 'expires_at', 'active'];

/** The order of the columns, if the first line names them. Accepts `expiresAt`, as the API spells it. */
function columnsOf(first: readonly string[] | undefined): readonly string[] | undefined {
  const names = first?.map((cell) => cell.toLowerCase().replace('expiresat', 'expires_at'));
  return names?.includes('email') ? names : undefined;
}

/** A subscription is active unless its cell says false, no or 0. */
function readLine(cells: readonly string[] | undefined, columns: readonly string[]): Parsed<SubscriptionChange> {
  if (!cells) return refuse('not CSV');
  const cell = (name: string): string => cells[columns.indexOf(name)] ?? '';
  const email = parseEmail(cell('email'));
  if (!email.ok) return email;
  const end = cell('expires_at');
  const expiresAt = end === '' ? null : parseTime(end);
  if (end !== '' && expiresAt === null) return refuse('expires_at must be an ISO 8601 time');
  return accept({ email: email.value, source: 'import', active: !/^(false|no|0)$/i.test(cell('active')), expiresAt });
}

export async function importSubscriptions(operator: ActingOperator, csv: string): Promise<SubscriptionImport> {
  const lines = importedLines(csv);
  const header = columnsOf(parseCsvLine(lines[0] ?? ''));
  const write = async (some: readonly SubscriptionChange[]): Promise<number> => {
    await operator.deps.store.write(async (trx) => {
      for (const change of some) await putSubscription(trx, change, operator.nowMs);
    });
    return some.length;
  };
  const parse = (cells: readonly string[] | undefined) => readLine(cells, header ?? plainColumns);
  const from = header ? 1 : 0;
  return importRows(operator, { action: 'subscription.import', lines, from, parse, writtenAtOnce: 50, write });
}
