// Ends visitors' sessions, and lists the sign-ins.

import { parseEmail } from '@underpass/rules/email.ts';
import { limits } from '@underpass/rules/limits.ts';
import type { AccessSignIn } from '@underpass/rules/visit/access-policy.ts';
import { policyLimits } from '@underpass/rules/visit/policy-limits.ts';
import { auditCall } from '../access/audit.ts';
import type { CallContext } from '../access/call.ts';
import { orInvalid } from '../http/refusal.ts';
import type { AccessSignInsTable } from '../store/schema.ts';
import type { Queries } from '../store/store.ts';
import { changeGrants, type PolicyDeps } from './write-policy.ts';

/** Ends every session, and the refresh tokens of programs. The extra millisecond ends a sign-in of this moment too. */
export const endAll = async (trx: Queries, policyId: string, nowMs: number): Promise<void> => {
  await trx
    .updateTable('access_policies')
    .set({ valid_from: nowMs + 1 })
    .where('id', '=', policyId)
    .execute();
  await trx.deleteFrom('access_sign_outs').where('policy_id', '=', policyId).execute();
  await trx.deleteFrom('access_flows').where('policy_id', '=', policyId).execute();
};

/** Every edge holds the list, so a list that grows too long signs out everybody instead. */
const endOne = async (trx: Queries, policyId: string, email: string, nowMs: number): Promise<void> => {
  const list = trx.selectFrom('access_sign_outs').select('subject').where('policy_id', '=', policyId);
  if ((await list.execute()).length >= policyLimits.people) return endAll(trx, policyId, nowMs);
  await trx
    .insertInto('access_sign_outs')
    .values({ policy_id: policyId, subject: email, at: nowMs })
    .onConflict((conflict) => conflict.columns(['policy_id', 'subject']).doUpdateSet({ at: nowMs }))
    .execute();
};

export const signOutVisitors = (deps: PolicyDeps, context: CallContext<'signOutVisitors'>): Promise<void> => {
  const { body, nowMs } = context;
  const email = body.email === undefined ? null : orInvalid(parseEmail(body.email));
  return changeGrants(deps, context, async (trx, { id, name }) => {
    if (email === null) await endAll(trx, id, nowMs);
    else await endOne(trx, id, email, nowMs);
    await auditCall(trx, context, 'access-policy.sign-out', name, email === null ? { everybody: true } : { email });
  });
};

const toSignIn = (row: AccessSignInsTable): AccessSignIn => ({
  id: row.id,
  at: new Date(row.at).toISOString(),
  ...{ policy: row.policy, host: row.host, who: row.who, method: row.method as AccessSignIn['method'] },
  ...{ allowed: row.allowed === 1, reason: row.reason, address: row.address },
});

/** Newest first. */
export const listSignIns = async (db: Queries, { access, query }: CallContext<'listAccessSignIns'>) => {
  let rows = db.selectFrom('access_sign_ins').selectAll().where('project_id', '=', access.id).orderBy('id', 'desc');
  if (query.before !== undefined) rows = rows.where('id', '<', query.before);
  if (query.policy !== undefined) rows = rows.where('policy', '=', query.policy);
  const found = await rows.limit(limits.auditPageRows + 1).execute();
  const page = found.slice(0, limits.auditPageRows);
  return { entries: page.map(toSignIn), next: found.length > page.length ? page.at(-1)!.id : null };
};
