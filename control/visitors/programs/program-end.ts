// Ends the access of one program: its refresh tokens here, and its access tokens at the edges, which learn it from the list of those
// who were signed out.

import { programSubject } from '@underpass/rules/visit/grants.ts';
import { policyLimits } from '@underpass/rules/visit/policy-limits.ts';
import { endAllVisits } from '../../edges/policies/end-visits.ts';
import type { Queries } from '../../platform/store/store.ts';
import { attachedTunnels } from '../policies/policies.ts';
import type { PolicyDeps } from '../policies/write-policy.ts';

/** Access tokens last an hour; the rest is for clocks that differ. */
const listedMs = 70 * 60_000;

/** False if it has ended before. */
async function deleteTokens(trx: Queries, policyId: string, programId: string): Promise<boolean> {
  const own = trx.deleteFrom('access_flows').where('policy_id', '=', policyId).where('kind', '=', 'refresh');
  return (await own.where('id', '=', programId).executeTakeFirst()).numDeletedRows > 0n;
}

async function readSubjects(trx: Queries, policyId: string): Promise<readonly string[]> {
  const rows = await trx.selectFrom('access_sign_outs').select('subject').where('policy_id', '=', policyId).execute();
  return rows.map(({ subject }) => subject);
}

const isProgram = (subject: string): boolean => subject.startsWith(programSubject(''));

async function forgetOld(trx: Queries, policyId: string, nowMs: number): Promise<void> {
  const own = trx.deleteFrom('access_sign_outs').where('policy_id', '=', policyId);
  await own
    .where('subject', 'like', `${programSubject('')}%`)
    .where('at', '<', nowMs - listedMs)
    .execute();
}

async function list(trx: Queries, policyId: string, programId: string, nowMs: number): Promise<void> {
  const row = { policy_id: policyId, subject: programSubject(programId), at: nowMs };
  await trx.insertInto('access_sign_outs').values(row).execute();
}

/** Ends a program for the project's people. As with visitors, a list that grows too long signs out everybody instead. */
export async function endProgram(trx: Queries, policyId: string, programId: string, nowMs: number): Promise<boolean> {
  if (!(await deleteTokens(trx, policyId, programId))) return false;
  await forgetOld(trx, policyId, nowMs);
  const isFull = (await readSubjects(trx, policyId)).length >= policyLimits.people;
  await (isFull ? endAllVisits(trx, policyId, nowMs) : list(trx, policyId, programId, nowMs));
  return true;
}

/**
 * Ends a program that asks for it, or of which a token was used twice. Some visitor may do this over and over, which must not sign
 * out the others: beyond the limit only the refresh tokens end, and the last access token within the hour.
 */
export async function endOwnProgram(
  { store, feed }: Pick<PolicyDeps, 'store' | 'feed'>,
  policyId: string,
  programId: string,
  nowMs: number,
): Promise<void> {
  const tunnels = await store.write(async (trx) => {
    if (!(await deleteTokens(trx, policyId, programId))) return [];
    await forgetOld(trx, policyId, nowMs);
    if ((await readSubjects(trx, policyId)).filter(isProgram).length >= policyLimits.endedPrograms) return [];
    await list(trx, policyId, programId, nowMs);
    return attachedTunnels(trx, policyId);
  });
  feed.tunnelsChanged(tunnels.map(({ id }) => id));
}
