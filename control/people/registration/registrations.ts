// Registrations in the store, and what happens when the operator approves or rejects one.

import { addJob, type JobPayloads } from '../../platform/job/queue.ts';
import { createId } from '../../platform/store/id.ts';
import type { RegistrationsTable } from '../../platform/store/schema.ts';
import type { Queries, Store } from '../../platform/store/store.ts';
import { writeAudit } from '../../request/caller/audit.ts';
import { orMissing, refuse } from '../../request/http/refusal.ts';
import { insertProject } from '../project/projects.ts';

/**
 * A new registration waits, and a rejected one waits again. A waiting or approved one stays as it is, because anybody could
 * register the same e-mail. Returns whether this call made it wait.
 */
export async function insertRegistration(
  db: Queries,
  { email, firstName, lastName, company, github, x }: JobPayloads['registration'],
  subscribed: boolean,
  nowMs: number,
): Promise<boolean> {
  const values = {
    first_name: firstName,
    last_name: lastName,
    company,
    github,
    x_account: x,
    subscribed: subscribed ? (1 as const) : (0 as const),
    state: 'waiting' as const,
    created_at: nowMs,
    decided_at: null,
    decided_by: null,
  };
  const row = await db
    .insertInto('registrations')
    .values({ id: createId(nowMs), email, ...values })
    .onConflict((conflict) => conflict.column('email').doUpdateSet(values).where('registrations.state', '=', 'rejected'))
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

async function decide(
  trx: Queries,
  id: string,
  decision: { readonly state: 'approved' | 'rejected'; readonly by: string; readonly nowMs: number },
): Promise<RegistrationsTable> {
  const row = await trx
    .updateTable('registrations')
    .set({ state: decision.state, decided_at: decision.nowMs, decided_by: decision.by })
    .where('id', '=', id)
    .where('state', '=', 'waiting')
    .returningAll()
    .executeTakeFirst();
  if (row) return row;
  const known = await trx.selectFrom('registrations').select('state').where('id', '=', id).executeTakeFirst();
  return refuse('conflict', `This registration is already ${orMissing(known, 'Registration').state}`);
}

export interface NewUser {
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly operator: boolean;
  readonly projectName: string;
}

/** Inserts a user who owns a first project. */
export async function insertUser(trx: Queries, user: NewUser, nowMs: number): Promise<string> {
  const id = createId(nowMs);
  await trx
    .insertInto('users')
    .values({
      id,
      email: user.email,
      first_name: user.firstName,
      last_name: user.lastName,
      operator: user.operator ? 1 : 0,
      default_project: null,
      suspended_at: null,
      created_at: nowMs,
    })
    .execute();
  const projectId = await insertProject(trx, { name: user.projectName, ownerId: id }, nowMs);
  await trx.updateTable('users').set({ default_project: projectId }).where('id', '=', id).execute();
  return id;
}

export interface Decider {
  readonly store: Store;
  /** An e-mail, or `operator` for a command. */
  readonly by: string;
  readonly address: string;
  readonly nowMs: number;
}

const mailStep = (trx: Queries, row: RegistrationsTable, step: 'approved' | 'rejected', nowMs: number) =>
  addJob(trx, nowMs, 'registration-mail', { email: row.email, firstName: row.first_name, step });

const auditDecision = (trx: Queries, { by, address, nowMs }: Decider, action: string, email: string) =>
  writeAudit(trx, { projectId: null, actor: by, action, target: email, address }, nowMs);

const projectNameOf = (row: RegistrationsTable): string => (row.company === '' ? 'default' : row.company).slice(0, 63).trim();

export const approveRegistration = (decider: Decider, id: string): Promise<RegistrationsTable> =>
  decider.store.write(async (trx) => {
    const { by, nowMs } = decider;
    const row = await decide(trx, id, { state: 'approved', by, nowMs });
    const known = await trx.selectFrom('users').select('id').where('email', '=', row.email).executeTakeFirst();
    const user = { email: row.email, firstName: row.first_name, lastName: row.last_name, operator: false };
    if (!known) await insertUser(trx, { ...user, projectName: projectNameOf(row) }, nowMs);
    await mailStep(trx, row, 'approved', nowMs);
    await auditDecision(trx, decider, 'registration.approve', row.email);
    return row;
  });

export const rejectRegistration = (decider: Decider, id: string): Promise<RegistrationsTable> =>
  decider.store.write(async (trx) => {
    const { by, nowMs } = decider;
    const row = await decide(trx, id, { state: 'rejected', by, nowMs });
    await mailStep(trx, row, 'rejected', nowMs);
    await auditDecision(trx, decider, 'registration.reject', row.email);
    return row;
  });
