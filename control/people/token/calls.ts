// The calls about API tokens.

import type { ApiToken, NewApiToken, OwnToken } from '@underpass/rules/entity/resource.ts';
import { limits } from '@underpass/rules/limits.ts';
import { forbiddenMessage, may, mayGrant, parseRole } from '@underpass/rules/people/permission.ts';
import { parseApiTokenName } from '@underpass/rules/text/project-name.ts';
import { tellNarrowed } from '../../platform/bus/narrowed-rights.ts';
import { hasRoom } from '../../platform/limit/limiter.ts';
import { newTokenMail } from '../../platform/mail/mails.ts';
import { isoOrNull } from '../../platform/store/iso-time.ts';
import type { Queries } from '../../platform/store/store.ts';
import { recordAlert } from '../../request/caller/alert.ts';
import { createApiToken } from '../../request/caller/api-token.ts';
import { auditCall, writeAudit } from '../../request/caller/audit.ts';
import type { AreaHandlers, CallContext } from '../../request/caller/call.ts';
import { findMembership } from '../../request/caller/membership.ts';
import { addNotices } from '../../request/caller/notice.ts';
import { lockProject } from '../../request/caller/project-lock.ts';
import { takeQuota } from '../../request/caller/quota.ts';
import type { CallDeps } from '../../request/deps.ts';
import { parseDays } from '../../request/http/days.ts';
import { orInvalid, orMissing, refuse } from '../../request/http/refusal.ts';

type TokenDeps = Pick<CallDeps, 'store' | 'bus' | 'limiter' | 'jobs' | 'origin'>;

const tokenRows = (db: Queries, projectId: string) =>
  db
    .selectFrom('api_tokens as t')
    .innerJoin('users as u', 'u.id', 't.user_id')
    .select(['t.id', 't.name', 't.role', 't.cli', 't.user_id', 'u.email', 't.created_at', 't.expires_at', 't.used_at'])
    .where('t.project_id', '=', projectId)
    .orderBy('t.id');

type TokenRow = Awaited<ReturnType<ReturnType<typeof tokenRows>['execute']>>[number];

const shown = (row: Omit<TokenRow, 'email' | 'user_id'>) => ({
  id: row.id,
  name: row.name,
  role: row.role,
  cli: row.cli === 1,
  createdAt: new Date(row.created_at).toISOString(),
  expiresAt: isoOrNull(row.expires_at),
  usedAt: isoOrNull(row.used_at),
});

const toApiToken = (row: TokenRow): ApiToken => ({ ...shown(row), createdBy: row.email });

async function createToken(deps: TokenDeps, context: CallContext<'createApiToken'>): Promise<NewApiToken> {
  const { membership, caller, body, address, nowMs } = context;
  const name = orInvalid(parseApiTokenName(body.name));
  const role = orInvalid(parseRole(body.role));
  const expiresInDays = parseDays('token', body.expiresInDays ?? limits.apiTokenDays);
  const tells = await hasRoom(deps.limiter, 'noticePerSubject', caller.userId);
  const made = await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    // Read again under the lock: a member who was just removed must not leave a token that works if they come back.
    const actor = orMissing(await findMembership(trx, caller, membership.id), 'Project').role;
    if (!may(actor, 'api-token.create') || !mayGrant(actor, role)) refuse('forbidden', forbiddenMessage);
    await takeQuota(trx, membership, 'apiTokens');
    const token = await createApiToken(
      trx,
      { projectId: membership.id, userId: caller.userId, name, role, expiresInDays, cli: false },
      nowMs,
    );
    await auditCall(trx, context, 'api-token.create', name, { role, expiresInDays });
    const mail = newTokenMail({ name, role, projectName: membership.name, cli: false, address, nowMs }, deps.origin);
    if (tells) {
      await addNotices(trx, [caller.email], mail, nowMs);
      await recordAlert(trx, membership.id, { kind: 'token-created', person: caller.email, tokenName: name }, nowMs);
    }
    return token;
  });
  deps.jobs.wake();
  const row = await tokenRows(deps.store.db, membership.id).where('t.id', '=', made.id).executeTakeFirstOrThrow();
  return { ...toApiToken(row), token: made.token };
}

async function deleteToken(deps: TokenDeps, context: CallContext<'deleteApiToken'>): Promise<void> {
  const { membership, caller, segments } = context;
  await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    const row = orMissing(await tokenRows(trx, membership.id).where('t.id', '=', segments.id).executeTakeFirst(), 'API token');
    // Members delete their own tokens. Deleting another's takes the right to remove members.
    if (row.user_id !== caller.userId && !may(membership.role, 'member.remove')) refuse('forbidden', forbiddenMessage);
    await trx.deleteFrom('api_tokens').where('id', '=', row.id).execute();
    await auditCall(trx, context, 'api-token.delete', row.name);
  });
  tellNarrowed(deps.bus, membership.id);
}

/** Lists them whatever the role: a viewer signs in terminals too, and a member who became one keeps earlier tokens. */
async function listOwn(deps: TokenDeps, { caller, nowMs }: CallContext<'listOwnTokens'>): Promise<OwnToken[]> {
  const rows = await deps.store.db
    .selectFrom('api_tokens as t')
    .innerJoin('projects as p', 'p.id', 't.project_id')
    .select(['t.id', 't.name', 't.role', 't.cli', 't.created_at', 't.expires_at', 't.used_at', 'p.name as project'])
    .where('t.user_id', '=', caller.userId)
    .where((eb) => eb.or([eb('t.expires_at', 'is', null), eb('t.expires_at', '>', nowMs)]))
    .orderBy('t.id')
    .execute();
  return rows.map((row) => ({ ...shown(row), projectName: row.project }));
}

async function deleteOwn(deps: TokenDeps, { caller, segments, address, nowMs }: CallContext<'deleteOwnToken'>): Promise<void> {
  await deps.store.write(async (trx) => {
    const own = trx.deleteFrom('api_tokens').where('id', '=', segments.id).where('user_id', '=', caller.userId);
    const row = orMissing(await own.returning(['project_id', 'name']).executeTakeFirst(), 'Token');
    const audit = {
      projectId: row.project_id,
      actor: caller.email,
      action: 'api-token.delete' as const,
      target: row.name,
      address,
    };
    await writeAudit(trx, audit, nowMs);
  });
  tellNarrowed(deps.bus, caller.userId);
}

export const tokenHandlers = {
  ...{ listOwnTokens: listOwn, deleteOwnToken: deleteOwn, createApiToken: createToken, deleteApiToken: deleteToken },
  listApiTokens: async ({ store }, { membership }) => (await tokenRows(store.db, membership.id).execute()).map(toApiToken),
} satisfies AreaHandlers<TokenDeps>;
