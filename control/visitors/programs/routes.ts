// The addresses of the authorization server for programs: OAuth 2.1 with PKCE, for public clients alone. Pages of other sites may
// call what programs call (CORS): nothing there looks at a cookie.

import type { Hono } from 'hono';
import { LimitReached } from '../../platform/limit/limit-reached.ts';
import { takeShare } from '../../platform/limit/limiter.ts';
import { limitedAddress } from '../../request/http/address.ts';
import { readBounded } from '../../request/http/body.ts';
import { answerMethod } from '../../request/http/method.ts';
import { Refusal } from '../../request/http/refusal.ts';
import type { WaitingRequests } from '../sign-in/visit-deps.ts';
import { createAuthorizationRequests } from './authorization-requests.ts';
import { insertClient } from './clients.ts';
import { parseMetadata, parseObject } from './core/client-metadata.ts';
import type { OAuthDeps } from './deps.ts';
import { metadataPath, oauthPath, renderMetadata } from './metadata.ts';
import { giveTokens, revokeToken, TokenError } from './tokens.ts';

const bodyBytesMost = 16 * 1024;

const anyOrigin = { 'access-control-allow-origin': '*' };

const json = (body: object, status = 200, headers: Record<string, string> = {}): Response =>
  Response.json(body, { status, headers: { ...anyOrigin, 'cache-control': 'no-store', ...headers } });

const refusal = (error: string, description: string, status = 400): Response =>
  json({ error, error_description: description }, status);

/** What browsers ask before a page of another site may call (Fetch, CORS-preflight). */
const preflight = (method: string): Response =>
  new Response(null, {
    status: 204,
    headers: {
      ...anyOrigin,
      'access-control-allow-methods': method,
      'access-control-allow-headers': 'content-type, mcp-protocol-version',
      'access-control-max-age': '86400',
    },
  });

/** RFC 6749 3.2: a parameter that comes twice is refused, one without a value counts as absent. */
async function readForm(request: Request): Promise<ReadonlyMap<string, string>> {
  const type = (request.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded')
    throw new TokenError('invalid_request', 'The body must be application/x-www-form-urlencoded.');
  if (request.headers.has('authorization')) throw new TokenError('invalid_client', 'Programs have no secret here.');
  const form = new Map<string, string>();
  for (const [name, value] of new URLSearchParams((await readBounded(request, bodyBytesMost)).toString('utf8'))) {
    if (form.has(name)) throw new TokenError('invalid_request', `${name} is given twice.`);
    form.set(name, value);
  }
  return new Map([...form].filter(([, value]) => value !== ''));
}

/** Programs read every failure as JSON (RFC 6749 5.2). */
async function answerProgram(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TokenError) return refusal(error.code, error.message, error.code === 'invalid_client' ? 401 : 400);
    if (error instanceof Refusal) return refusal('invalid_request', error.message, error.status);
    if (!(error instanceof LimitReached)) throw error;
    const retry = { 'retry-after': String(error.retryAfterSeconds) };
    return json({ error: 'temporarily_unavailable', error_description: error.message }, 429, retry);
  }
}

/** RFC 7591 3. */
async function register({ store, limiter, clock }: OAuthDeps, request: Request, address: string): Promise<Response> {
  await limiter.take('programRegistration', limitedAddress(address, request.headers));
  await takeShare(limiter, 'programRegistration', address);
  const metadata = parseObject((await readBounded(request, bodyBytesMost)).toString('utf8'));
  if (metadata === null) return refusal('invalid_client_metadata', 'The body must be a JSON object.');
  const parsed = parseMetadata(metadata);
  if (!parsed.ok) return refusal(parsed.error, parsed.description);
  const nowMs = clock();
  const { id, name, redirectUris } = await insertClient(store.db, parsed.value, nowMs);
  const answer = {
    client_id: id,
    client_id_issued_at: Math.floor(nowMs / 1000),
    client_name: name,
    redirect_uris: redirectUris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  return json(answer, 201);
}

const addressOf = ({ env }: { readonly env: unknown }): string => (env as Bindings['Bindings']).address;

type Bindings = { Bindings: { readonly address: string } };

/** Returns what the sign-in pages of visitors need from it. */
export function addOAuth<E extends Bindings>(app: Hono<E>, deps: OAuthDeps): WaitingRequests {
  const requests = createAuthorizationRequests(deps);
  const formCall = (request: Request, address: string, work: (form: ReadonlyMap<string, string>) => Promise<object>) =>
    answerProgram(async () => {
      await deps.limiter.take('programToken', limitedAddress(address, request.headers));
      return json(await work(await readForm(request)));
    });

  app.get(metadataPath, () => json(renderMetadata(deps.origin), 200, { 'cache-control': 'public, max-age=300' }));
  app.post(`${oauthPath}/register`, (c) => answerProgram(() => register(deps, c.req.raw, addressOf(c))));
  app.post(`${oauthPath}/token`, (c) => formCall(c.req.raw, addressOf(c), (form) => giveTokens(deps, form)));
  app.post(`${oauthPath}/revoke`, (c) =>
    formCall(c.req.raw, addressOf(c), async (form) => {
      await revokeToken(deps, form);
      return {};
    }),
  );
  app.get(`${oauthPath}/authorize`, (c) => requests.authorize(c.req.raw, addressOf(c)));
  app.get(`${oauthPath}/consent`, (c) => requests.show(c.req.raw, addressOf(c)));
  app.post(`${oauthPath}/consent`, (c) => requests.decide(c.req.raw, addressOf(c)));

  for (const [path, method] of [
    [metadataPath, 'GET'],
    [`${oauthPath}/register`, 'POST'],
    [`${oauthPath}/token`, 'POST'],
    [`${oauthPath}/revoke`, 'POST'],
  ] as const) {
    app.options(path, () => preflight(method));
    app.all(path, (c) => answerMethod(c.req.raw, [method]));
  }
  app.all(`${oauthPath}/authorize`, (c) => answerMethod(c.req.raw, ['GET']));
  app.all(`${oauthPath}/consent`, (c) => answerMethod(c.req.raw, ['GET', 'POST']));
  // Programs that look further for metadata get a plain 404, not the dashboard's page.
  for (const path of [`${oauthPath}/*`, '/.well-known/openid-configuration', '/.well-known/openid-configuration/*'])
    app.all(path, () => new Response('Page not found', { status: 404 }));
  return requests.waiting;
}
