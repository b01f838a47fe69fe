// Projects and their members in the store.

import type { Project, Role } from '@underpass/rules/entity/entity.ts';
import { createId } from '../../platform/store/id.ts';
import type { Queries } from '../../platform/store/store.ts';
import type { Caller } from '../../request/caller/caller.ts';
import { listMemberships, type Membership } from '../../request/caller/membership.ts';
import { isClosed } from '../../request/caller/passkey-rule.ts';
import { insertDefaultGroup } from '../../tunnels/group/groups.ts';

/** Inserts a project with its first owner and its group `default`. */
export async function insertProject(trx: Queries, project: { name: string; ownerId: string }, nowMs: number): Promise<string> {
  const id = createId(nowMs);
  await trx
    .insertInto('projects')
    .values({ id, name: project.name, limits: null, suspended_at: null, passkey_required: 0, revision: 0, created_at: nowMs })
    .execute();
  await insertMember(trx, { projectId: id, userId: project.ownerId, role: 'owner' }, nowMs);
  await insertDefaultGroup(trx, id, nowMs);
  return id;
}

export async function insertMember(
  db: Queries,
  member: { readonly projectId: string; readonly userId: string; readonly role: Role },
  nowMs: number,
): Promise<void> {
  await db
    .insertInto('members')
    .values({ project_id: member.projectId, user_id: member.userId, role: member.role, created_at: nowMs })
    .execute();
}

export const listProjects = async (db: Queries, caller: Caller): Promise<Project[]> =>
  (await listMemberships(db, caller)).map((membership) => toProject(membership, caller));

/** A closed project is listed too, so that its member sees why it is closed. */
export const toProject = (membership: Membership, caller: Caller): Project => ({
  id: membership.id,
  name: membership.name,
  role: membership.role,
  ...(membership.passkeyRequired ? { passkey: isClosed(membership, caller) ? 'needed' : 'required' } : {}),
});

async function countOwnerships(db: Queries, column: 'project_id' | 'user_id', id: string): Promise<number> {
  const row = await db
    .selectFrom('members')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where(column, '=', id)
    .where('role', '=', 'owner')
    .executeTakeFirstOrThrow();
  return Number(row.n);
}

export const countOwners = (db: Queries, projectId: string): Promise<number> => countOwnerships(db, 'project_id', projectId);
export const countOwnedProjects = (db: Queries, userId: string): Promise<number> => countOwnerships(db, 'user_id', userId);
