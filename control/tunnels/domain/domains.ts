// Domains of a project in the store: an apex, its challenge, and whether the project has proved that it owns the apex.

import { randomBytes } from 'node:crypto';
import type { Domain } from '@underpass/rules/entity/entity.ts';
import { domainList, type ListedBy, type ListPage, type ListQuery, selectValues } from '@underpass/rules/list/list-page.ts';
import { createId } from '../../platform/store/id.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';

export const toDomain = (row: Schema['domains']): Domain => ({
  apexName: row.apex_name,
  verified: row.verified_at !== null,
  challenge: row.challenge,
});

export const listDomains = (db: Queries, projectId: string): Promise<Schema['domains'][]> =>
  db.selectFrom('domains').selectAll().where('project_id', '=', projectId).orderBy('id').execute();

const statusOf = ({ verified }: Domain): string => (verified ? 'Verified' : 'Unverified');

const listedBy: ListedBy<Domain, (typeof domainList.sorts)[number]> = {
  texts: ({ apexName }) => [apexName],
  sorts: { domain: ({ apexName }) => apexName, status: statusOf },
  status: statusOf,
};

export async function readDomainPage(db: Queries, projectId: string, query: ListQuery): Promise<ListPage<Domain>> {
  const all = (await listDomains(db, projectId)).map((row) => ({ id: row.id, value: toDomain(row) }));
  return selectValues(all, listedBy, query, domainList.statuses);
}

export const findDomain = (db: Queries, projectId: string, apexName: string): Promise<Schema['domains'] | undefined> =>
  db.selectFrom('domains').selectAll().where('project_id', '=', projectId).where('apex_name', '=', apexName).executeTakeFirst();

/** What makes a domain. Null: a person or a program that wants to keep it. */
export type DomainMaker = 'quick' | null;

/** Inserts an unverified domain. Its challenge has 128 random bits, so no DNS record can hold it already. */
export async function insertDomain(
  db: Queries,
  projectId: string,
  apexName: string,
  nowMs: number,
  maker: DomainMaker = null,
): Promise<void> {
  await db
    .insertInto('domains')
    .values({
      id: createId(nowMs),
      project_id: projectId,
      apex_name: apexName,
      challenge: randomBytes(16).toString('hex'),
      verified_at: null,
      owned_apex: null,
      checked_at: null,
      misses: 0,
      first_missed_at: null,
      created_at: nowMs,
      from_quick: maker === 'quick' ? 1 : null,
    })
    .execute();
}

/** Lets the domain stay without its quick tunnel. False if it is none of a quick tunnel. The project must be locked. */
export async function adoptDomain(trx: Queries, projectId: string, apexName: string): Promise<boolean> {
  const update = trx.updateTable('domains').set({ from_quick: null }).where('project_id', '=', projectId);
  const { numUpdatedRows } = await update.where('apex_name', '=', apexName).where('from_quick', '=', 1).executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Deletes those of the apexes that only quick tunnels named and that no tunnel uses any more. The project must be locked. */
export async function dropQuickDomains(trx: Queries, projectId: string, apexNames: readonly string[]): Promise<void> {
  for (const apexName of apexNames) {
    if ((await tunnelsUnder(trx, projectId, apexName)).length > 0) continue;
    const dropped = trx.deleteFrom('domains').where('project_id', '=', projectId).where('apex_name', '=', apexName);
    await dropped.where('from_quick', '=', 1).where('verified_at', 'is', null).execute();
  }
}

/** The apexes that another project has verified. */
export async function foreignApexes(db: Queries, projectId: string, apexNames: readonly string[]): Promise<string[]> {
  if (apexNames.length === 0) return [];
  const rows = await db
    .selectFrom('domains')
    .select('apex_name')
    .where('owned_apex', 'in', apexNames)
    .where('project_id', '!=', projectId)
    .execute();
  return rows.map((row) => row.apex_name);
}

export const foreignDomainText = (apexName: string): string => `Domain '${apexName}' belongs to another project`;

/** Tunnels that have an ingress domain under the apex. */
export const tunnelsUnder = (db: Queries, projectId: string, apexName: string): Promise<{ id: string; name: string }[]> =>
  db
    .selectFrom('tunnel_hosts as h')
    .innerJoin('tunnels as t', 't.id', 'h.tunnel_id')
    .select(['t.id', 't.name'])
    .distinct()
    .where('h.project_id', '=', projectId)
    .where('h.apex_name', '=', apexName)
    .orderBy('t.id')
    .execute();
