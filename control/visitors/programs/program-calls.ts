// The calls about programs that visitors allowed to act for them.

import type { AccessProgram } from '@underpass/rules/visit/access-policy.ts';
import { policyLimits } from '@underpass/rules/visit/policy-limits.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { auditCall } from '../../request/caller/audit.ts';
import type { AreaHandlers, CallContext } from '../../request/caller/call.ts';
import { orMissing } from '../../request/http/refusal.ts';
import { changeGrants, getPolicyRow, type PolicyDeps } from '../policies/write-policy.ts';
import { type Chain, openFlow } from './flows.ts';
import { endProgram } from './program-end.ts';

const chainRows = (db: Queries, policyId: string) =>
  db.selectFrom('access_flows').selectAll().where('policy_id', '=', policyId).where('kind', '=', 'refresh');

/** Undefined for a row that no key opens: control refuses its tokens too. */
function readChain(keyRing: KeyRing, row: Schema['access_flows']): Chain | undefined {
  const content = openFlow(keyRing, row);
  return content?.stage === 'chain' ? content : undefined;
}

const toProgram = ({ id, created_at, expires_at }: Schema['access_flows'], { program, host, claims }: Chain): AccessProgram => ({
  id,
  name: program.name,
  site: program.isDocument ? new URL(program.id).host : null,
  host,
  who: claims.email,
  method: claims.method,
  connectedAt: new Date(created_at).toISOString(),
  endsAt: new Date(expires_at).toISOString(),
});

async function listPrograms(
  { store, keyRing }: PolicyDeps,
  { membership, segments, nowMs }: CallContext<'listAccessPrograms'>,
): Promise<readonly AccessProgram[]> {
  const { id } = await getPolicyRow(store.db, membership, segments.name);
  const live = chainRows(store.db, id).where('expires_at', '>', nowMs).orderBy('created_at', 'desc').orderBy('id');
  const rows = await live.limit(policyLimits.programs).execute();
  return rows.flatMap((row) => {
    const chain = readChain(keyRing, row);
    return chain === undefined ? [] : [toProgram(row, chain)];
  });
}

const removeProgram = (deps: PolicyDeps, context: CallContext<'deleteAccessProgram'>): Promise<void> =>
  changeGrants(deps, context, async (trx, policy) => {
    const { segments, nowMs } = context;
    const row = orMissing(await chainRows(trx, policy.id).where('id', '=', segments.id).executeTakeFirst(), 'Program');
    await endProgram(trx, policy.id, row.id, nowMs);
    const chain = readChain(deps.keyRing, row);
    const detail = chain === undefined ? { id: row.id } : { program: chain.program.name, email: chain.claims.email };
    await auditCall(trx, context, 'access-policy.revoke-program', policy.name, detail);
  });

export const programHandlers = {
  listAccessPrograms: listPrograms,
  deleteAccessProgram: removeProgram,
} satisfies AreaHandlers<PolicyDeps>;
