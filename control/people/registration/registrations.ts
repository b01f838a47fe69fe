// Registrations in the store, and what happens when the operator, or an owner's invitation, approves or rejects one.

import type { AuditAction } from '@underpass/rules/people/audit-sentence.ts';
import { firstProjectName } from '@underpass/rules/text/project-name.ts';
import { addJob, type JobPayloads } from '../../platform/job/queue.ts';
import { createId } from '../../platform/store/id.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries, Store } from '../../platform/store/store.ts';
import { writeAudit } from '../../request/caller/audit.ts';
import { lockUser } from '../../request/caller/user-lock.ts';
import { orMissing, refuse } from '../../request/http/refusal.ts';
import { findApprover, type OpenInvitation, renewFor } from '../invitation/invitations.ts';
import { insertProject } from '../project/projects.ts';

export type Registered = Omit<JobPayloads['registration'], 'invitationId' | 'browserHash'>;

/**
 * A new registration waits, and a rejected one waits again, with the decision: no invitation overrides an operator. A waiting or approved one stays as it is, because anybody could
 * register the same e-mail. Returns whether this call made it wait.
 */
export async function insertRegistration(
  db: Queries,
  { email, firstName, lastName, company, github, x }: Registered,
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
  };
  const row = await db
    .insertInto('registrations')
    .values({ id: createId(nowMs), email, ...values, decided_at: null, decided_by: null })
    .onConflict((conflict) => conflict.column('email').doUpdateSet(values).where('registrations.state', '=', 'rejected'))
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

async function decide(
  trx: Queries,
  id: string,
  decision: { readonly state: 'approved' | 'rejected'; readonly by: string; readonly nowMs: number },
): Promise<Schema['registrations']> {
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

interface NewUser {
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly operator: boolean;
}

/** Inserts a user who owns a first project of this name. */
export async function insertUser(
  trx: Queries,
  { projectName, ...user }: NewUser & { readonly projectName: string },
  nowMs: number,
): Promise<string> {
  const id = await insertAccount(trx, { ...user, invitedBy: null }, nowMs);
  const projectId = await insertProject(trx, { name: projectName, ownerId: id }, nowMs);
  await trx.updateTable('users').set({ default_project: projectId }).where('id', '=', id).execute();
  return id;
}

async function insertAccount(
  trx: Queries,
  user: NewUser & { readonly invitedBy: string | null },
  nowMs: number,
): Promise<string> {
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
      invited_by: user.invitedBy,
    })
    .execute();
  return id;
}

interface Decider {
  readonly store: Store;
  /** An e-mail, or `operator` for a command. */
  readonly by: string;
  readonly address: string;
  readonly nowMs: number;
}

const mailStep = (trx: Queries, row: Schema['registrations'], step: 'approved' | 'rejected', nowMs: number) =>
  addJob(trx, nowMs, 'registration-mail', { email: row.email, firstName: row.first_name, step });

const auditDecision = (trx: Queries, { by, address, nowMs }: Decider, action: AuditAction, email: string) =>
  writeAudit(trx, { projectId: null, actor: by, action, target: email, address }, nowMs);

/** Visitors and members read whose it is. */
const projectNameOf = ({ company, first_name, last_name }: Schema['registrations']): string =>
  firstProjectName(company, `${first_name} ${last_name}`);

export const approveRegistration = (decider: Decider, id: string): Promise<Schema['registrations']> =>
  decider.store.write(async (trx) => {
    const { by, nowMs } = decider;
    const row = await decide(trx, id, { state: 'approved', by, nowMs });
    const known = await trx.selectFrom('users').select('id').where('email', '=', row.email).executeTakeFirst();
    const user = { email: row.email, firstName: row.first_name, lastName: row.last_name, operator: false };
    if (!known) await insertUser(trx, { ...user, projectName: projectNameOf(row) }, nowMs);
    // The wait was not theirs: an invitation that is still open begins again.
    await renewFor(trx, row.email, nowMs);
    await mailStep(trx, row, 'approved', nowMs);
    await auditDecision(trx, decider, 'registration.approve', row.email);
    return row;
  });

export const rejectRegistration = (decider: Decider, id: string): Promise<Schema['registrations']> =>
  decider.store.write(async (trx) => {
    const { by, nowMs } = decider;
    const row = await decide(trx, id, { state: 'rejected', by, nowMs });
    await mailStep(trx, row, 'rejected', nowMs);
    await auditDecision(trx, decider, 'registration.reject', row.email);
    return row;
  });

/**
 * Approves a registration because an owner invited the person. False if an operator must decide: the inviter may not approve, or an
 * operator has rejected this e-mail before. The account gets no project: the person accepts the invitation, as anybody else does.
 */
export async function approveByInvitation(
  trx: Queries,
  { registration, invitation }: { readonly registration: Registered; readonly invitation: OpenInvitation },
  nowMs: number,
): Promise<boolean> {
  const { email, firstName, lastName } = registration;
  const owner = await findApprover(trx, invitation);
  if (!owner) return false;
  // Two people at once must not both take the last account that the owner may let in.
  await lockUser(trx, owner.id);
  if (!(await findApprover(trx, invitation))) return false;
  const row = await trx
    .updateTable('registrations')
    .set({ first_name: firstName, last_name: lastName, state: 'approved', decided_at: nowMs, decided_by: owner.email })
    .where('email', '=', email)
    .where('state', '=', 'waiting')
    .where('decided_at', 'is', null)
    .returning('id')
    .executeTakeFirst();
  if (!row) return false;
  await insertAccount(trx, { email, firstName, lastName, operator: false, invitedBy: owner.email }, nowMs);
  const audit = {
    projectId: invitation.project_id,
    actor: owner.email,
    action: 'registration.approve' as const,
    target: email,
    address: '',
  };
  await writeAudit(trx, { ...audit, detail: { by: 'invitation' } }, nowMs);
  return true;
}
