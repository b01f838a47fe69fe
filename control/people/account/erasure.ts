// Erases a user: the account with its sign-ins, the projects without another member, the registration.
// Records that stay (the audit log, decisions on registrations) lose the name. Privacy policy, sections 11 and 13.

import { type Belonging, decideDeparture, deletedUser, isAlone, lastOperatorMessage } from '@underpass/rules/people/account.ts';
import type { AuditAction } from '@underpass/rules/people/audit-sentence.ts';
import { sql } from 'kysely';
import { guardedTunnelsOf } from '../../edges/policies/guarded-tunnels.ts';
import { addJob } from '../../platform/job/queue.ts';
import { containing } from '../../platform/store/like.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { writeAudit } from '../../request/caller/audit.ts';
import { lockProject } from '../../request/caller/project-lock.ts';
import { refuse } from '../../request/http/refusal.ts';
import { refuseSuspendedIn } from '../../tunnels/tunnel/tunnels.ts';
import { deleteProject } from '../project/deletion.ts';
import { countOwners } from '../project/projects.ts';

interface Project extends Belonging {
  readonly id: string;
}

interface Erasure {
  readonly user: Schema['users'];
  /** True for the operator's command, false for the user's own call. */
  readonly byOperator: boolean;
  readonly nowMs: number;
}

async function isSuspended(trx: Queries, projectId: string): Promise<boolean> {
  const project = trx.selectFrom('projects').select('suspended_at').where('id', '=', projectId);
  return (await project.executeTakeFirstOrThrow()).suspended_at !== null;
}

const countMembers = async (trx: Queries, projectId: string): Promise<number> =>
  (await trx.selectFrom('members').select('user_id').where('project_id', '=', projectId).execute()).length;

/**
 * Locks projects in the order of their ids: two users who leave at once would otherwise deadlock.
 * Reads counts and suspension after the lock.
 */
async function lockBelongings(trx: Queries, userId: string): Promise<Project[]> {
  const rows = await trx
    .selectFrom('members as m')
    .innerJoin('projects as p', 'p.id', 'm.project_id')
    .select(['p.id', 'p.name', 'm.role'])
    .where('m.user_id', '=', userId)
    .orderBy('p.id')
    .execute();
  const projects: Project[] = [];
  for (const { id, name, role } of rows) {
    await lockProject(trx, id);
    const counts = { ownerCount: await countOwners(trx, id), memberCount: await countMembers(trx, id) };
    projects.push({ id, name, isOwner: role === 'owner', suspended: await isSuspended(trx, id), ...counts });
  }
  return projects;
}

/** Locks every operator's row: otherwise the last two could delete themselves at once. */
async function refuseLastOperator(trx: Queries, user: Schema['users']): Promise<void> {
  if (user.operator !== 1) return;
  const operators = trx
    .updateTable('users')
    .set((eb) => ({ operator: eb.ref('operator') }))
    .where('operator', '=', 1);
  const others = (await operators.returning(['id', 'suspended_at']).execute()).filter(
    ({ id, suspended_at }) => id !== user.id && suspended_at === null,
  );
  if (others.length === 0) refuse('conflict', lastOperatorMessage);
}

/** The sentences of deliveries name people too: these go as a whole. */
const deleteDeliveries = (trx: Queries, email: string) =>
  trx
    .deleteFrom('alert_deliveries')
    .where(sql<boolean>`event like ${containing(email)} escape '\\'`)
    .execute();

/** Details list people whom the change of an access policy added or removed; alerts name a new owner. */
async function anonymiseJson(trx: Queries, email: string): Promise<void> {
  const [held, shown] = [JSON.stringify(email), JSON.stringify(deletedUser)];
  for (const [table, column] of [
    ['audit', 'detail'],
    ['alerts', 'facts'],
  ] as const) {
    const text = sql.ref(column);
    const names = sql<boolean>`${text} like ${containing(held)} escape '\\'`;
    await sql`update ${sql.table(table)} set ${text} = replace(${text}, ${held}, ${shown}) where ${names}`.execute(trx);
  }
}

async function anonymise(trx: Queries, email: string): Promise<void> {
  await trx.updateTable('audit').set({ actor: deletedUser, address: '' }).where('actor', '=', email).execute();
  await trx.updateTable('audit').set({ target: deletedUser }).where('target', '=', email).execute();
  await anonymiseJson(trx, email);
  await deleteDeliveries(trx, email);
  for (const table of ['access_tokens', 'access_links', 'reach_tickets', 'blocks'] as const)
    await trx.updateTable(table).set({ created_by: deletedUser }).where('created_by', '=', email).execute();
  await trx.updateTable('access_sign_ins').set({ who: deletedUser, address: '' }).where('who', '=', email).execute();
  await trx.updateTable('visitor_log').set({ who: '', address: '' }).where('who', '=', email).execute();
  await trx.updateTable('users').set({ invited_by: deletedUser }).where('invited_by', '=', email).execute();
  await trx.updateTable('registrations').set({ decided_by: deletedUser }).where('decided_by', '=', email).execute();
}

async function forget(trx: Queries, { id, email }: Schema['users']): Promise<void> {
  await trx.deleteFrom('device_logins').where('user_id', '=', id).execute();
  await trx
    .deleteFrom('invitations')
    .where((eb) => eb.or([eb('email', '=', email), eb('invited_by', '=', email)]))
    .execute();
  await trx.deleteFrom('registrations').where('email', '=', email).execute();
  // The tunnel of a project with other members lives on.
  await trx.updateTable('quick_tunnels').set({ user_id: '' }).where('user_id', '=', id).execute();
  await trx.updateTable('certificate_attempts').set({ owner_id: '' }).where('owner_id', '=', id).execute();
  await trx.deleteFrom('subscriptions').where('email', '=', email).execute();
  // Sessions, sign-in links, memberships and API tokens go with the row.
  await trx.deleteFrom('users').where('id', '=', id).execute();
}

const auditDeparture = (
  trx: Queries,
  { byOperator, nowMs }: Erasure,
  projectId: string | null,
  action: AuditAction,
  target: string,
) => writeAudit(trx, { projectId, actor: byOperator ? 'operator' : deletedUser, action, target, address: '' }, nowMs);

/** Runs in the caller's transaction. Returns the tunnels that the edges must drop or look at again after the commit. */
export async function eraseUser(trx: Queries, erasure: Erasure): Promise<string[]> {
  const { user, byOperator, nowMs } = erasure;
  await refuseLastOperator(trx, user);
  const projects = await lockBelongings(trx, user.id);
  const decision = decideDeparture(projects, byOperator);
  if (!decision.ok) refuse('conflict', decision.message);
  const tunnelIds: string[] = [];
  for (const project of projects.filter(isAlone)) {
    if (!byOperator) await refuseSuspendedIn(trx, project.id);
    tunnelIds.push(...(await deleteProject(trx, project.id, nowMs)));
    await auditDeparture(trx, erasure, project.id, 'project.delete', project.name);
  }
  for (const { id } of projects.filter((project) => !isAlone(project))) {
    await auditDeparture(trx, erasure, id, 'member.leave', deletedUser);
  }
  tunnelIds.push(...(await guardedTunnelsOf(trx, user.id)));
  await forget(trx, user);
  await anonymise(trx, user.email);
  await auditDeparture(trx, erasure, null, 'user.delete', deletedUser);
  await addJob(trx, nowMs, 'account-deleted', { email: user.email, firstName: user.first_name });
  return tunnelIds;
}
