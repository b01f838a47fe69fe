// Ends what visitors have opened with a sign-in: their sessions at the edges, the refresh tokens of their programs, and the passes
// of members to private tunnels. The caller tells the edges.

import { policyLimits } from '@underpass/rules/visit/policy-limits.ts';
import type { Queries } from '../../platform/store/store.ts';

/** The extra millisecond ends a sign-in of this moment too. */
export async function endAllVisits(trx: Queries, policyId: string, nowMs: number): Promise<void> {
  await trx
    .updateTable('access_policies')
    .set({ valid_from: nowMs + 1 })
    .where('id', '=', policyId)
    .execute();
  await trx.deleteFrom('access_sign_outs').where('policy_id', '=', policyId).execute();
  await trx.deleteFrom('access_flows').where('policy_id', '=', policyId).execute();
}

/**
 * `subject`: an e-mail address, or a user's id for what they opened as a member. Every edge holds the list, so a list that grows too
 * long signs out everybody instead.
 */
export async function endVisitsOf(trx: Queries, policyId: string, subject: string, nowMs: number): Promise<void> {
  const list = trx.selectFrom('access_sign_outs').select('subject').where('policy_id', '=', policyId);
  if ((await list.execute()).length >= policyLimits.people) return endAllVisits(trx, policyId, nowMs);
  await trx
    .insertInto('access_sign_outs')
    .values({ policy_id: policyId, subject, at: nowMs })
    .onConflict((conflict) => conflict.columns(['policy_id', 'subject']).doUpdateSet({ at: nowMs }))
    .execute();
}

/** What members of a project opened there. They sign in again without a question, if their session still may. */
async function endMemberVisits(trx: Queries, projectId: string, userIds: readonly string[], nowMs: number): Promise<void> {
  const policies = await trx.selectFrom('access_policies').select('id').where('project_id', '=', projectId).execute();
  for (const { id } of policies) for (const userId of userIds) await endVisitsOf(trx, id, userId, nowMs);
  const tokens = trx.updateTable('api_tokens').set({ reach_id: null }).where('project_id', '=', projectId);
  await tokens.where('user_id', 'in', userIds).execute();
  // A session has one for all projects: what else it reaches, it reaches again with its next pass.
  await trx.updateTable('sessions').set({ reach_id: null }).where('user_id', 'in', userIds).execute();
}

/** Ends the visits of all members of a project. */
export async function endVisitsOfMembers(trx: Queries, projectId: string, nowMs: number): Promise<void> {
  const rows = await trx.selectFrom('members').select('user_id').where('project_id', '=', projectId).execute();
  const userIds = rows.map((row) => row.user_id);
  await endMemberVisits(trx, projectId, userIds, nowMs);
}

/** Ends the visits of one user, as a member of any project. */
export async function endVisitsOfUser(trx: Queries, userId: string, nowMs: number): Promise<void> {
  const rows = await trx.selectFrom('members').select('project_id').where('user_id', '=', userId).execute();
  for (const { project_id } of rows) await endMemberVisits(trx, project_id, [userId], nowMs);
}
