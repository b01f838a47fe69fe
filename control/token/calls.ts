// The calls about API tokens.

import { limits } from '@underpass/rules/limits.ts';
import { forbiddenMessage, may, mayGrant, parseRole } from '@underpass/rules/permission.ts';
import { parseApiTokenName } from '@underpass/rules/project-name.ts';
import type { ApiToken, NewApiToken } from '@underpass/rules/resource.ts';
import { createApiToken } from '../access/api-token.ts';
import { auditCall } from '../access/audit.ts';
import type { CallContext, Handlers } from '../access/call.ts';
import { findAccess } from '../access/project-access.ts';
import { lockProject } from '../access/project-lock.ts';
import { takeQuota } from '../access/quota.ts';
import { tellNarrowed } from '../bus/access.ts';
import type { Bus } from '../bus/bus.ts';
import { orInvalid, orMissing, refuse } from '../http/refusal.ts';
import type { Queries, Store } from '../store/store.ts';

export interface TokenDeps {
  readonly store: Store;
  readonly bus: Bus;
}

const isoOrNull = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

const tokenRows = (db: Queries, projectId: string) =>
  db
    .selectFrom('api_tokens as t')
    .innerJoin('users as u', 'u.id', 't.user_id')
    .select(['t.id', 't.name', 't.role', 't.user_id', 'u.email', 't.created_at', 't.expires_at', 't.used_at'])
    .where('t.project_id', '=', projectId)
    .orderBy('t.id');

type TokenRow = Awaited<ReturnType<ReturnType<typeof tokenRows>['execute']>>[number];

const toApiToken = (row: TokenRow): ApiToken => ({
  id: row.id,
  name: row.name,
  role: row.role,
  createdBy: row.email,
  createdAt: new Date(row.created_at).toISOString(),
  expiresAt: isoOrNull(row.expires_at),
  usedAt: isoOrNull(row.used_at),
});

const parseDays = (days: number | undefined): number => {
  const whole = days ?? limits.apiTokenDays;
  const fits = Number.isInteger(whole) && whole >= 1 && whole <= limits.apiTokenDays;
  return fits ? whole : refuse('invalid', `A token may live from 1 to ${limits.apiTokenDays} days.`);
};

const createToken = async (deps: TokenDeps, context: CallContext<'createApiToken'>): Promise<NewApiToken> => {
  const { access, caller, body, nowMs } = context;
  const name = orInvalid(parseApiTokenName(body.name));
  const role = orInvalid(parseRole(body.role));
  const expiresInDays = parseDays(body.expiresInDays);
  const made = await deps.store.write(async (trx) => {
    await lockProject(trx, access.id);
    // Read again under the lock: a member who was just removed must not leave a token that works if they come back.
    const actor = orMissing(await findAccess(trx, caller, access.id), 'Project').role;
    if (!may(actor, 'api-token.create') || !mayGrant(actor, role)) refuse('forbidden', forbiddenMessage);
    await takeQuota(trx, access, 'apiTokens');
    const token = await createApiToken(trx, { projectId: access.id, userId: caller.userId, name, role, expiresInDays }, nowMs);
    await auditCall(trx, context, 'api-token.create', name, { role, expiresInDays });
    return token;
  });
  const row = await tokenRows(deps.store.db, access.id).where('t.id', '=', made.id).executeTakeFirstOrThrow();
  return { ...toApiToken(row), token: made.token };
};

const deleteToken = async (deps: TokenDeps, context: CallContext<'deleteApiToken'>): Promise<void> => {
  const { access, caller, segments } = context;
  await deps.store.write(async (trx) => {
    await lockProject(trx, access.id);
    const row = orMissing(await tokenRows(trx, access.id).where('t.id', '=', segments.id).executeTakeFirst(), 'API token');
    // Members delete their own tokens. Deleting another's takes the right to remove members.
    if (row.user_id !== caller.userId && !may(access.role, 'member.remove')) refuse('forbidden', forbiddenMessage);
    await trx.deleteFrom('api_tokens').where('id', '=', row.id).execute();
    await auditCall(trx, context, 'api-token.delete', row.name);
  });
  tellNarrowed(deps.bus, access.id);
};

export const createTokenCalls = (deps: TokenDeps): Handlers<'listApiTokens' | 'createApiToken' | 'deleteApiToken'> => ({
  listApiTokens: async ({ access }) => (await tokenRows(deps.store.db, access.id).execute()).map(toApiToken),
  createApiToken: (context) => createToken(deps, context),
  deleteApiToken: (context) => deleteToken(deps, context),
});
