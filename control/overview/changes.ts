// What changed lately in a project: the newest rows of its audit log, with the names of those who did it.

import type { RecentChange } from '@underpass/rules/entity/resource.ts';
import { overviewLimits } from '@underpass/rules/limits.ts';
import type { Queries } from '../platform/store/store.ts';

/** A refused call changed nothing. */
const refused = 'call.refuse';

export async function readChanges(db: Queries, projectId: string): Promise<readonly RecentChange[]> {
  const rows = await db
    .selectFrom('audit as a')
    .leftJoin('users as u', 'u.email', 'a.actor')
    .select(['a.id', 'a.at', 'a.actor', 'a.action', 'a.target', 'a.detail', 'u.first_name'])
    .where('a.project_id', '=', projectId)
    .where('a.action', '!=', refused)
    .orderBy('a.id', 'desc')
    .limit(overviewLimits.changes)
    .execute();
  return rows.map(({ id, at, actor, action, target, detail, first_name }) => ({
    ...{ id, at: new Date(at).toISOString(), actor, action, target },
    detail: JSON.parse(detail) as Record<string, unknown>,
    ...(first_name ? { actorName: first_name } : {}),
  }));
}
