// The authorization server alone for tests, over a store in memory, with two tunnels whose policies have a password each.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import type { VisitorClaims } from '@underpass/rules/visit/grants.ts';
import { verifyVisit } from '@underpass/wire/ticket/signed-visit.ts';
import { Hono } from 'hono';
import { LimitReached } from '../../platform/limit/limit-reached.ts';
import { createLimiter } from '../../platform/limit/limiter.ts';
import { createKeyRing } from '../../platform/secret/key-ring.ts';
import type { Schema } from '../../platform/store/schema.ts';
import { openSqliteStore } from '../../platform/store/sqlite.ts';
import { cookieNames } from '../../request/http/cookie.ts';
import type { SignInPolicy } from '../policies/find-sign-in-policy.ts';
import type { WaitingRequests } from '../sign-in/visit-deps.ts';
import type { ReadDocument } from './document.ts';
import { addOAuth } from './routes.ts';

export const origin = 'https://tunnels.example';
export const oauth = `${origin}/access/oauth`;
export const hosts = { shop: 'shop.example.com', wiki: 'wiki.example.com' } as const;
export const resourceOf = (host: string): string => `https://${host}/mcp`;

export interface OAuthWorld {
  readonly time: { now: number };
  readonly policies: Map<string, SignInPolicy>;
  readonly waiting: WaitingRequests;
  readonly send: (path: string, init?: RequestInit, address?: string) => Promise<Response>;
  readonly endedPrograms: () => Promise<readonly string[]>;
  readonly signIns: () => Promise<readonly Schema['access_sign_ins'][]>;
  readonly rows: (table: 'access_flows' | 'access_clients') => Promise<number>;
  readonly close: () => Promise<void>;
}

export async function createOAuthWorld({
  readDocument = async () => 'it is not there',
  isLimited = false,
}: {
  readonly readDocument?: ReadDocument;
  readonly isLimited?: boolean;
} = {}): Promise<OAuthWorld> {
  const store = await openSqliteStore(':memory:');
  const time = { now: Date.UTC(2026, 10, 20, 10) };
  const policies = new Map<string, SignInPolicy>();
  const project = { id: 'p', name: 'Shop', limits: null, suspended_at: null, passkey_required: 0, revision: 0, created_at: 0 };
  await store.db
    .insertInto('projects')
    .values(project as never)
    .execute();
  for (const host of Object.values(hosts)) {
    const row = { id: host, project_id: 'p', name: host, content: '{}', keys_sealed: '', assertion_jwk: '', valid_from: 0 };
    await store.db
      .insertInto('access_policies')
      .values({ ...row, created_at: 0, updated_at: 0 })
      .execute();
    policies.set(host, {
      policyId: host,
      policyName: host,
      projectId: 'p',
      projectName: 'Shop',
      host,
      url: `https://${host}`,
      visitKey: randomBytes(32),
      grants: {
        memberIds: null,
        people: [],
        provider: null,
        passwordId: 'the-password',
        links: [],
        validFromMs: 0,
        signedOut: [],
      },
      log: true,
    } as unknown as SignInPolicy);
  }
  const app = new Hono<{ Bindings: { readonly address: string } }>();
  app.onError((error) => new Response(error.message, { status: error instanceof LimitReached ? 429 : 500 }));
  const waiting = addOAuth(app, {
    store,
    keyRing: createKeyRing([randomBytes(32)]),
    limiter: isLimited ? createLimiter(store) : { take: async () => {}, giveBack: async () => {} },
    clock: () => time.now,
    origin,
    cookies: cookieNames(origin),
    findPolicy: async (host) => policies.get(host),
    readDocument,
    feed: { tunnelsChanged: () => {} },
  });
  return {
    time,
    policies,
    waiting,
    send: async (path, init, address = '192.0.2.1') => app.fetch(new Request(new URL(path, origin), init), { address }),
    endedPrograms: async () =>
      (await store.db.selectFrom('access_sign_outs').select('subject').execute()).map(({ subject }) => subject),
    signIns: () => store.db.selectFrom('access_sign_ins').selectAll().execute(),
    rows: async (table) => (await store.db.selectFrom(table).select('id').execute()).length,
    close: () => store.close(),
  };
}

export const callback = 'http://127.0.0.1:3118/callback';

export async function register(world: OAuthWorld, metadata: object = { client_name: 'Scribe', redirect_uris: [callback] }) {
  const headers = { 'content-type': 'application/json' };
  const response = await world.send('/access/oauth/register', { method: 'POST', headers, body: JSON.stringify(metadata) });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}

export const verifier = 'v'.repeat(43);
export const challengeOf = (text: string): string => createHash('sha256').update(text).digest('base64url');

export type Fields = Readonly<Record<string, string | undefined>>;
const compact = (fields: Fields): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined));

/** A browser's jar, of one cookie. */
export interface Jar {
  cookie: string;
}

export async function authorize(
  world: OAuthWorld,
  fields: Fields,
  jar: Jar = { cookie: '' },
  address?: string,
): Promise<Response> {
  const query = new URLSearchParams(
    compact({
      response_type: 'code',
      redirect_uri: callback,
      code_challenge: challengeOf(verifier),
      code_challenge_method: 'S256',
      resource: resourceOf(hosts.shop),
      state: 'the-state',
      ...fields,
    }),
  );
  const response = await world.send(`/access/oauth/authorize?${query}`, { headers: { cookie: jar.cookie } }, address);
  jar.cookie = response.headers.get('set-cookie')?.split(';')[0] ?? jar.cookie;
  return response;
}

export const claimsAt = (nowMs: number, more: Partial<VisitorClaims> = {}): VisitorClaims => ({
  method: 'password',
  subject: 'the-password',
  email: '',
  groups: [],
  source: 'the-password',
  signedInAtMs: nowMs,
  expiresAtMs: nowMs + 24 * 3600_000,
  ...more,
});

/** Undefined unless control leads to the sign-in. */
export function requestIdOf(response: Response): string | undefined {
  const location = response.headers.get('location') ?? '';
  return location.startsWith(`${origin}/access/sign-in?`)
    ? (new URL(location).searchParams.get('grant') ?? undefined)
    : undefined;
}

export const decide = (world: OAuthWorld, jar: Jar, fields: Fields, headers: Fields = {}): Promise<Response> =>
  world.send('/access/oauth/consent', {
    method: 'POST',
    headers: compact({
      cookie: jar.cookie,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded',
      ...headers,
    }),
    body: new URLSearchParams(compact(fields)).toString(),
  });

/** The address that the page goes to. */
export async function goesTo(response: Response): Promise<URL | undefined> {
  const found = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(await response.text())?.[1]?.replaceAll('&amp;', '&');
  return found === undefined ? undefined : new URL(found);
}

export const finish = (world: OAuthWorld, jar: Jar, grant: string, more: Partial<VisitorClaims> = {}): Promise<Response> =>
  world.waiting.finish(grant, new Headers({ cookie: jar.cookie }), claimsAt(world.time.now, more));

/** A visitor signs in and allows it. */
export async function allow(world: OAuthWorld, fields: Fields): Promise<URL> {
  const jar = { cookie: '' };
  const grant = requestIdOf(await authorize(world, fields, jar));
  assert.ok(grant, 'the request is refused');
  await finish(world, jar, grant);
  const url = await goesTo(await decide(world, jar, { grant, decision: 'allow' }));
  assert.ok(url, 'nobody is asked');
  return url;
}

export interface TokenAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, string>>;
}

export async function askToken(world: OAuthWorld, fields: Fields, path = 'token'): Promise<TokenAnswer> {
  const body = new URLSearchParams(compact(fields));
  const response = await world.send(`/access/oauth/${path}`, { method: 'POST', body });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}

export const exchange = (world: OAuthWorld, client_id: string, code: string, fields: Fields = {}): Promise<TokenAnswer> =>
  askToken(world, {
    grant_type: 'authorization_code',
    client_id,
    code,
    redirect_uri: callback,
    code_verifier: verifier,
    resource: resourceOf(hosts.shop),
    ...fields,
  });

export const refresh = (world: OAuthWorld, client_id: string, refresh_token: string, fields: Fields = {}): Promise<TokenAnswer> =>
  askToken(world, { grant_type: 'refresh_token', client_id, refresh_token, ...fields });

/** Whether the edge of this host opens it. */
export const opensAt = (world: OAuthWorld, host: string, token: string, use: 'agent' | 'session' | 'ticket' = 'agent') =>
  verifyVisit(world.policies.get(host)!.visitKey, use, host, token, world.time.now);
