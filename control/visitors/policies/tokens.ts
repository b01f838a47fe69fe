// Tokens of machines: answered once, stored as hashes.

import { parseApiTokenName } from '@underpass/rules/text/project-name.ts';
import type { AccessToken } from '@underpass/rules/visit/access-policy.ts';
import { policyLimits } from '@underpass/rules/visit/policy-limits.ts';
import { createToken, hashToken } from '../../platform/secret/token.ts';
import { createId } from '../../platform/store/id.ts';
import { isoOrNull } from '../../platform/store/iso-time.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { auditCall } from '../../request/caller/audit.ts';
import type { CallContext } from '../../request/caller/call.ts';
import { parseEnd } from '../../request/http/days.ts';
import { orInvalid, orMissing, refuse } from '../../request/http/refusal.ts';
import { changeGrants, getPolicyRow, type PolicyDeps } from './write-policy.ts';

const toToken = (row: Schema['access_tokens']): AccessToken => ({
  id: row.id,
  name: row.name,
  createdBy: row.created_by,
  createdAt: new Date(row.created_at).toISOString(),
  expiresAt: isoOrNull(row.expires_at),
});

const tokenRows = (db: Queries, policyId: string) =>
  db.selectFrom('access_tokens').selectAll().where('policy_id', '=', policyId).orderBy('id');

export async function listTokens(
  { store: { db } }: PolicyDeps,
  { membership, segments }: CallContext<'listAccessTokens'>,
): Promise<readonly AccessToken[]> {
  const { id } = await getPolicyRow(db, membership, segments.name);
  return (await tokenRows(db, id).execute()).map(toToken);
}

export async function addToken(deps: PolicyDeps, context: CallContext<'createAccessToken'>) {
  const { caller, body, nowMs } = context;
  const name = orInvalid(parseApiTokenName(body.name));
  const expiresAt = parseEnd('token', body.expiresInDays, nowMs);
  return changeGrants(deps, context, async (trx, policy) => {
    if (Number(policy.tokens) >= policyLimits.tokens)
      refuse('conflict', `An access policy may have at most ${policyLimits.tokens} tokens. Delete some.`);
    const token = createToken();
    const row = {
      ...{ id: createId(nowMs), policy_id: policy.id, name, token_hash: hashToken(token) },
      ...{ created_by: caller.email, created_at: nowMs, expires_at: expiresAt },
    };
    await trx.insertInto('access_tokens').values(row).execute();
    await auditCall(trx, context, 'access-policy.create-token', policy.name, { token: name, expiresAt: isoOrNull(expiresAt) });
    return { ...toToken(row), token };
  });
}

export const removeToken = (deps: PolicyDeps, context: CallContext<'deleteAccessToken'>): Promise<void> =>
  changeGrants(deps, context, async (trx, policy) => {
    const own = trx.deleteFrom('access_tokens').where('policy_id', '=', policy.id);
    const row = await own.where('id', '=', context.segments.id).returning('name').executeTakeFirst();
    const { name } = orMissing(row, 'Machine token');
    await auditCall(trx, context, 'access-policy.delete-token', policy.name, { token: name });
  });
