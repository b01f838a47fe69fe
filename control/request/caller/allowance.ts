// How limits count a signed-in caller: by credential (a session or an API token), then by user. Sessions and tokens of a user
// count apart, so that a token cannot lock its maker out of the dashboard.

import type { Limiter } from '../../platform/limit/limiter.ts';
import type { Caller } from './caller.ts';

/** The session's or the token's id. */
export const credentialOf = ({ token, sessionId }: Caller): string => token?.id ?? sessionId ?? '';

/** All sessions of the user, or all tokens. */
export const userShare = ({ token, userId }: Caller): string => `${token === null ? 'sessions' : 'tokens'} ${userId}`;

/** The credential comes first: beyond its own limit it uses up nothing of the user's. */
export async function takeAllowance(limiter: Limiter, what: 'change' | 'dns', caller: Caller): Promise<void> {
  await limiter.take(`${what}PerCredential`, credentialOf(caller));
  await limiter.take(`${what}PerUser`, userShare(caller));
}
