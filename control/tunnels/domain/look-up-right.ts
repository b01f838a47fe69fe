// Which hosts a caller may have looked up: control must not be anybody's resolver, nor list the names of a foreign domain.

import { dayMs } from '@underpass/rules/limits.ts';
import { isSameOrUnder } from '@underpass/rules/names/hostname.ts';
import type { Queries } from '../../platform/store/store.ts';
import type { Caller } from '../../request/caller/caller.ts';
import { listMemberships } from '../../request/caller/membership.ts';
import { isClosed } from '../../request/caller/passkey-rule.ts';

async function isDataPlaneHost(db: Queries, host: string): Promise<boolean> {
  const query = db.selectFrom('regions').select('name').where('data_plane_host', '=', host);
  return (await query.executeTakeFirst()) !== undefined;
}

/** Domains of a project that are looked up without proof, and for how long after they were added. */
const newDomainsMost = 20;
const newForMs = dayMs;

async function isUnderVerified(db: Queries, projectId: string, host: string): Promise<boolean> {
  const query = db.selectFrom('domains').select('apex_name').where('project_id', '=', projectId);
  const rows = await query.where('verified_at', 'is not', null).execute();
  return rows.some((row) => isSameOrUnder(host, row.apex_name));
}

export async function isUnderNew(db: Queries, projectId: string, host: string, nowMs: number): Promise<boolean> {
  const query = db.selectFrom('domains').select('apex_name').where('project_id', '=', projectId).orderBy('id', 'desc');
  const added = query.where('verified_at', 'is', null).where('created_at', '>', nowMs - newForMs);
  return (await added.limit(newDomainsMost).execute()).some((row) => isSameOrUnder(host, row.apex_name));
}

async function isGenerated(db: Queries, projectId: string, host: string): Promise<boolean> {
  const query = db.selectFrom('tunnel_hosts').select('host').where('project_id', '=', projectId).where('apex_name', '=', '');
  return (await query.where('host', '=', host).executeTakeFirst()) !== undefined;
}

/** Whose name it is. Only names of regions and of the caller's projects are looked up. */
export async function decideLookUp(
  db: Queries,
  caller: Caller,
  host: string,
  nowMs: number,
): Promise<'ours' | 'new' | 'foreign'> {
  if (await isDataPlaneHost(db, host)) return 'ours';
  const projects = (await listMemberships(db, caller)).filter((project) => !isClosed(project, caller));
  for (const { id } of projects) {
    if ((await isUnderVerified(db, id, host)) || (await isGenerated(db, id, host))) return 'ours';
  }
  for (const { id } of projects) if (await isUnderNew(db, id, host, nowMs)) return 'new';
  return 'foreign';
}
