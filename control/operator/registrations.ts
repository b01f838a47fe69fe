// The operator's view of registrations.

import type { OperatorRegistration } from '@underpass/rules/entity/resource.ts';
import type { ListPage } from '@underpass/rules/list/list-page.ts';
import { sql } from 'kysely';
import { listFor } from '../people/invitation/invitations.ts';
import { approveRegistration, rejectRegistration } from '../people/registration/registrations.ts';
import { hasStoredSubscription } from '../people/registration/subscription.ts';
import { type ListedColumns, readListPage } from '../platform/store/list-page.ts';
import type { Schema } from '../platform/store/schema.ts';
import type { Queries } from '../platform/store/store.ts';
import { orMissing, refuse } from '../request/http/refusal.ts';
import { type ActingOperator, newest } from './actor.ts';

const states = ['waiting', 'approved', 'rejected'] as const;

const toRegistration = async (db: Queries, row: Schema['registrations'], nowMs: number): Promise<OperatorRegistration> => ({
  id: row.id,
  email: row.email,
  firstName: row.first_name,
  lastName: row.last_name,
  company: row.company,
  github: row.github,
  x: row.x_account,
  state: row.state,
  isSubscribed: row.subscribed === 1 || (await hasStoredSubscription(db, row.email, nowMs)),
  createdAt: new Date(row.created_at).toISOString(),
  decidedAt: row.decided_at === null ? null : new Date(row.decided_at).toISOString(),
  decidedBy: row.decided_by,
  invitations: (await listFor(db, row.email, nowMs)).map(({ invited_by, projectName }) => ({
    invitedBy: invited_by,
    projectName,
  })),
});

const listed: ListedColumns = {
  id: 'id',
  has: (pattern) => sql`lower(email || ' ' || first_name || ' ' || last_name || ' ' || company) like ${pattern} escape '\\'`,
  sorts: {
    person: sql`email`,
    company: sql`lower(company)`,
    created: sql`created_at`,
    decided: sql`coalesce(decided_at, 0)`,
  },
  numbers: ['created', 'decided'],
};

export async function listRegistrations(
  { deps, nowMs }: ActingOperator,
  { state: stateText }: { readonly state?: string } = {},
  query = newest(),
): Promise<ListPage<OperatorRegistration>> {
  const { db } = deps.store;
  const state = states.find((each) => each === stateText);
  if (stateText !== undefined && !state) refuse('invalid', `State must be one of ${states.join(', ')}.`);
  const all = db.selectFrom('registrations').selectAll();
  const page = await readListPage(state ? all.where('state', '=', state) : all, listed, query);
  return { ...page, rows: await Promise.all(page.rows.map((row) => toRegistration(db, row, nowMs))) };
}

/** Finds it by id or by e-mail, also beyond the first page of the list. */
export async function findRegistration({ deps }: ActingOperator, key: string): Promise<string> {
  const query = deps.store.db.selectFrom('registrations').select('id');
  const row = await query.where((eb) => eb.or([eb('id', '=', key), eb('email', '=', key.toLowerCase())])).executeTakeFirst();
  return orMissing(row, 'Registration').id;
}

const deciderOf = ({ deps, by, address, nowMs }: ActingOperator) => ({ store: deps.store, by, address, nowMs });

export async function approve(operator: ActingOperator, id: string): Promise<OperatorRegistration> {
  const row = await approveRegistration(deciderOf(operator), id);
  operator.deps.jobs.wake();
  return toRegistration(operator.deps.store.db, row, operator.nowMs);
}

export async function reject(operator: ActingOperator, id: string): Promise<OperatorRegistration> {
  const row = await rejectRegistration(deciderOf(operator), id);
  operator.deps.jobs.wake();
  return toRegistration(operator.deps.store.db, row, operator.nowMs);
}
