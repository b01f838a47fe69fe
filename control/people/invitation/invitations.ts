// Invitations in the store: which are open, and whose approves the account of the person whom it invites.
// docs/security.md, "Invitations", says what is tried against them.

import { dayMs, durations } from '@underpass/rules/limits.ts';
import type { ExpressionBuilder } from 'kysely';
import { hashToken, isToken } from '../../platform/secret/token.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';

export const invitationLifeMs = durations.invitationDays * dayMs;

/**
 * Accounts that the invitations of one owner may have approved at a time: those of a project with all the members that it may have.
 * Beyond it people register, and wait for an operator, as without an invitation.
 */
export const approvedPerOwner = 100;

/**
 * A suspended person's invitations are void, and valid again if the suspension is lifted before they expire. The list keeps them, so
 * that other members can withdraw them.
 */
export const byActiveMember = (eb: ExpressionBuilder<Schema, 'invitations'>) =>
  eb.exists(
    eb
      .selectFrom('users as inviter')
      .select('inviter.id')
      .whereRef('inviter.email', '=', 'invitations.invited_by')
      .where('inviter.suspended_at', 'is', null),
  );

export interface OpenInvitation extends Pick<Schema['invitations'], 'id' | 'project_id' | 'email' | 'role' | 'invited_by'> {
  readonly projectName: string;
}

const openOnes = (db: Queries, nowMs: number) =>
  db
    .selectFrom('invitations')
    .innerJoin('projects as p', 'p.id', 'invitations.project_id')
    .select(['invitations.id', 'project_id', 'email', 'role', 'invited_by', 'p.name as projectName'])
    .where('expires_at', '>', nowMs)
    .where(byActiveMember);

/** The invitation whose mail has this token. */
export const findByToken = async (db: Queries, token: string, nowMs: number): Promise<OpenInvitation | undefined> =>
  isToken(token) ? openOnes(db, nowMs).where('token_hash', '=', hashToken(token)).executeTakeFirst() : undefined;

/** The newest first. */
export const listFor = (db: Queries, email: string, nowMs: number): Promise<OpenInvitation[]> =>
  openOnes(db, nowMs).where('email', '=', email).orderBy('invitations.id', 'desc').execute();

/** Lets the person whom it invites accept after a wait for an operator. An invitation that has expired stays so. */
export async function renewFor(trx: Queries, email: string, nowMs: number): Promise<void> {
  const open = trx.updateTable('invitations').where('email', '=', email).where('expires_at', '>', nowMs);
  await open.set({ expires_at: nowMs + invitationLifeMs }).execute();
}

type Approved = Pick<Schema['invitations'], 'project_id' | 'invited_by'>;

/**
 * The owner whose invitation approves an account; undefined if an operator must. Not one whose own account an invitation approved:
 * otherwise one owner could let in anybody, by way of others. Not one who no longer owns the project.
 */
export async function findApprover(
  db: Queries,
  { project_id, invited_by }: Approved,
): Promise<{ readonly id: string; readonly email: string } | undefined> {
  const owner = await db
    .selectFrom('users as u')
    .innerJoin('members as m', 'm.user_id', 'u.id')
    .innerJoin('projects as p', 'p.id', 'm.project_id')
    .select(['u.id', 'u.email'])
    .where('u.email', '=', invited_by)
    .where('u.suspended_at', 'is', null)
    .where('u.invited_by', 'is', null)
    .where('m.project_id', '=', project_id)
    .where('m.role', '=', 'owner')
    .where('p.suspended_at', 'is', null)
    .executeTakeFirst();
  return owner && (await hasRoomFor(db, owner.email)) ? owner : undefined;
}

async function hasRoomFor(db: Queries, owner: string): Promise<boolean> {
  const approved = db.selectFrom('users').select('id').where('invited_by', '=', owner).limit(approvedPerOwner);
  return (await approved.execute()).length < approvedPerOwner;
}
