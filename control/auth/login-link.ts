// One-time login links: 15 minutes, hashed, redeemed once, bound to the browser that asked.

import { durations } from '@underpass/rules/limits.ts';
import { createToken, hashToken, tokenLength } from '../secret/token.ts';
import { createId } from '../store/id.ts';
import type { Queries } from '../store/store.ts';

const lifeMs = durations.loginLinkMinutes * 60_000;

/** The link's URL starts with the configured origin, never with a request's Host. */
export const loginUrl = (origin: string, token: string): string => `${origin}/magiclink/${token}`;

/** Answers the token. `browserHash` is null for a link that the operator made. */
export const createLoginLink = async (
  db: Queries,
  link: { readonly userId: string | null; readonly browserHash: string | null },
  nowMs: number,
): Promise<string> => {
  const token = createToken();
  await db
    .insertInto('login_links')
    .values({
      id: createId(nowMs),
      user_id: link.userId,
      token_hash: hashToken(token),
      browser_hash: link.browserHash,
      created_at: nowMs,
      expires_at: nowMs + lifeMs,
      used_at: null,
    })
    .execute();
  return token;
};

/** Consumes nothing. */
const findUsable = async (db: Queries, token: string, nowMs: number) => {
  if (token.length !== tokenLength) return undefined;
  return db
    .selectFrom('login_links')
    .select('browser_hash')
    .where('token_hash', '=', hashToken(token))
    .where('used_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .executeTakeFirst();
};

/** True if this browser asked for this link. Does not consume the link. */
export const isOwnLink = async (db: Queries, token: string, browser: string | undefined, nowMs: number): Promise<boolean> =>
  browser !== undefined && (await findUsable(db, token, nowMs))?.browser_hash === hashToken(browser);

/** A read, so that guesses cause no write. */
export const isUsableLink = async (db: Queries, token: string, nowMs: number): Promise<boolean> =>
  (await findUsable(db, token, nowMs)) !== undefined;

/** The link's user, the first time: of several requests at once, only one statement finds the link unused. */
export const redeemLoginLink = async (
  db: Queries,
  token: string,
  nowMs: number,
): Promise<{ userId: string; email: string } | undefined> => {
  if (token.length !== tokenLength) return undefined;
  const used = await db
    .updateTable('login_links')
    .set({ used_at: nowMs })
    .where('token_hash', '=', hashToken(token))
    .where('used_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .returning('user_id')
    .executeTakeFirst();
  if (!used?.user_id) return undefined;
  const user = await db
    .selectFrom('users')
    .select(['id', 'email'])
    .where('id', '=', used.user_id)
    .where('suspended_at', 'is', null)
    .executeTakeFirst();
  return user && { userId: user.id, email: user.email };
};
