// Security groups in the store. The syntax of names and allow rules is in rules/.

import type { SecurityGroup } from '@underpass/rules/entity/entity.ts';
import {
  type ListedBy,
  type ListPage,
  type ListQuery,
  type securityGroupList,
  selectValues,
} from '@underpass/rules/list/list-page.ts';
import { defaultSecurityGroupName } from '@underpass/rules/text/security-group-name.ts';
import { createId } from '../../platform/store/id.ts';
import type { Queries } from '../../platform/store/store.ts';
import type { Caller } from '../../request/caller/caller.ts';

/** What the group `default` of a new project allows. */
const everybody: readonly string[] = ['0.0.0.0/0', '::/0'];

export async function insertGroup(
  db: Queries,
  group: { readonly projectId: string; readonly name: string; readonly allowList: readonly string[] },
  nowMs: number,
): Promise<string> {
  const id = createId(nowMs);
  await db
    .insertInto('security_groups')
    .values({
      id,
      project_id: group.projectId,
      name: group.name,
      allow_list: JSON.stringify(group.allowList),
      created_at: nowMs,
      updated_at: nowMs,
    })
    .execute();
  return id;
}

export const insertDefaultGroup = (db: Queries, projectId: string, nowMs: number): Promise<string> =>
  insertGroup(db, { projectId, name: defaultSecurityGroupName, allowList: everybody }, nowMs);

const groupRows = (db: Queries, projectId: string) =>
  db
    .selectFrom('security_groups as g')
    .select(['g.id', 'g.name', 'g.allow_list', 'g.updated_at'])
    .select((eb) =>
      eb
        .selectFrom('tunnels as t')
        .select((count) => count.fn.countAll<number>().as('n'))
        .whereRef('t.security_group_id', '=', 'g.id')
        .as('assignments'),
    )
    .where('g.project_id', '=', projectId);

type GroupRow = { id: string; name: string; allow_list: string; updated_at: number; assignments: number | null };

export const toGroup = (row: GroupRow): SecurityGroup => ({
  name: row.name,
  updatedAt: new Date(row.updated_at).toISOString(),
  assignmentCount: Number(row.assignments ?? 0),
  allowList: JSON.parse(row.allow_list) as string[],
});

const listedBy: ListedBy<SecurityGroup, (typeof securityGroupList.sorts)[number]> = {
  texts: ({ name, allowList }) => [name, ...allowList],
  sorts: {
    name: ({ name }) => name,
    updated: ({ updatedAt }) => updatedAt,
    assigned: ({ assignmentCount }) => assignmentCount,
    rules: ({ allowList }) => allowList.length,
  },
};

/** One page in the order of creation: `default` first. */
export async function readGroupPage(db: Queries, projectId: string, query: ListQuery): Promise<ListPage<SecurityGroup>> {
  const all = await groupRows(db, projectId).orderBy('g.id').execute();
  return selectValues(
    all.map((row) => ({ id: row.id, value: toGroup(row) })),
    listedBy,
    query,
  );
}

export const findGroup = (db: Queries, projectId: string, name: string): Promise<GroupRow | undefined> =>
  groupRows(db, projectId).where('g.name', '=', name).executeTakeFirst();

/** Ids of the caller's projects that have a group of this name; at most two, which is enough to see that the name is ambiguous. */
export async function findGroupProjects(db: Queries, caller: Caller, name: string): Promise<string[]> {
  const query = db
    .selectFrom('security_groups as g')
    .innerJoin('members as m', 'm.project_id', 'g.project_id')
    .select('g.project_id')
    .where('m.user_id', '=', caller.userId)
    .where('g.name', '=', name)
    .limit(2);
  const rows = await (caller.token ? query.where('g.project_id', '=', caller.token.projectId) : query).execute();
  return rows.map((row) => row.project_id);
}

/** Names of the tunnels that a group is assigned to, and their ids for the edges. */
export const assignedTunnels = (db: Queries, groupId: string): Promise<{ id: string; name: string }[]> =>
  db.selectFrom('tunnels').select(['id', 'name']).where('security_group_id', '=', groupId).orderBy('id').execute();
