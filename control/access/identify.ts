// Who is calling: by API token where the request carries one, else by session cookie.

import { readCookie } from '../http/cookie.ts';
import type { Parts } from '../parts.ts';
import { findTokenCaller } from './api-token.ts';
import type { Caller } from './call.ts';
import { findSessionCaller } from './session.ts';

const readBearer = (headers: Headers): string | undefined => {
  const match = /^bearer +(\S+)$/i.exec(headers.get('authorization') ?? '');
  return match?.[1];
};

export const findCaller = async (parts: Parts, headers: Headers, nowMs: number): Promise<Caller | null> => {
  // A request that says it is a token's is never quietly somebody's session.
  if (headers.has('authorization')) {
    const bearer = readBearer(headers);
    return bearer === undefined ? null : findTokenCaller(parts.store.db, bearer, nowMs);
  }
  const cookie = readCookie(headers, parts.cookies.session);
  return cookie === undefined ? null : findSessionCaller(parts.store.db, cookie, nowMs);
};
