// Decides whether a caller may make a call, before its body is read. rules/people/permission.ts has the table of roles and actions.

import type { Call } from '@underpass/rules/api/call.ts';
import { type Action, forbiddenMessage, may, whoMay } from '@underpass/rules/people/permission.ts';
import type { Queries } from '../platform/store/store.ts';
import type { Caller } from '../request/caller/caller.ts';
import { findMembership, type Membership, refuseStopped } from '../request/caller/membership.ts';
import { expectOwnPasskey, expectPasskey, needsOperatorPasskey } from '../request/caller/passkey-rule.ts';
import { expectFreshProof } from '../request/caller/proof-rule.ts';
import { isUnsafe } from '../request/http/origin.ts';
import { orMissing, Refusal, refuse } from '../request/http/refusal.ts';
import { findGroupProjects } from '../tunnels/group/groups.ts';

/** The `who` of calls that act in no project. */
const withoutProject = new Set<Call['who']>(['anyone', 'user', 'operator']);

/** The call's project: from the query, or from the path for calls about projects themselves. */
async function projectOf(db: Queries, call: Call, caller: Caller, values: Values): Promise<string> {
  if (call.path.startsWith('/api/projects/')) return values.segments.id!;
  if (values.query.project !== undefined) return values.query.project;
  if (call.query === 'InProjectOrOnly') return soleGroupProject(db, caller, values.segments.name!);
  return refuse('invalid', "Query parameter 'project' is missing.");
}

/** The one project of the caller that has such a group, for a call that names no project. */
async function soleGroupProject(db: Queries, caller: Caller, group: string): Promise<string> {
  const [only, ...others] = await findGroupProjects(db, caller, group);
  if (only === undefined || others.length > 0) return refuse('invalid', "Query parameter 'project' is missing.");
  return only;
}

export interface Values {
  readonly segments: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

function permitAccount(call: Call, caller: Caller | null): void {
  if (call.who === 'anyone') return;
  if (caller === null) throw new Refusal('signedOut', 'Sign in first.');
  if (call.needs && caller.token !== null) refuse('sessionNeeded', 'An API token may not do this. Use the dashboard.');
  if (call.who === 'operator' && !caller.operator) refuse('forbidden', 'Only operators may do this.');
}

/** Holding a session for a moment, or the mailbox of a person with a passkey, must not give power that outlives it. */
async function expectProof(db: Queries, call: Call, caller: Caller | null, membership: Membership | null): Promise<void> {
  if (caller === null || caller.token !== null || call.freshUnless) return;
  if (call.needs === 'fresh') await expectFreshProof(db, caller, call.who === 'user' ? 'user' : membership?.role);
  else if (call.lasting) await expectOwnPasskey(db, caller);
}

/** The project that the call may act in, or null for calls that act in none. */
export async function permit(db: Queries, call: Call, caller: Caller | null, values: Values): Promise<Membership | null> {
  permitAccount(call, caller);
  if (call.who === 'operator' && caller !== null) expectPasskey(await needsOperatorPasskey(db), caller);
  const membership = await permitProject(db, call, caller, values);
  await expectProof(db, call, caller, membership);
  return membership;
}

/** A member learns whom to ask; the role of an API token is not for a member to change. */
async function refuseRole(db: Queries, caller: Caller, { id }: Membership, action: Action): Promise<never> {
  if (caller.token !== null) return refuse('forbidden', forbiddenMessage);
  const owner = await db
    .selectFrom('members as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select(['u.first_name', 'u.email'])
    .where('m.project_id', '=', id)
    .where('m.role', '=', 'owner')
    .where('u.suspended_at', 'is', null)
    .orderBy('m.created_at')
    .limit(1)
    .executeTakeFirst();
  const ask = owner && `${owner.first_name} (${owner.email})`;
  return refuse('forbidden', `${forbiddenMessage} ${whoMay(action, ask)}`);
}

async function permitProject(db: Queries, call: Call, caller: Caller | null, values: Values): Promise<Membership | null> {
  if (withoutProject.has(call.who) || caller === null) return null;
  const projectId = await projectOf(db, call, caller, values);
  const membership = orMissing(await findMembership(db, caller, projectId), 'Project');
  expectPasskey(membership.passkeyRequired, caller);
  if (!may(membership.role, call.who as Action)) await refuseRole(db, caller, membership, call.who as Action);
  if (isUnsafe(call.method)) refuseStopped(membership);
  return membership;
}
