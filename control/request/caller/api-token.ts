// API tokens: for one project and one role, stored as a hash. A token never does more than the user who made it may do now.

import type { Role } from '@underpass/rules/entity/entity.ts';
import { dayMs, limits } from '@underpass/rules/limits.ts';
import { createToken, hashToken, tokenLength } from '../../platform/secret/token.ts';
import { createId } from '../../platform/store/id.ts';
import { unlessOutage } from '../../platform/store/outage.ts';
import type { Flag } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import type { Caller } from './caller.ts';

// Lets scanners of leaked secrets recognise it. (Tunnel tokens must not have a prefix; API tokens may.)
const prefix = 'upt_';
const usedEveryMs = 60_000;

export interface NewToken {
  readonly projectId: string;
  readonly userId: string;
  readonly name: string;
  readonly role: Role;
  readonly expiresInDays: number;
  /** Marks a token for a terminal: see `api_tokens` of Schema. */
  readonly cli: boolean;
}

export async function createApiToken(db: Queries, token: NewToken, nowMs: number): Promise<{ id: string; token: string }> {
  const secret = prefix + createToken();
  const id = createId(nowMs);
  await db
    .insertInto('api_tokens')
    .values({
      id,
      project_id: token.projectId,
      user_id: token.userId,
      name: token.name,
      role: token.role,
      cli: token.cli ? 1 : 0,
      token_hash: hashToken(secret),
      created_at: nowMs,
      expires_at: nowMs + Math.min(token.expiresInDays, limits.apiTokenDays) * dayMs,
      used_at: null,
    })
    .execute();
  return { id, token: secret };
}

const findToken = (db: Queries, secret: string, nowMs: number) =>
  db
    .selectFrom('api_tokens as t')
    .innerJoin('users as u', 'u.id', 't.user_id')
    .select([
      't.id',
      't.name',
      't.project_id',
      't.role',
      't.cli',
      't.used_at',
      'u.id as user_id',
      'u.email',
      'u.first_name',
      'u.default_project',
      'u.invited_by',
    ])
    .select((eb) =>
      eb
        .selectFrom('passkeys as p')
        .select((count) => count.fn.countAll<number>().as('n'))
        .whereRef('p.user_id', '=', 'u.id')
        .as('passkeys'),
    )
    .where('t.token_hash', '=', hashToken(secret))
    .where((eb) => eb.or([eb('t.expires_at', 'is', null), eb('t.expires_at', '>', nowMs)]))
    .where('u.suspended_at', 'is', null)
    .executeTakeFirst();

async function markUsed(db: Queries, { id, cli }: { id: string; cli: Flag }, nowMs: number): Promise<void> {
  const renewed = cli ? { expires_at: nowMs + limits.cliTokenDays * dayMs } : {};
  await db
    .updateTable('api_tokens')
    .set({ used_at: nowMs, ...renewed })
    .where('id', '=', id)
    .execute();
}

export async function findTokenCaller(db: Queries, secret: string, nowMs: number): Promise<Caller | null> {
  if (!secret.startsWith(prefix) || secret.length !== prefix.length + tokenLength) return null;
  const row = await findToken(db, secret, nowMs);
  if (!row) return null;
  if (row.used_at === null || nowMs - row.used_at >= usedEveryMs) {
    // On a full disk a read goes on without it.
    await unlessOutage(() => markUsed(db, row, nowMs));
  }
  return {
    userId: row.user_id,
    email: row.email,
    firstName: row.first_name,
    operator: false,
    isInvited: row.invited_by !== null,
    defaultProject: row.default_project,
    sessionId: null,
    fresh: false,
    // A program has no passkey: the person who made the token must have one.
    passkey: Number(row.passkeys) > 0 ? 'proven' : 'none',
    token: { id: row.id, name: row.name, projectId: row.project_id, role: row.role, cli: row.cli === 1 },
  };
}
