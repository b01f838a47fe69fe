// Browsers that have signed in with the password of a policy. Each has tries of its own, so strangers behind the same address
// cannot lock it out. This makes guessing no easier: a browser becomes known by the right password alone.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { createToken, isToken } from '../../platform/secret/token.ts';
import { readCookie, renderCookie } from '../../request/http/cookie.ts';
import type { Visit, VisitDeps } from './visit-deps.ts';

/** A cookie of half a kB: browsers send it with every request to the dashboard. The password entered longest ago goes first. */
const mostMarks = 10;
const cookieSeconds = 180 * 86_400;

type CookieDeps = Pick<VisitDeps, 'cookies'>;

interface KnownBrowser {
  /** Random: tells browsers apart. */
  readonly id: string;
  /** One for each password. */
  readonly marks: readonly string[];
}

function readBrowser({ cookies }: CookieDeps, { request }: Visit): KnownBrowser | undefined {
  const [id, ...marks] = (readCookie(request.headers, cookies.known) ?? '').split('.').filter(isToken);
  return id === undefined ? undefined : { id, marks: marks.slice(0, mostMarks) };
}

/** A changed password has another id, so a browser that knew the former one is a stranger again. */
const markOf = ({ policy }: Visit, id: string): string =>
  createHmac('sha256', policy.knownBrowserKey).update(`${id} ${policy.grants.passwordId}`).digest('base64url');

/** The browser's id if it has entered the policy's password before; else undefined. */
export function knownBrowserOf(deps: CookieDeps, visit: Visit): string | undefined {
  const browser = readBrowser(deps, visit);
  if (browser === undefined) return undefined;
  const right = Buffer.from(markOf(visit, browser.id));
  return browser.marks.some((mark) => timingSafeEqual(Buffer.from(mark), right)) ? browser.id : undefined;
}

/** The cookie after the right password. */
export function rememberBrowser(deps: CookieDeps, visit: Visit): string {
  const { id, marks } = readBrowser(deps, visit) ?? { id: createToken(), marks: [] };
  const mark = markOf(visit, id);
  const kept = [mark, ...marks.filter((other) => other !== mark)].slice(0, mostMarks);
  return renderCookie(deps.cookies.known, [id, ...kept].join('.'), cookieSeconds, deps.cookies.secure);
}
