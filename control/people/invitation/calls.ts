// Invitations to a project: mailed to one e-mail address, and accepted once by the user who has that address.

import type { Project, Role } from '@underpass/rules/entity/entity.ts';
import type { Invitation, InvitationOffer } from '@underpass/rules/entity/resource.ts';
import { dayMs } from '@underpass/rules/limits.ts';
import { parseEmail } from '@underpass/rules/people/email.ts';
import { type InvitationRefusal, invitationRefusals } from '@underpass/rules/people/invitation.ts';
import { forbiddenMessage, may, mayGrant, parseRole } from '@underpass/rules/people/permission.ts';
import { guardedTunnels } from '../../edges/policies/guarded-tunnels.ts';
import { addJob } from '../../platform/job/queue.ts';
import { newOwnerMail } from '../../platform/mail/mails.ts';
import { hashToken, isToken } from '../../platform/secret/token.ts';
import { createId } from '../../platform/store/id.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { userShare } from '../../request/caller/allowance.ts';
import { auditCall, writeAudit } from '../../request/caller/audit.ts';
import type { AreaHandlers, CallContext } from '../../request/caller/call.ts';
import type { Caller } from '../../request/caller/caller.ts';
import { findMembership, refuseStopped } from '../../request/caller/membership.ts';
import { tellNewOwner } from '../../request/caller/notice.ts';
import { expectPasskey, hasPasskey } from '../../request/caller/passkey-rule.ts';
import { lockProject } from '../../request/caller/project-lock.ts';
import { expectFreshProof } from '../../request/caller/proof-rule.ts';
import { takeMemberQuota } from '../../request/caller/quota.ts';
import type { CallDeps } from '../../request/deps.ts';
import { orInvalid, orMissing, refuse } from '../../request/http/refusal.ts';
import { insertMember, toProject } from '../project/projects.ts';
import { byActiveMember, findApprover, findByToken, invitationLifeMs } from './invitations.ts';

interface InvitationDeps extends Pick<CallDeps, 'store' | 'feed' | 'limiter' | 'jobs' | 'origin'> {
  readonly invitationsApprove: boolean;
}

/** People look for a mail about as long. */
const usedLinkLifeMs = 90 * dayMs;

const toInvitation = (row: Schema['invitations']): Invitation => ({
  id: row.id,
  email: row.email,
  role: row.role,
  invitedBy: row.invited_by,
  createdAt: new Date(row.created_at).toISOString(),
  expiresAt: new Date(row.expires_at).toISOString(),
});

const openInvitations = (db: Queries, projectId: string, nowMs: number) =>
  db.selectFrom('invitations').selectAll().where('project_id', '=', projectId).where('expires_at', '>', nowMs).orderBy('id');

async function isMember(db: Queries, projectId: string, email: string): Promise<boolean> {
  const query = db.selectFrom('members as m').innerJoin('users as u', 'u.id', 'm.user_id').select('u.id');
  return (await query.where('m.project_id', '=', projectId).where('u.email', '=', email).executeTakeFirst()) !== undefined;
}

/** Runs under the project's lock and reads the caller's role again: a member who was just removed must not invite themselves back. */
async function expectMayInvite(trx: Queries, { membership, caller }: CallContext<'createInvitation'>, role: Role): Promise<void> {
  const actor = orMissing(await findMembership(trx, caller, membership.id), 'Project').role;
  if (!may(actor, 'invitation.create') || !mayGrant(actor, role)) refuse('forbidden', forbiddenMessage);
}

/** A viewer changes nothing and makes no tokens, so to invite one, an older proof is enough: by passkey, of a person who has one. */
async function expectProof(db: Queries, { caller, membership }: CallContext<'createInvitation'>, role: Role): Promise<void> {
  if (role !== 'viewer') await expectFreshProof(db, caller, membership.role);
  else expectPasskey(await hasPasskey(db, caller.userId), caller);
}

async function createInvitation(deps: InvitationDeps, context: CallContext<'createInvitation'>): Promise<Invitation> {
  const { membership, caller, body, nowMs } = context;
  const email = orInvalid(parseEmail(body.email));
  const role = orInvalid(parseRole(body.role));
  if (!mayGrant(membership.role, role)) refuse('forbidden', forbiddenMessage);
  await expectProof(deps.store.db, context, role);
  await deps.limiter.take('invitationPerEmail', `${userShare(caller)} ${email}`);
  await deps.limiter.take('invitationPerUser', userShare(caller));
  const row: Schema['invitations'] = {
    id: createId(nowMs),
    project_id: membership.id,
    email,
    role,
    token_hash: null,
    invited_by: caller.email,
    created_at: nowMs,
    expires_at: nowMs + invitationLifeMs,
  };
  await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    await expectMayInvite(trx, context, role);
    // Replaces an earlier invitation of the same e-mail.
    await trx.deleteFrom('invitations').where('project_id', '=', membership.id).where('email', '=', email).execute();
    await takeMemberQuota(trx, membership, nowMs);
    if (await isMember(trx, membership.id, email)) refuse('conflict', `${email} is already a member`);
    await trx.insertInto('invitations').values(row).execute();
    await addJob(trx, nowMs, 'invitation', { invitationId: row.id });
    await auditCall(trx, context, 'invitation.create', email, { role });
  });
  deps.jobs.wake();
  return toInvitation(row);
}

async function deleteInvitation(deps: InvitationDeps, context: CallContext<'deleteInvitation'>): Promise<void> {
  const { membership, segments } = context;
  await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    const query = trx.deleteFrom('invitations').where('project_id', '=', membership.id).where('id', '=', segments.id);
    const row = orMissing(await query.returning('email').executeTakeFirst(), 'Invitation');
    await auditCall(trx, context, 'invitation.delete', row.email);
  });
}

/** Where the link of an invitation that this member has accepted leads. */
async function findJoined(db: Queries, userId: string, token: string, nowMs: number): Promise<string | undefined> {
  const used = db
    .selectFrom('used_invitations as used')
    .innerJoin('members as m', (join) =>
      join.onRef('m.project_id', '=', 'used.project_id').onRef('m.user_id', '=', 'used.user_id'),
    )
    .select('used.project_id')
    .where('used.token_hash', '=', hashToken(token))
    .where('used.user_id', '=', userId)
    .where('used.expires_at', '>', nowMs);
  return (await used.executeTakeFirst())?.project_id;
}

/**
 * Says why a link opens nothing, to a person who holds the whole secret. That its sender was suspended is nobody's business: then it
 * was withdrawn. Programs learn nothing.
 */
async function refuseLink(db: Queries, caller: Caller | null, token: string, nowMs: number): Promise<never> {
  const refusal =
    isToken(token) && (caller === null || caller.token === null) ? await findRefusal(db, caller, token, nowMs) : 'unknown';
  return refuse('invalid', invitationRefusals[refusal]);
}

async function findRefusal(db: Queries, caller: Caller | null, token: string, nowMs: number): Promise<InvitationRefusal> {
  const used = db.selectFrom('used_invitations').select('user_id').where('token_hash', '=', hashToken(token));
  const user = await used.where('expires_at', '>', nowMs).executeTakeFirst();
  if (user) {
    const hasLeft = user.user_id === caller?.userId && (await findJoined(db, caller.userId, token, nowMs)) === undefined;
    return hasLeft ? 'left' : 'used';
  }
  const open = db.selectFrom('invitations').select('expires_at').where('token_hash', '=', hashToken(token));
  const row = await open.where(byActiveMember).executeTakeFirst();
  if (row === undefined) return 'unknown';
  return row.expires_at > nowMs ? 'otherAddress' : 'expired';
}

async function findName(db: Queries, email: string): Promise<string> {
  const user = await db.selectFrom('users').select(['first_name', 'last_name']).where('email', '=', email).executeTakeFirst();
  return `${user?.first_name ?? ''} ${user?.last_name ?? ''}`.trim();
}

/**
 * Who is signed out and holds the link sees what it is to, before they sign in or register. A person who is signed in sees only
 * their own invitations.
 */
async function checkInvitation(
  deps: InvitationDeps,
  { caller, body, nowMs }: CallContext<'checkInvitation'>,
): Promise<InvitationOffer> {
  const { db } = deps.store;
  const row = await findByToken(db, body.token, nowMs);
  if (row && (caller === null || (caller.token === null && row.email === caller.email))) {
    const { projectName, invited_by: invitedBy, role, email } = row;
    const approves = deps.invitationsApprove && (await findApprover(db, row)) !== undefined;
    return { projectName, invitedBy, inviterName: await findName(db, invitedBy), role, email, approves };
  }
  const joined = caller?.token === null ? await findJoined(db, caller.userId, body.token, nowMs) : undefined;
  return joined === undefined ? refuseLink(db, caller, body.token, nowMs) : { joined };
}

async function acceptInvitation(deps: InvitationDeps, context: CallContext<'acceptInvitation'>): Promise<Project> {
  const { caller, body, address, nowMs } = context;
  const joined = await deps.store.write(async (trx) => {
    // One statement finds and deletes the row, so it is accepted once.
    const row = await trx
      .deleteFrom('invitations')
      .where('token_hash', '=', hashToken(body.token))
      .where('email', '=', caller.email)
      .where('expires_at', '>', nowMs)
      .where(byActiveMember)
      .returningAll()
      .executeTakeFirst();
    if (!row) return refuseLink(trx, caller, body.token, nowMs);
    const { project_id: projectId, role } = row;
    if (!(await isMember(trx, projectId, caller.email)))
      await insertMember(trx, { projectId, userId: caller.userId, role }, nowMs);
    const used = { token_hash: row.token_hash!, project_id: projectId, user_id: caller.userId };
    await trx
      .insertInto('used_invitations')
      .values({ ...used, expires_at: nowMs + usedLinkLifeMs })
      .execute();
    await writeAudit(
      trx,
      { projectId, actor: caller.email, action: 'invitation.accept', target: caller.email, address, detail: { role } },
      nowMs,
    );
    const membership = orMissing(await findMembership(trx, caller, projectId), 'Project');
    refuseStopped(membership);
    const mail = newOwnerMail(caller.email, caller.email, membership.name, deps.origin);
    if (role === 'owner') await tellNewOwner(trx, { projectId, owner: caller.email }, mail, nowMs);
    return { project: toProject(membership, caller), tunnelIds: await guardedTunnels(trx, [projectId]) };
  });
  deps.feed.tunnelsChanged(joined.tunnelIds);
  deps.jobs.wake();
  return joined.project;
}

export const invitationHandlers = {
  ...{ createInvitation, deleteInvitation, checkInvitation, acceptInvitation },
  listInvitations: async ({ store }, { membership, nowMs }) =>
    (await openInvitations(store.db, membership.id, nowMs).execute()).map(toInvitation),
} satisfies AreaHandlers<InvitationDeps>;
