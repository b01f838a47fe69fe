// A caller's role in a project: the member's, or the API token's if that is lower.

import type { Role } from '@underpass/rules/entity/entity.ts';
import { type ProjectQuotas, projectQuotas } from '@underpass/rules/limits.ts';
import { mayGrant } from '@underpass/rules/people/permission.ts';
import type { Flag } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { refuse } from '../http/refusal.ts';
import type { Caller } from './caller.ts';

/** A project, and what the caller may do in it. */
export interface Membership {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly quotas: ProjectQuotas;
  readonly suspended: boolean;
  readonly passkeyRequired: boolean;
}

export const readQuotas = (limits: string | null): ProjectQuotas =>
  limits === null ? projectQuotas : { ...projectQuotas, ...(JSON.parse(limits) as Partial<ProjectQuotas>) };

/** The lower of the two: a token loses rights when the member who made it loses them. */
export const lowerRole = (member: Role, token: Role): Role => (mayGrant(member, token) ? token : member);

const memberships = (db: Queries, userId: string) =>
  db
    .selectFrom('members as m')
    .innerJoin('projects as p', 'p.id', 'm.project_id')
    .select(['p.id', 'p.name', 'p.limits', 'p.suspended_at', 'p.passkey_required', 'm.role'])
    .where('m.user_id', '=', userId);

type Row = { id: string; name: string; limits: string | null; suspended_at: number | null; passkey_required: Flag; role: Role };

const toMembership = (row: Row, caller: Caller): Membership => ({
  id: row.id,
  name: row.name,
  role: caller.token ? lowerRole(row.role, caller.token.role) : row.role,
  quotas: readQuotas(row.limits),
  suspended: row.suspended_at !== null,
  passkeyRequired: row.passkey_required === 1,
});

/** Undefined if the project does not exist or is not the caller's: a caller cannot tell which. */
export async function findMembership(db: Queries, caller: Caller, projectId: string): Promise<Membership | undefined> {
  if (caller.token && caller.token.projectId !== projectId) return undefined;
  const row = await memberships(db, caller.userId).where('p.id', '=', projectId).executeTakeFirst();
  return row && toMembership(row, caller);
}

export async function listMemberships(db: Queries, caller: Caller): Promise<Membership[]> {
  const rows = await memberships(db, caller.userId).orderBy('p.id').execute();
  const visible = rows.filter((row) => !caller.token || row.id === caller.token.projectId);
  return visible.map((row) => toMembership(row, caller));
}

export function refuseStopped({ suspended }: Membership): void {
  if (suspended) refuse('forbidden', 'This project is suspended. Please write to the operator.');
}
