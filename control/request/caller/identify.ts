// Finds who is calling: by API token if the request carries one, else by session cookie.

import type { Store } from '../../platform/store/store.ts';
import { type CookieNames, readCookie } from '../http/cookie.ts';
import { findTokenCaller } from './api-token.ts';
import type { Caller } from './caller.ts';
import { findSessionCaller } from './session.ts';

function readBearer(headers: Headers): string | undefined {
  const match = /^bearer +(\S+)$/i.exec(headers.get('authorization') ?? '');
  return match?.[1];
}

export interface IdentifyDeps {
  readonly store: Pick<Store, 'db'>;
  readonly cookies: CookieNames;
}

/** The token or cookie that says who calls; undefined if there is none. */
export const readCredential = (headers: Headers, cookies: CookieNames): string | undefined =>
  headers.has('authorization') ? readBearer(headers) : readCookie(headers, cookies.session);

export async function findCaller({ store, cookies }: IdentifyDeps, headers: Headers, nowMs: number): Promise<Caller | null> {
  // A request with an Authorization header must never fall back to a session.
  if (headers.has('authorization')) {
    const bearer = readBearer(headers);
    return bearer === undefined ? null : findTokenCaller(store.db, bearer, nowMs);
  }
  const cookie = readCookie(headers, cookies.session);
  return cookie === undefined ? null : findSessionCaller(store.db, cookie, nowMs);
}
