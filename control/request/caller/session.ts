// Sessions: made at sign-in, found by the hash of their cookie. They end when idle, old or revoked.

import { durations } from '@underpass/rules/limits.ts';
import type { PasskeyProof } from '@underpass/rules/people/passkey.ts';
import { isLive } from '@underpass/rules/people/session-life.ts';
import { endVisitsOfUser } from '../../edges/policies/end-visits.ts';
import { createToken, hashToken, isToken } from '../../platform/secret/token.ts';
import { createId } from '../../platform/store/id.ts';
import { unlessOutage } from '../../platform/store/outage.ts';
import type { Queries } from '../../platform/store/store.ts';
import { writeAudit } from './audit.ts';
import type { Caller } from './caller.ts';

const freshMs = durations.proofMinutes * 60_000;
export const sessionMaxSeconds = durations.sessionMaxDays * 24 * 3600;
// `seen_at` is written at most this often, so that reads rarely cause a write. On a full disk it is not written, and the read
// goes on.
const seenEveryMs = 5 * 60_000;
const userAgentMaxChars = 256;
// A user with more browsers than this runs a script. The oldest sessions make room.
const sessionsPerUser = 50;

export interface NewSession {
  readonly userId: string;
  readonly address: string;
  readonly userAgent: string;
  /** The passkey that signs in. */
  readonly passkeyId?: string;
}

/** True if there was one too many. */
async function dropOldest(db: Queries, userId: string): Promise<boolean> {
  const rows = await db.selectFrom('sessions').select('id').where('user_id', '=', userId).orderBy('id', 'desc').execute();
  const surplus = rows.slice(sessionsPerUser - 1).map((row) => row.id);
  if (surplus.length > 0) await db.deleteFrom('sessions').where('id', 'in', surplus).execute();
  return surplus.length > 0;
}

/** The cookie's value is always a new one: an attacker cannot choose a victim's session. */
export async function createSession(db: Queries, session: NewSession, nowMs: number) {
  const token = createToken();
  const hasDropped = await dropOldest(db, session.userId);
  await db
    .insertInto('sessions')
    .values({
      id: createId(nowMs),
      user_id: session.userId,
      token_hash: hashToken(token),
      address: session.address,
      user_agent: session.userAgent.slice(0, userAgentMaxChars),
      created_at: nowMs,
      seen_at: nowMs,
      proven_at: nowMs,
      passkey_at: session.passkeyId === undefined ? null : nowMs,
      passkey_id: session.passkeyId ?? null,
      expires_at: nowMs + sessionMaxSeconds * 1000,
    })
    .execute();
  return { token, hasDropped };
}

const findSession = (db: Queries, token: string) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select(['sessions.id as session_id', 'sessions.created_at', 'sessions.seen_at', 'sessions.proven_at', 'sessions.expires_at'])
    .select(['sessions.passkey_at', 'users.id as user_id'])
    .select(['users.email', 'users.first_name', 'users.operator', 'users.default_project', 'users.invited_by'])
    .where('sessions.token_hash', '=', hashToken(token))
    .where('users.suspended_at', 'is', null)
    .executeTakeFirst();

async function markSeen(db: Queries, id: string, nowMs: number): Promise<void> {
  await db.updateTable('sessions').set({ seen_at: nowMs }).where('id', '=', id).execute();
}

/** A proof of the future, from before the clock went back, does not count. */
const isFresh = (provenAt: number, nowMs: number): boolean => provenAt <= nowMs && nowMs - provenAt < freshMs;

function passkeyProof(passkeyAt: number | null, nowMs: number): PasskeyProof {
  if (passkeyAt === null) return 'none';
  return isFresh(passkeyAt, nowMs) ? 'fresh' : 'proven';
}

/** The session's user has just proven who they are. A recovery code stands in for a passkey. */
export async function renewProof(db: Queries, sessionId: string, nowMs: number, by: 'link' | 'passkey'): Promise<void> {
  const set = { proven_at: nowMs, ...(by === 'passkey' ? { passkey_at: nowMs } : {}) };
  await db.updateTable('sessions').set(set).where('id', '=', sessionId).execute();
}

export async function findSessionCaller(db: Queries, token: string, nowMs: number): Promise<Caller | null> {
  if (!isToken(token)) return null;
  const row = await findSession(db, token);
  if (!row || !isLive(row, row.operator === 1, nowMs)) return null;
  if (nowMs - row.seen_at >= seenEveryMs) await unlessOutage(() => markSeen(db, row.session_id, nowMs));
  return {
    userId: row.user_id,
    email: row.email,
    firstName: row.first_name,
    operator: row.operator === 1,
    isInvited: row.invited_by !== null,
    defaultProject: row.default_project,
    sessionId: row.session_id,
    fresh: isFresh(row.proven_at, nowMs),
    passkey: passkeyProof(row.passkey_at, nowMs),
    token: null,
  };
}

/**
 * Ends a user's sessions but one, their CLI tokens, terminals that wait for one, and what they opened as a member at tunnels with an
 * access policy. API tokens stay: programs use them. Answers how many sessions and tokens ended.
 */
export async function endSignIns(trx: Queries, userId: string, except: string | null, nowMs: number) {
  const sessions = trx
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .where('id', '<>', except ?? '');
  const tokens = trx.deleteFrom('api_tokens').where('user_id', '=', userId).where('cli', '=', 1);
  await trx.deleteFrom('device_logins').where('user_id', '=', userId).execute();
  await endVisitsOfUser(trx, userId, nowMs);
  return {
    sessions: Number((await sessions.executeTakeFirst()).numDeletedRows),
    cliTokens: Number((await tokens.executeTakeFirst()).numDeletedRows),
  };
}

/** Ends the cookie's session, if there is one, and audits that as its user's change. Answers whose it was. */
export async function endSession(trx: Queries, token: string, address: string, nowMs: number): Promise<string | undefined> {
  if (!isToken(token)) return undefined;
  const query = trx.deleteFrom('sessions').where('token_hash', '=', hashToken(token)).returning('user_id');
  const ended = await query.executeTakeFirst();
  if (!ended) return undefined;
  const { email } = await trx.selectFrom('users').select('email').where('id', '=', ended.user_id).executeTakeFirstOrThrow();
  await writeAudit(trx, { projectId: null, actor: email, action: 'session.end', target: email, address }, nowMs);
  return ended.user_id;
}
