// Ends visitors' sessions, and lists the sign-ins.

import { limits } from '@underpass/rules/limits.ts';
import { parseSearch } from '@underpass/rules/list/list-page.ts';
import { parseEmail } from '@underpass/rules/people/email.ts';
import type { AccessSignIn } from '@underpass/rules/visit/access-policy.ts';
import { sql } from 'kysely';
import { endAllVisits, endVisitsOf } from '../../edges/policies/end-visits.ts';
import { createPolicyKeys } from '../../edges/policies/policy-keys.ts';
import { containing } from '../../platform/store/like.ts';
import { readLogPage } from '../../platform/store/log-page.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { auditCall } from '../../request/caller/audit.ts';
import type { CallContext } from '../../request/caller/call.ts';
import { orInvalid } from '../../request/http/refusal.ts';
import { changeGrants, type PolicyDeps } from './write-policy.ts';

/** Replaces the policy's keys too: somebody who got them from a hacked edge could otherwise go on making sessions. */
async function signOutEverybody({ keyRing }: PolicyDeps, trx: Queries, policyId: string, nowMs: number): Promise<void> {
  await endAllVisits(trx, policyId, nowMs);
  await trx.updateTable('access_policies').set(createPolicyKeys(keyRing, policyId)).where('id', '=', policyId).execute();
}

export function signOutVisitors(deps: PolicyDeps, context: CallContext<'signOutVisitors'>): Promise<void> {
  const { body, nowMs } = context;
  const email = body.email === undefined ? null : orInvalid(parseEmail(body.email));
  return changeGrants(deps, context, async (trx, { id, name }) => {
    if (email === null) await signOutEverybody(deps, trx, id, nowMs);
    else await endVisitsOf(trx, id, email, nowMs);
    await auditCall(trx, context, 'access-policy.sign-out', name, email === null ? { everybody: true } : { email });
  });
}

const toSignIn = (row: Schema['access_sign_ins']): AccessSignIn => ({
  id: row.id,
  at: new Date(row.at).toISOString(),
  ...{ policy: row.policy, host: row.host, who: row.who, method: row.method as AccessSignIn['method'] },
  ...{ allowed: row.allowed === 1, reason: row.reason, address: row.address },
});

export async function listSignIns({ store: { db } }: PolicyDeps, { membership, query }: CallContext<'listAccessSignIns'>) {
  let all = db.selectFrom('access_sign_ins').selectAll().where('project_id', '=', membership.id);
  if (query.policy !== undefined) all = all.where('policy', '=', query.policy);
  for (const word of orInvalid(parseSearch(query.q ?? '')))
    all = all.where(
      sql<boolean>`lower(who || ' ' || host || ' ' || address || ' ' || reason) like ${containing(word)} escape '\\'`,
    );
  const { rows, next, previous } = await readLogPage(all, 'id', query, limits.auditPageRows);
  return { entries: rows.map(toSignIn), next, previous };
}
