// Finds the tunnels that the feed must send again when a project gains or loses a member.

import type { Queries } from '../../platform/store/store.ts';

/**
 * Tunnels with an access policy, and tcp tunnels, which may be private. Some admit no members: they are few, and the feed sends no
 * message that changes nothing.
 */
export async function guardedTunnels(db: Queries, projectIds: readonly string[]): Promise<string[]> {
  if (projectIds.length === 0) return [];
  const query = db.selectFrom('tunnels').select('id').where('project_id', 'in', projectIds);
  const guarded = query.where((where) => where.or([where('access_policy_id', 'is not', null), where('type', '=', 'tcp')]));
  return (await guarded.execute()).map((row) => row.id);
}

/** The tcp tunnels of a project, or of all projects that a user is a member of: some of them may be private. */
export async function tcpTunnelsOf(db: Queries, id: string): Promise<string[]> {
  const memberships = db.selectFrom('members').select('project_id').where('user_id', '=', id);
  const query = db.selectFrom('tunnels').select('id').where('type', '=', 'tcp');
  const rows = await query.where(({ or, eb }) => or([eb('project_id', '=', id), eb('project_id', 'in', memberships)])).execute();
  return rows.map((row) => row.id);
}

/** The guarded tunnels of all projects that the user is a member of. */
export async function guardedTunnelsOf(db: Queries, userId: string): Promise<string[]> {
  const rows = await db.selectFrom('members').select('project_id').where('user_id', '=', userId).execute();
  return guardedTunnels(
    db,
    rows.map((row) => row.project_id),
  );
}
