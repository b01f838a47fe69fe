// How many of a thing a project may have. It counts under the project's lock, so that two calls at once cannot exceed a quota.

import { type QuotaName, quotaMessage } from '@underpass/rules/limits.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Queries } from '../../platform/store/store.ts';
import { refuse } from '../http/refusal.ts';
import type { Membership } from './membership.ts';
import { lockProject } from './project-lock.ts';

type Counted = Extract<
  QuotaName,
  'tunnels' | 'domains' | 'securityGroups' | 'accessPolicies' | 'apiTokens' | 'members' | 'tcpPorts'
>;

/** The quotas that count rows of a project, by table. */
const countedTables = {
  tunnels: 'tunnels',
  domains: 'domains',
  securityGroups: 'security_groups',
  accessPolicies: 'access_policies',
  apiTokens: 'api_tokens',
  members: 'members',
  tcpPorts: 'tcp_ports',
} as const satisfies Record<Counted, string>;

export const countedQuotas = Object.keys(countedTables) as readonly Counted[];

/** What counts of such a table. A port that rests keeps no tunnel from the project. */
export const countedRows = (name: Counted): RawBuilder<unknown> =>
  name === 'tcpPorts'
    ? sql`(select project_id from tcp_ports where tunnel_id is not null) as held`
    : sql`${sql.table(countedTables[name])}`;

async function countRows(db: Queries, table: (typeof countedTables)[Counted], projectId: string): Promise<number> {
  const row = await db
    .selectFrom(table)
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow();
  return Number(row.n);
}

export function withinQuota(membership: Membership, name: QuotaName, count: number): void {
  const message = quotaMessage(name, count, membership.quotas);
  if (message !== null) refuse('conflict', message);
}

/** Locks the project until the transaction ends, and refuses if `adding` more would exceed the quota. */
export async function takeQuota(
  trx: Queries,
  membership: Membership,
  name: Exclude<Counted, 'tcpPorts'>,
  adding = 1,
): Promise<void> {
  await lockProject(trx, membership.id);
  withinQuota(membership, name, (await countRows(trx, countedTables[name], membership.id)) + adding);
}

/** Room for one more member: invitations that have not expired count as members. */
export async function takeMemberQuota(trx: Queries, membership: Membership, nowMs: number): Promise<void> {
  const invited = trx
    .selectFrom('invitations')
    .select('id')
    .where('project_id', '=', membership.id)
    .where('expires_at', '>', nowMs);
  await takeQuota(trx, membership, 'members', (await invited.execute()).length + 1);
}
