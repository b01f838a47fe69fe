// The calls about projects and their members.

import type { Project, Role } from '@underpass/rules/entity/entity.ts';
import type { Member } from '@underpass/rules/entity/resource.ts';
import { confirmProjectMessage, confirms, invitedOnlyMessage } from '@underpass/rules/people/account.ts';
import { ownPasskeyFirstMessage } from '@underpass/rules/people/passkey.ts';
import { decideMembershipChange, forbiddenMessage, may, mayGrant, parseRole, roles } from '@underpass/rules/people/permission.ts';
import { parseProjectName } from '@underpass/rules/text/project-name.ts';
import { endVisitsOfMembers } from '../../edges/policies/end-visits.ts';
import { guardedTunnels } from '../../edges/policies/guarded-tunnels.ts';
import { tellNarrowed } from '../../platform/bus/narrowed-rights.ts';
import { hasRoom } from '../../platform/limit/limiter.ts';
import { newOwnerMail } from '../../platform/mail/mails.ts';
import type { Queries } from '../../platform/store/store.ts';
import { auditCall, writeAudit } from '../../request/caller/audit.ts';
import type { AreaHandlers, CallContext } from '../../request/caller/call.ts';
import { findMembership, refuseStopped } from '../../request/caller/membership.ts';
import { tellNewOwner } from '../../request/caller/notice.ts';
import { lockProject } from '../../request/caller/project-lock.ts';
import { lockUser } from '../../request/caller/user-lock.ts';
import type { CallDeps } from '../../request/deps.ts';
import { orInvalid, orMissing, refuse } from '../../request/http/refusal.ts';
import { refuseSuspendedIn } from '../../tunnels/tunnel/tunnels.ts';
import { deleteProject } from './deletion.ts';
import { countOwnedProjects, countOwners, insertProject, listProjects, toProject } from './projects.ts';

type ProjectDeps = Pick<CallDeps, 'store' | 'feed' | 'bus' | 'limiter' | 'jobs' | 'origin'>;

// The operator approves accounts, so only a script would need more.
const ownedProjectsPerUser = 20;

/** An owner let this person in to a project of theirs, and no operator has. */
async function refuseInvited(trx: Queries, userId: string): Promise<void> {
  const user = await trx.selectFrom('users').select('invited_by').where('id', '=', userId).executeTakeFirst();
  if (typeof user?.invited_by === 'string') refuse('forbidden', invitedOnlyMessage);
}

async function createProject(
  deps: ProjectDeps,
  { caller, body, address, nowMs }: CallContext<'createProject'>,
): Promise<Project> {
  const name = orInvalid(parseProjectName(body.name));
  const id = await deps.store.write(async (trx) => {
    await lockUser(trx, caller.userId);
    await refuseInvited(trx, caller.userId);
    if ((await countOwnedProjects(trx, caller.userId)) >= ownedProjectsPerUser) {
      refuse('conflict', `You may own at most ${ownedProjectsPerUser} projects.`);
    }
    const projectId = await insertProject(trx, { name, ownerId: caller.userId }, nowMs);
    await writeAudit(trx, { projectId, actor: caller.email, action: 'project.create', target: name, address }, nowMs);
    return projectId;
  });
  return { id, name, role: 'owner' };
}

async function renameProject(deps: ProjectDeps, context: CallContext<'renameProject'>): Promise<Project> {
  const { membership, body } = context;
  const name = orInvalid(parseProjectName(body.name));
  await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    await trx.updateTable('projects').set({ name }).where('id', '=', membership.id).execute();
    await auditCall(trx, context, 'project.rename', name, { from: membership.name });
  });
  return toProject({ ...membership, name }, context.caller);
}

/** An owner who requires a passkey has one, so that the rule cannot close the project to the one who made it. */
async function requirePasskeys(deps: ProjectDeps, context: CallContext<'requirePasskeys'>): Promise<Project> {
  const { membership, caller, body, nowMs } = context;
  if (body.required && caller.passkey === 'none') refuse('conflict', ownPasskeyFirstMessage);
  const tunnels = await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    const now = orMissing(await findMembership(trx, caller, membership.id), 'Project');
    if (!may(now.role, 'project.require-passkeys')) refuse('forbidden', forbiddenMessage);
    const change = trx.updateTable('projects').set({ passkey_required: body.required ? 1 : 0 });
    await change.where('id', '=', membership.id).execute();
    if (body.required) await endVisitsOfMembers(trx, membership.id, nowMs);
    await auditCall(trx, context, 'project.require-passkeys', membership.name, { required: body.required });
    return guardedTunnels(trx, [membership.id]);
  });
  deps.feed.tunnelsChanged(tunnels);
  // Closes live views whose session has no passkey.
  tellNarrowed(deps.bus, membership.id);
  return toProject({ ...membership, passkeyRequired: body.required }, caller);
}

async function deleteOwnProject(deps: ProjectDeps, context: CallContext<'deleteProject'>): Promise<void> {
  const { membership, caller, body, nowMs } = context;
  if (!confirms(body.name, membership.name)) refuse('invalid', confirmProjectMessage);
  const tunnelIds = await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    const now = orMissing(await findMembership(trx, caller, membership.id), 'Project');
    if (!may(now.role, 'project.delete')) refuse('forbidden', forbiddenMessage);
    refuseStopped(now);
    await refuseSuspendedIn(trx, membership.id);
    const ids = await deleteProject(trx, membership.id, nowMs);
    await auditCall(trx, context, 'project.delete', membership.name);
    return ids;
  });
  deps.feed.tunnelsChanged(tunnelIds);
  tellNarrowed(deps.bus, membership.id);
}

const memberRows = (db: Queries, projectId: string) =>
  db
    .selectFrom('members as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select(['u.id', 'u.email', 'u.first_name', 'u.last_name', 'm.role', 'm.created_at'])
    .where('m.project_id', '=', projectId)
    .orderBy('m.created_at')
    .orderBy('u.id');

type MemberRow = Awaited<ReturnType<ReturnType<typeof memberRows>['execute']>>[number];

const toMember = (row: MemberRow, selfId: string): Member => ({
  id: row.id,
  email: row.email,
  firstName: row.first_name,
  lastName: row.last_name,
  role: row.role,
  since: new Date(row.created_at).toISOString(),
  isSelf: row.id === selfId,
});

type MemberCall = CallContext<'changeMember'> | CallContext<'removeMember'>;

/** Locks the project and reads the caller's role again: two changes at once must not remove both owners. */
async function decideChange(trx: Queries, { membership, caller, segments }: MemberCall, to: Role | null): Promise<MemberRow> {
  await lockProject(trx, membership.id);
  const actor = orMissing(await findMembership(trx, caller, membership.id), 'Project').role;
  const row = orMissing(await memberRows(trx, membership.id).where('u.id', '=', segments.id).executeTakeFirst(), 'Member');
  const ownerCount = await countOwners(trx, membership.id);
  // An API token does not act as its owner here: a viewer's token must not make the owner leave.
  const isSelf = row.id === caller.userId && caller.token === null;
  const decision = decideMembershipChange({ actor, isSelf, from: row.role, to, ownerCount });
  if (!decision.ok) refuse(decision.message === forbiddenMessage ? 'forbidden' : 'conflict', decision.message);
  return row;
}

/**
 * Deletes the invitations that a member made and with the new role could not make: otherwise they could undo the change through
 * one.
 */
async function withdrawInvitations(trx: Queries, projectId: string, email: string, to: Role | null): Promise<void> {
  const lost = roles.filter((role) => to === null || !may(to, 'invitation.create') || !mayGrant(to, role));
  if (lost.length === 0) return;
  const own = trx.deleteFrom('invitations').where('project_id', '=', projectId).where('invited_by', '=', email);
  await own.where('role', 'in', lost).execute();
}

async function changeMember(deps: ProjectDeps, context: CallContext<'changeMember'>): Promise<Member> {
  const { membership, caller, body, nowMs } = context;
  const role = orInvalid(parseRole(body.role));
  const tells = role === 'owner' && (await hasRoom(deps.limiter, 'noticePerSubject', membership.id));
  const { row, tunnelIds } = await deps.store.write(async (trx) => {
    const member = await decideChange(trx, context, role);
    const change = trx.updateTable('members').set({ role }).where('project_id', '=', membership.id);
    await change.where('user_id', '=', member.id).execute();
    await withdrawInvitations(trx, membership.id, member.email, role);
    await auditCall(trx, context, 'member.change', member.email, { from: member.role, to: role });
    const mail = newOwnerMail(member.email, caller.email, membership.name, deps.origin);
    if (tells && member.role !== 'owner') await tellNewOwner(trx, { projectId: membership.id, owner: member.email }, mail, nowMs);
    return { row: member, tunnelIds: await guardedTunnels(trx, [membership.id]) };
  });
  deps.feed.tunnelsChanged(tunnelIds);
  deps.jobs.wake();
  // Open live views tell the new role, which may also be a higher one.
  tellNarrowed(deps.bus, row.id);
  return toMember({ ...row, role }, caller.userId);
}

async function removeMember(deps: ProjectDeps, context: CallContext<'removeMember'>): Promise<void> {
  const { membership, caller, segments } = context;
  const tunnelIds = await deps.store.write(async (trx) => {
    const member = await decideChange(trx, context, null);
    const { id } = member;
    await trx.deleteFrom('members').where('project_id', '=', membership.id).where('user_id', '=', id).execute();
    await trx.deleteFrom('api_tokens').where('project_id', '=', membership.id).where('user_id', '=', id).execute();
    await withdrawInvitations(trx, membership.id, member.email, null);
    await trx
      .updateTable('users')
      .set({ default_project: null })
      .where('id', '=', id)
      .where('default_project', '=', membership.id)
      .execute();
    await auditCall(trx, context, id === caller.userId ? 'member.leave' : 'member.remove', member.email, { role: member.role });
    return guardedTunnels(trx, [membership.id]);
  });
  deps.feed.tunnelsChanged(tunnelIds);
  tellNarrowed(deps.bus, segments.id);
}

export const projectHandlers = {
  ...{ createProject, renameProject, requirePasskeys, deleteProject: deleteOwnProject, changeMember, removeMember },
  listProjects: ({ store }, { caller }) => listProjects(store.db, caller),
  listMembers: async ({ store }, { membership, caller }) =>
    (await memberRows(store.db, membership.id).execute()).map((row) => toMember(row, caller.userId)),
} satisfies AreaHandlers<ProjectDeps>;
