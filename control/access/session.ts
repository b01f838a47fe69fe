// Sessions: made at sign-in, found by the hash of their cookie. They end when idle, old or revoked.

import { durations } from '@underpass/rules/limits.ts';
import { createToken, hashToken, tokenLength } from '../secret/token.ts';
import { createId } from '../store/id.ts';
import { unlessOutage } from '../store/outage.ts';
import type { Queries } from '../store/store.ts';
import { writeAudit } from './audit.ts';
import type { Caller } from './caller.ts';

const dayMs = 24 * 3600_000;
export const idleMs = durations.sessionIdleDays * dayMs;
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
}

const dropOldest = async (db: Queries, userId: string): Promise<void> => {
  const rows = await db.selectFrom('sessions').select('id').where('user_id', '=', userId).orderBy('id', 'desc').execute();
  const surplus = rows.slice(sessionsPerUser - 1).map((row) => row.id);
  if (surplus.length > 0) await db.deleteFrom('sessions').where('id', 'in', surplus).execute();
};

/** Answers the cookie's value, always a new one: an attacker cannot choose a victim's session. */
export const createSession = async (db: Queries, session: NewSession, nowMs: number): Promise<string> => {
  const token = createToken();
  await dropOldest(db, session.userId);
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
      expires_at: nowMs + sessionMaxSeconds * 1000,
    })
    .execute();
  return token;
};

const findSession = (db: Queries, token: string, nowMs: number) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select(['sessions.id as session_id', 'sessions.seen_at', 'users.id as user_id'])
    .select(['users.email', 'users.first_name', 'users.operator', 'users.default_project'])
    .where('sessions.token_hash', '=', hashToken(token))
    .where('sessions.expires_at', '>', nowMs)
    .where('sessions.seen_at', '>', nowMs - idleMs)
    .where('users.suspended_at', 'is', null)
    .executeTakeFirst();

const markSeen = async (db: Queries, id: string, nowMs: number): Promise<void> => {
  await db.updateTable('sessions').set({ seen_at: nowMs }).where('id', '=', id).execute();
};

export const findSessionCaller = async (db: Queries, token: string, nowMs: number): Promise<Caller | null> => {
  if (token.length !== tokenLength) return null;
  const row = await findSession(db, token, nowMs);
  if (!row) return null;
  if (nowMs - row.seen_at >= seenEveryMs) await unlessOutage(() => markSeen(db, row.session_id, nowMs));
  return {
    userId: row.user_id,
    email: row.email,
    firstName: row.first_name,
    operator: row.operator === 1,
    defaultProject: row.default_project,
    sessionId: row.session_id,
    token: null,
  };
};

/** Ends the cookie's session, if there is one, and audits that as its user's change. */
export const endSession = async (trx: Queries, token: string, address: string, nowMs: number): Promise<void> => {
  if (token.length !== tokenLength) return;
  const query = trx.deleteFrom('sessions').where('token_hash', '=', hashToken(token)).returning('user_id');
  const ended = await query.executeTakeFirst();
  if (!ended) return;
  const { email } = await trx.selectFrom('users').select('email').where('id', '=', ended.user_id).executeTakeFirstOrThrow();
  await writeAudit(trx, { projectId: null, actor: email, action: 'session.end', target: email, address }, nowMs);
};
