// The cookie that recognises a browser without a session: the one that asked for a link or a challenge, and one in which the person
// has signed in before.

import { durations } from '@underpass/rules/limits.ts';
import { createToken, isToken } from '../../platform/secret/token.ts';
import { type CookieNames, readCookie, renderCookie } from '../../request/http/cookie.ts';

const browserCookieSeconds = durations.knownBrowserDays * 24 * 3600;

export function browserToken(cookies: CookieNames, headers: Headers): string {
  const known = readCookie(headers, cookies.browser);
  return known !== undefined && isToken(known) ? known : createToken();
}

export const browserCookie = (cookies: CookieNames, browser: string): string =>
  renderCookie(cookies.browser, browser, browserCookieSeconds, cookies.secure);
