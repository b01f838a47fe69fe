// Reads access policies for people. control/edges/policies reads what the policies grant.

import {
  type accessPolicyList,
  type ListedBy,
  type ListPage,
  type ListQuery,
  selectValues,
} from '@underpass/rules/list/list-page.ts';
import type { AccessPolicy } from '@underpass/rules/visit/access-policy.ts';
import { type PolicyContent, readContent } from '../../edges/policies/policy-content.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { refuse } from '../../request/http/refusal.ts';

const policyRows = (db: Queries, projectId: string) =>
  db
    .selectFrom('access_policies as p')
    .selectAll('p')
    .select((eb) => [
      eb
        .selectFrom('access_tokens as t')
        .select((count) => count.fn.countAll<number>().as('n'))
        .whereRef('t.policy_id', '=', 'p.id')
        .as('tokens'),
      eb
        .selectFrom('access_links as l')
        .select((count) => count.fn.countAll<number>().as('n'))
        .whereRef('l.policy_id', '=', 'p.id')
        .as('links'),
    ])
    .where('p.project_id', '=', projectId);

export type PolicyRow = Schema['access_policies'] & { readonly tokens: number | null; readonly links: number | null };

interface AttachedTunnel {
  readonly id: string;
  readonly name: string;
}

/** The tunnels that a policy is attached to: their names, and their ids for the edges. */
export const attachedTunnels = (db: Queries, policyId: string): Promise<AttachedTunnel[]> =>
  db.selectFrom('tunnels').select(['id', 'name']).where('access_policy_id', '=', policyId).orderBy('id').execute();

/** The names of the tunnels of all policies of a project, by the policy's id. */
async function tunnelNames(db: Queries, projectId: string): Promise<Map<string | null, string[]>> {
  const query = db.selectFrom('tunnels').select(['access_policy_id', 'name']).where('project_id', '=', projectId);
  const rows = await query.where('access_policy_id', 'is not', null).orderBy('id').execute();
  const byPolicy = Map.groupBy(rows, (row) => row.access_policy_id);
  return new Map([...byPolicy].map(([id, tunnels]) => [id, tunnels.map(({ name }) => name)]));
}

/** The content of a row, for a call: refuses with a sentence if it cannot be read. */
export function contentOf({ name, content }: Pick<Schema['access_policies'], 'name' | 'content'>): PolicyContent {
  try {
    return readContent(content);
  } catch {
    return refuse('conflict', `Access policy '${name}' cannot be read. Write to the operator.`);
  }
}

function toPolicy(row: PolicyRow, tunnels: readonly string[]): AccessPolicy {
  const { rules, members, people, provider, tokenHeader, origins, sessionHours, log } = contentOf(row);
  return {
    name: row.name,
    updatedAt: new Date(row.updated_at).toISOString(),
    ...{ tunnels, rules, members, people, provider, tokenHeader, origins, sessionHours, log },
    password: row.password_hash !== null,
    tokenCount: Number(row.tokens ?? 0),
    linkCount: Number(row.links ?? 0),
  };
}

const listedBy: ListedBy<AccessPolicy, (typeof accessPolicyList.sorts)[number]> = {
  texts: ({ name, people, tunnels }) => [name, ...people, ...tunnels],
  sorts: {
    name: ({ name }) => name,
    updated: ({ updatedAt }) => updatedAt,
    tunnels: ({ tunnels }) => tunnels.length,
  },
};

/** One page in the order of creation. */
export async function readPolicyPage(db: Queries, projectId: string, query: ListQuery): Promise<ListPage<AccessPolicy>> {
  const all = await policyRows(db, projectId).orderBy('p.id').execute();
  const tunnels = await tunnelNames(db, projectId);
  return selectValues(
    all.map((row) => ({ id: row.id, value: toPolicy(row, tunnels.get(row.id) ?? []) })),
    listedBy,
    query,
  );
}

export const findPolicy = (db: Queries, projectId: string, name: string): Promise<PolicyRow | undefined> =>
  policyRows(db, projectId).where('p.name', '=', name).executeTakeFirst();

export async function readPolicy(db: Queries, projectId: string, name: string): Promise<AccessPolicy | undefined> {
  const row = await findPolicy(db, projectId, name);
  if (row === undefined) return undefined;
  return toPolicy(
    row,
    (await attachedTunnels(db, row.id)).map((tunnel) => tunnel.name),
  );
}
