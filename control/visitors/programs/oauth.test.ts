// The authorization server for programs: what honest programs and visitors get.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rateLimits } from '@underpass/rules/limits.ts';
import { programSubject } from '@underpass/rules/visit/grants.ts';
import {
  allow,
  askToken,
  authorize,
  callback,
  createOAuthWorld,
  decide,
  exchange,
  finish,
  goesTo,
  hosts,
  type OAuthWorld,
  oauth,
  opensAt,
  origin,
  refresh,
  register,
  requestIdOf,
  resourceOf,
} from './test-kit.ts';

async function open(t: { after(end: () => Promise<void>): void }, ...args: Parameters<typeof createOAuthWorld>) {
  const world = await createOAuthWorld(...args);
  t.after(world.close);
  return world;
}

test('metadata names endpoints under its own issuer, and pages of other sites may read it', async (t) => {
  const world = await open(t);
  const response = await world.send('/.well-known/oauth-authorization-server/access/oauth');
  const metadata = (await response.json()) as Record<string, string>;
  assert.equal(metadata.issuer, oauth);
  for (const name of ['authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'revocation_endpoint'])
    assert.ok(metadata[name]?.startsWith(`${metadata.issuer}/`), name);
  assert.deepEqual(metadata.code_challenge_methods_supported, ['S256']);
  assert.equal(response.headers.get('access-control-allow-origin'), '*');
  const preflight = await world.send('/access/oauth/token', { method: 'OPTIONS' });
  assert.deepEqual([preflight.status, preflight.headers.get('access-control-allow-methods')], [204, 'POST']);
});

test('a registered program gets a code for its visitor, and tokens for the code', async (t) => {
  const world = await open(t);
  const { status, body: program } = await register(world);
  assert.deepEqual([status, program.client_name, program.token_endpoint_auth_method], [201, 'Scribe', 'none']);
  const jar = { cookie: '' };
  const grant = requestIdOf(await authorize(world, { client_id: program.client_id }, jar))!;
  assert.deepEqual(await world.waiting.find(grant, new Headers({ cookie: jar.cookie })), {
    host: hosts.shop,
    programName: 'Scribe',
  });
  const signedIn = await finish(world, jar, grant, { email: 'ann@example.com' });
  const page = await world.send(signedIn.headers.get('location')!, { headers: { cookie: jar.cookie } });
  const text = await page.text();
  for (const said of ['Scribe', resourceOf(hosts.shop), 'project Shop', 'ann@example.com', 'a program on this device'])
    assert.ok(text.includes(said), said);
  const url = (await goesTo(await decide(world, jar, { grant, decision: 'allow' })))!;
  assert.equal(url.origin + url.pathname, callback);
  assert.deepEqual([url.searchParams.get('state'), url.searchParams.get('iss')], ['the-state', oauth]);
  const { body } = await exchange(world, program.client_id!, url.searchParams.get('code')!);
  assert.deepEqual([body.token_type, body.expires_in], ['Bearer', 3600]);
  const opened = opensAt(world, hosts.shop, body.access_token!);
  assert.deepEqual([opened?.claims.agent, opened?.claims.email], ['Scribe', 'ann@example.com']);
  const [row] = await world.signIns();
  assert.deepEqual(
    [row?.host, row?.who, row?.method, row?.allowed, row?.address],
    [hosts.shop, 'Scribe, for ann@example.com', 'agent', 1, '192.0.2.1'],
  );
});

test('a name is one short line, and a program without one is still asked about', async (t) => {
  const world = await open(t);
  for (const [client_name, shown] of [
    ['  Note\n taker ', 'Note taker'],
    ['n'.repeat(100), `${'n'.repeat(59)}…`],
    [undefined, 'A program'],
    ['', 'A program'],
  ] as const)
    assert.equal((await register(world, { client_name, redirect_uris: [callback] })).body.client_name, shown);
  assert.equal((await register(world, { client_name: ['Note'], redirect_uris: [callback] })).status, 400);
});

test('a visitor who denies sends the program away with access_denied', async (t) => {
  const world = await open(t);
  const { client_id } = (await register(world)).body;
  const jar = { cookie: '' };
  const grant = requestIdOf(await authorize(world, { client_id }, jar))!;
  await finish(world, jar, grant);
  const url = (await goesTo(await decide(world, jar, { grant, decision: 'deny' })))!;
  assert.deepEqual([...url.searchParams.keys()].sort(), ['error', 'iss', 'state']);
  assert.equal(url.searchParams.get('error'), 'access_denied');
  assert.equal((await world.signIns())[0]?.allowed, 0);
});

test('a refresh token gives new tokens until the sign-in ends, and no longer', async (t) => {
  const world = await open(t);
  const client = (await register(world)).body.client_id!;
  const code = (await allow(world, { client_id: client })).searchParams.get('code')!;
  let tokens = (await exchange(world, client, code)).body;
  world.time.now += 23.5 * 3600_000;
  tokens = (await refresh(world, client, tokens.refresh_token!)).body;
  assert.equal(tokens.expires_in, 1800, 'capped by the sign-in');
  assert.ok(opensAt(world, hosts.shop, tokens.access_token!));
  world.time.now += 1800_000;
  assert.equal((await refresh(world, client, tokens.refresh_token!)).body.error, 'invalid_grant');
});

test('a policy that no longer admits the visitor ends the refresh token', async (t) => {
  const world = await open(t);
  const client = (await register(world)).body.client_id!;
  const { body } = await exchange(world, client, (await allow(world, { client_id: client })).searchParams.get('code')!);
  const policy = world.policies.get(hosts.shop)!;
  const signedOut = [{ subject: 'the-password', atMs: world.time.now }];
  world.policies.set(hosts.shop, { ...policy, grants: { ...policy.grants, signedOut } });
  assert.equal((await refresh(world, client, body.refresh_token!)).body.error, 'invalid_grant');
  world.policies.set(hosts.shop, policy);
  assert.equal((await refresh(world, client, body.refresh_token!)).body.error, 'invalid_grant', 'it does not come back');
});

const programOf = (world: OAuthWorld, token: string): string => opensAt(world, hosts.shop, token)!.claims.programId!;

test('a program can end its access by any of its tokens, and the edges learn it', async (t) => {
  const world = await open(t);
  const client_id = (await register(world)).body.client_id!;
  const { body } = await exchange(world, client_id, (await allow(world, { client_id })).searchParams.get('code')!);
  assert.equal((await askToken(world, { token: body.refresh_token!, client_id: 'another' }, 'revoke')).status, 200);
  const { refresh_token } = (await refresh(world, client_id, body.refresh_token!)).body;
  assert.equal((await askToken(world, { token: refresh_token!, client_id }, 'revoke')).status, 200);
  assert.equal((await refresh(world, client_id, refresh_token!)).body.error, 'invalid_grant');
  const ended = [programSubject(programOf(world, body.access_token!))];
  assert.deepEqual(await world.endedPrograms(), ended);
  assert.equal((await askToken(world, { token: 'never given', client_id }, 'revoke')).status, 200);
  assert.equal((await askToken(world, { token: 'never given' }, 'revoke')).body.error, 'invalid_client');
  const other = (await exchange(world, client_id, (await allow(world, { client_id })).searchParams.get('code')!)).body;
  const forged = `${other.access_token!.split('.')[0]}.${'A'.repeat(43)}`;
  for (const [token, by] of [
    [forged, client_id],
    [other.access_token!, 'another'],
  ] as const)
    assert.equal((await askToken(world, { token, client_id: by }, 'revoke')).status, 200);
  assert.deepEqual(await world.endedPrograms(), ended, 'a forged token, or another program, ends nothing');
  await askToken(world, { token: other.access_token!, client_id }, 'revoke');
  assert.equal((await refresh(world, client_id, other.refresh_token!)).body.error, 'invalid_grant');
  assert.equal((await world.endedPrograms()).length, 2);
});

test('a code or a refresh token that comes twice ends the access tokens too', async (t) => {
  const world = await open(t);
  const client = (await register(world)).body.client_id!;
  const codeOf = async () => (await allow(world, { client_id: client })).searchParams.get('code')!;
  const code = await codeOf();
  const first = (await exchange(world, client, code)).body;
  assert.equal((await exchange(world, client, code)).body.error, 'invalid_grant');
  const second = (await exchange(world, client, await codeOf())).body;
  const newer = (await refresh(world, client, second.refresh_token!)).body;
  assert.equal(programOf(world, newer.access_token!), programOf(world, second.access_token!));
  assert.equal((await refresh(world, client, second.refresh_token!)).body.error, 'invalid_grant');
  assert.equal((await refresh(world, client, newer.refresh_token!)).body.error, 'invalid_grant');
  const subjects = [first, second].map(({ access_token }) => programSubject(programOf(world, access_token!)));
  assert.deepEqual((await world.endedPrograms()).toSorted(), subjects.toSorted());
});

test('a program whose id is a document needs no registration', async (t) => {
  const id = 'https://scribe.example/program.json';
  const readDocument = async (asked: string) =>
    asked === id ? { id, name: 'Scribe', redirectUris: ['http://127.0.0.1/callback'], isDocument: true } : 'it is not there';
  const world = await open(t, { readDocument });
  const jar = { cookie: '' };
  const grant = requestIdOf(await authorize(world, { client_id: id }, jar))!;
  const signedIn = await finish(world, jar, grant);
  const page = await world.send(signedIn.headers.get('location')!, { headers: { cookie: jar.cookie } });
  assert.match(await page.text(), /comes from <strong>scribe\.example<\/strong>/);
  const url = (await goesTo(await decide(world, jar, { grant, decision: 'allow' })))!;
  assert.equal((await exchange(world, id, url.searchParams.get('code')!)).status, 200);
  assert.equal(await world.rows('access_clients'), 0);
});

test('an error of the request goes back to the program, with state and issuer', async (t) => {
  const world = await open(t);
  const { client_id } = (await register(world)).body;
  for (const [fields, error] of [
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ resource: undefined }, 'invalid_target'],
    [{ resource: 'https://nowhere.example.com' }, 'invalid_target'],
    [{ resource: `${resourceOf(hosts.shop)}#x` }, 'invalid_target'],
    [{ resource: 'https://shop.example.com:8443/mcp' }, 'invalid_target'],
    [{ code_challenge: 'short' }, 'invalid_request'],
  ] as const) {
    const url = new URL((await authorize(world, { client_id, ...fields })).headers.get('location')!);
    assert.deepEqual([url.searchParams.get('error'), url.searchParams.get('iss')], [error, oauth], JSON.stringify(fields));
    assert.equal(url.searchParams.get('state'), 'the-state');
  }
  assert.equal(await world.rows('access_flows'), 0);
});

test('an error of the request redirects to no other machine: the visitor gets a link that says where it goes', async (t) => {
  const world = await open(t);
  for (const [uri, label] of [
    ['https://elsewhere.example/login', 'Go to elsewhere.example'],
    ['scribe:login', 'opens scribe: addresses'],
  ] as const) {
    const { client_id } = (await register(world, { redirect_uris: [uri] })).body;
    const answer = await authorize(world, { client_id, redirect_uri: uri, response_type: 'no' });
    const page = await answer.text();
    assert.deepEqual([answer.status, answer.headers.get('location'), page.includes('refresh')], [400, null, false]);
    assert.ok(page.includes(label) && page.includes(`href="${uri}?error=unsupported_response_type`), page);
  }
});

test('requests from many addresses of one network stop, and do not lock out others', async (t) => {
  const world = await open(t, { isLimited: true });
  const { client_id } = (await register(world)).body;
  const ask = async (address: string) => requestIdOf(await authorize(world, { client_id }, undefined, address)) !== undefined;
  const { programQuestionOverall, programQuestionPerNetwork } = rateLimits;
  const many = programQuestionOverall.points + programQuestionPerNetwork.points;
  for (let at = 0; at < many; at++) assert.equal(await ask(`2001:db8:0:${at.toString(16)}::1`), true);
  assert.deepEqual([await ask('2001:db8:0:ffff::1'), await ask('2001:db8:1::1')], [false, true]);
  assert.equal(await world.rows('access_flows'), many + 1);
});

test('pages of other sites cannot use up what a visitor and native programs may ask', async (t) => {
  const world = await open(t, { isLimited: true });
  const { client_id } = (await register(world)).body;
  const image = { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' } };
  for (let at = 0; at <= rateLimits.programQuestion.points; at++)
    assert.equal((await world.send(`/access/oauth/authorize?client_id=${client_id}`, image)).status, 400);
  assert.ok(requestIdOf(await authorize(world, { client_id })));
  const statuses: number[] = [];
  for (let at = 0; at <= rateLimits.programRegistration.points; at++)
    statuses.push((await world.send('/access/oauth/register', { method: 'POST', body: '{}', ...image })).status);
  assert.equal(statuses.at(-1), 429);
  assert.equal((await register(world)).status, 201);
});

test('metadata that programs look for elsewhere does not exist', async (t) => {
  const world = await open(t);
  for (const path of ['/.well-known/openid-configuration/access/oauth', '/access/oauth/.well-known/openid-configuration'])
    assert.equal((await world.send(origin + path)).status, 404);
});
