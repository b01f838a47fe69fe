// One-time login links: 15 minutes, hashed, redeemed once, bound to the browser that asked. The same kind of link
// renews the proof of a session.

import type { LoginLinkCheck } from '@underpass/rules/entity/resource.ts';
import { durations } from '@underpass/rules/limits.ts';
import { createToken, hashToken, isToken } from '../../platform/secret/token.ts';
import { createId } from '../../platform/store/id.ts';
import type { Queries } from '../../platform/store/store.ts';

const lifeMs = durations.loginLinkMinutes * 60_000;

/** The link's URL starts with the configured origin, never with a request's Host. `path`: the page to open after the sign-in. */
export const loginUrl = (origin: string, token: string, path?: string): string =>
  `${origin}/magiclink/${token}${path === undefined ? '' : `#${path}`}`;

/** Answers the token. `browserHash` is null for a link that the operator made. With a session it proves, and does not sign in. */
export async function createLoginLink(
  db: Queries,
  link: { readonly userId: string | null; readonly browserHash: string | null; readonly sessionId?: string },
  nowMs: number,
): Promise<string> {
  const token = createToken();
  await db
    .insertInto('login_links')
    .values({
      id: createId(nowMs),
      user_id: link.userId,
      token_hash: hashToken(token),
      browser_hash: link.browserHash,
      session_id: link.sessionId ?? null,
      created_at: nowMs,
      expires_at: nowMs + lifeMs,
      used_at: null,
    })
    .execute();
  return token;
}

/** Consumes nothing. */
async function findUsable(db: Queries, token: string, nowMs: number) {
  if (!isToken(token)) return undefined;
  return db
    .selectFrom('login_links')
    .select('browser_hash')
    .where('token_hash', '=', hashToken(token))
    .where('session_id', 'is', null)
    .where('used_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .executeTakeFirst();
}

/** Whether the link works, and whether this browser asked for it. Does not consume the link. */
export async function checkLink(db: Queries, token: string, browser: string | undefined, nowMs: number): Promise<LoginLinkCheck> {
  const link = await findUsable(db, token, nowMs);
  const sameBrowser = link !== undefined && browser !== undefined && link.browser_hash === hashToken(browser);
  return { sameBrowser, usable: link !== undefined };
}

/** A read, so that guesses cause no write. */
export const isUsableLink = async (db: Queries, token: string, nowMs: number): Promise<boolean> =>
  (await findUsable(db, token, nowMs)) !== undefined;

/** `/confirm` and the token. */
export const proofUrl = (origin: string, token: string): string => `${origin}/confirm/${token}`;

interface ProofLink {
  readonly token: string;
  readonly sessionId: string;
  readonly browser: string | undefined;
}

/**
 * True once, in the session and browser that asked for the link. A thief who has only the session's cookie asks from another
 * browser, so the link that its owner opens renews nothing.
 */
export async function redeemProofLink(db: Queries, { token, sessionId, browser }: ProofLink, nowMs: number): Promise<boolean> {
  if (!isToken(token) || browser === undefined) return false;
  const used = await db
    .updateTable('login_links')
    .set({ used_at: nowMs })
    .where('token_hash', '=', hashToken(token))
    .where('session_id', '=', sessionId)
    .where('browser_hash', '=', hashToken(browser))
    .where('used_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .executeTakeFirst();
  return used.numUpdatedRows > 0n;
}

/** The link's user, the first time: of several requests at once, only one statement finds the link unused. */
export async function redeemLoginLink(
  db: Queries,
  token: string,
  nowMs: number,
): Promise<{ userId: string; email: string } | undefined> {
  if (!isToken(token)) return undefined;
  const used = await db
    .updateTable('login_links')
    .set({ used_at: nowMs })
    .where('token_hash', '=', hashToken(token))
    .where('session_id', 'is', null)
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
}
