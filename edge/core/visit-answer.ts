// What the edge answers to a visitor whom the access policy does not admit, and its own pages for signing in and out.
// No page shows any part of the request.

import { createErrorAnswer, type OwnAnswer, pageFields, renderPage } from './own-answer.ts';
import { accessPath, type BegunVisit, encodeReturnPath, setVisit } from './visit-cookie.ts';

/** What decides between a page, a redirect and a plain refusal. A field's value; null if it is absent; '' if it is there twice. */
export interface VisitFacts {
  readonly method: string;
  readonly wantsUpgrade: boolean;
  readonly fetchMode: string | null;
  readonly fetchDest: string | null;
  readonly accept: string | null;
  readonly requestedWith: string | null;
}

/** A person opens an address in a window: the only request that a redirect to a sign-in page helps. */
export function isNavigation({ method, wantsUpgrade, fetchMode, fetchDest, accept, requestedWith }: VisitFacts): boolean {
  if ((method !== 'GET' && method !== 'HEAD') || wantsUpgrade) return false;
  if (fetchMode !== null || fetchDest !== null) return fetchMode === 'navigate' && fetchDest === 'document';
  return wantsPage(accept) && requestedWith === null;
}

export const wantsPage = (accept: string | null): boolean => accept !== null && /(^|[,\s])text\/html($|[,;\s])/i.test(accept);

/** What a request without a session gets. */
type AnswerKind = 'redirect' | 'unauthorized' | 'unavailable' | 'not-kept';

/** `entered`: the visitor signed in a moment ago and the browser kept no session, so another redirect would loop. */
export function decideAnswerKind(
  facts: VisitFacts,
  state: { readonly entered: boolean; readonly hasControl: boolean },
): AnswerKind {
  if (!isNavigation(facts)) return 'unauthorized';
  if (state.entered) return 'not-kept';
  return state.hasControl ? 'redirect' : 'unavailable';
}

const redirectFields = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };

export function redirectToSignIn(origin: string, authority: string, state: string, visit: BegunVisit): OwnAnswer {
  const location = `${origin}/access/sign-in?host=${encodeURIComponent(authority)}&state=${state}`;
  const fields = { ...redirectFields, location, 'set-cookie': [setVisit(visit)] };
  return { code: 'UNDERPASS_SIGN_IN_REQUIRED', status: 303, fields, body: '' };
}

/** `path` comes from `returnPathOf`. */
export function redirectWithin(path: string, cookies: readonly string[]): OwnAnswer {
  return { code: null, status: 303, fields: { ...redirectFields, location: path, 'set-cookie': cookies }, body: '' };
}

export const signInPath = `${accessPath}sign-in`;

/** RFC 6750 3 and RFC 9728 5.1. `path`: of the resource, or empty. */
export function unauthorized(authority: string, host: string, path: string, badToken: boolean, page: boolean): OwnAnswer {
  const error = badToken ? ', error="invalid_token"' : '';
  const metadata = `https://${authority}${metadataPath}${path}`;
  const challenge = { 'www-authenticate': `Bearer realm="${host}", resource_metadata="${metadata}"${error}` };
  const code = 'UNDERPASS_SIGN_IN_REQUIRED';
  if (page) return createErrorAnswer(code, signInLink('', 'Sign in'), challenge);
  const fields = { 'content-type': 'application/json', 'cache-control': 'no-store', 'underpass-error': code, ...challenge };
  return { code, status: 401, fields, body: `{"error":"${code}","message":"Sign in, or send a token."}\n` };
}

/** The path travels in base64url, which has no character that HTML treats specially. */
function signInLink(returnPath: string, label: string): string {
  const query = returnPath === '' ? '' : `?return=${encodeReturnPath(returnPath)}`;
  return `\n<div class="way"><a class="button main" href="${signInPath}${query}">${label}</a></div>`;
}

export const notKept = (returnPath: string): OwnAnswer =>
  createErrorAnswer('UNDERPASS_SESSION_NOT_KEPT', signInLink(returnPath, 'Try again'));
export const ticketRefused = (returnPath: string): OwnAnswer =>
  createErrorAnswer('UNDERPASS_TICKET_REFUSED', signInLink(returnPath, 'Try again'));

const signOutForm = `<p class="lead">Programs that you allowed to act for you keep their access.</p>
<form method="post" action="${accessPath}sign-out"><button class="button main">Sign out</button></form>`;

export const askSignOut = (host: string): OwnAnswer => plainPage(host, `Sign out of ${host}`, signOutForm, {});
export const signedOut = (host: string, cookies: readonly string[]): OwnAnswer =>
  plainPage(host, 'You are signed out', signInLink('/', 'Sign in again'), { 'set-cookie': cookies });

function plainPage(host: string, heading: string, html: string, more: OwnAnswer['fields']): OwnAnswer {
  const body = renderPage({ title: heading, heading, html, small: host });
  return { code: null, status: 200, fields: { ...pageFields, ...more }, body };
}

/** False for a sign-out form that another site submits. */
export function isOwnForm(origin: string | null, fetchSite: string | null, authority: string): boolean {
  if (origin === null && fetchSite === null) return false;
  return (origin === null || origin === `https://${authority}`) && (fetchSite === null || fetchSite === 'same-origin');
}

/**
 * The origin whose page sends a request with the visitor's cookies; null for a page of the tunnel itself, and for what is no page.
 * `SameSite=Lax` keeps cookies from other sites, but not from other tunnels below the same domain. Browsers set both fields, and no
 * page can change them. `null`, or a text that is no origin, is foreign too.
 */
export function foreignOrigin(origin: string | null, fetchSite: string | null, authority: string): string | null {
  if (origin === `https://${authority}`) return null;
  const isOwnSite = fetchSite === 'same-origin' || fetchSite === 'none';
  // A page that hides its address (`Referrer-Policy: no-referrer`) sends "null" to its own host, too.
  if (origin === null || origin === 'null') return isOwnSite || (origin === null && fetchSite === null) ? null : 'null';
  return origin;
}

export const metadataPath = '/.well-known/oauth-protected-resource';

/** RFC 9728 3.2. A program in a browser may read it from any site. */
export function resourceMetadata(authority: string, path: string, host: string, origin: string): OwnAnswer {
  const metadata = {
    resource: `https://${authority}${path}`,
    authorization_servers: [`${origin}/access/oauth`],
    bearer_methods_supported: ['header'],
    resource_name: host,
  };
  const fields = { 'content-type': 'application/json', 'cache-control': 'max-age=60', 'access-control-allow-origin': '*' };
  return { code: null, status: 200, fields, body: `${JSON.stringify(metadata)}\n` };
}

export const metadataPreflight: OwnAnswer = {
  code: null,
  status: 204,
  fields: {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET',
    'access-control-allow-headers': '*',
    'access-control-max-age': '600',
  },
  body: '',
};

const resourceMostChars = 512;

/** Empty for a path that cannot stand in a header or an address as it is. */
export function resourcePathOf(path: string): string {
  return path !== '/' && path.length <= resourceMostChars && /^\/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})+$/.test(path)
    ? path
    : '';
}
