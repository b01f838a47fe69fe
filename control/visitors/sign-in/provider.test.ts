// Sign-in through an OpenID Connect provider: with a real one (oidc-provider), and with one that lies.

import assert from 'node:assert/strict';
import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { rateLimits } from '@underpass/rules/limits.ts';
import { providerCallbackPath } from '@underpass/rules/visit/provider-callback.ts';
import {
  type IdentityProvider,
  type Persona,
  providerClient,
  startIdentityProvider,
} from '../../../tests/helpers/identity-provider.ts';
import { createGuardedFetch, systemAddresses } from '../../request/http/guarded-fetch.ts';
import { type TestClient, testOrigin } from '../../test-kit.ts';
import { readPerson } from './provider-claims.ts';
import { openVisitStage, state, ticketUrlIn, type VisitStage } from './test-kit.ts';

const bob = 'bob@firm.example';

/** The policy has the provider once its issuer is known; the provider knows the address of the project's callback. */
async function openStage(t: TestContext, options: Parameters<typeof openVisitStage>[1] = {}): Promise<VisitStage> {
  const stage = await openVisitStage({}, options);
  t.after(() => stage.close());
  return stage;
}

const callbackOf =
  (stage: VisitStage) =>
  (issuer: string): string =>
    testOrigin + providerCallbackPath(stage.ann.projectId, issuer);

const useProvider = (stage: VisitStage, issuer: string, change: object = {}): Promise<void> =>
  stage.change({
    provider: {
      issuer,
      clientId: providerClient.id,
      clientSecret: providerClient.secret,
      label: 'Firm',
      people: ['*@firm.example'],
      ...change,
    },
  });

/** The authorization request that the button leads to. */
async function begin(stage: VisitStage, browser: TestClient): Promise<string> {
  const answer = await browser.send('GET', `/access/oidc/start?host=${stage.host}&state=${state}`);
  assert.equal(answer.status, 303, await answer.clone().text());
  return answer.headers.get('location')!;
}

const comeBack = (browser: TestClient, { pathname, search }: URL): Promise<Response> => browser.send('GET', pathname + search);

async function visitAs(stage: VisitStage, provider: IdentityProvider, person: Persona): Promise<Response> {
  const browser = stage.client();
  provider.people.set(person.sub, person);
  return comeBack(browser, await provider.signIn(await begin(stage, browser), person.sub));
}

describe('a real provider', () => {
  it('signs in the people of its domains, by ID token', async (t) => {
    const stage = await openStage(t);
    const provider = await startIdentityProvider(t, callbackOf(stage));
    await useProvider(stage, provider.issuer);
    const page = await (await stage.client().send('GET', `/access/sign-in?host=${stage.host}&state=${state}`)).text();
    assert.match(page, /Sign in with Firm/);
    const answer = await visitAs(stage, provider, { sub: 'u1', email: 'Bob@Firm.example', email_verified: true });
    assert.equal(answer.status, 200, 'a redirect would be subject to the form-action of the provider’s own page');
    const claims = await stage.claimsIn(answer);
    assert.deepEqual([claims.method, claims.subject, claims.email, claims.groups], ['oidc', 'u1', bob, []]);
    assert.equal(claims.source, (await stage.policy()).grants.provider?.id);
    assert.equal((await stage.signIns())[0]!.who, bob);
  });

  it('signs in by a group that only its userinfo endpoint names', async (t) => {
    const stage = await openStage(t);
    const provider = await startIdentityProvider(t, callbackOf(stage), { onlyUserinfo: true });
    await useProvider(stage, provider.issuer, { people: [], groups: ['ops'] });
    const claims = await stage.claimsIn(await visitAs(stage, provider, { sub: 'u2', groups: ['dev', 'ops'] }));
    assert.deepEqual([claims.subject, claims.email, claims.groups], ['u2', '', ['ops', 'dev']]);
    assert.equal((await stage.signIns())[0]!.who, 'u2');
  });

  it('does not sign in strangers, nor an address that it has not verified', async (t) => {
    const stage = await openStage(t);
    const provider = await startIdentityProvider(t, callbackOf(stage));
    await useProvider(stage, provider.issuer);
    const strangers: readonly (readonly [person: Persona, why: string])[] = [
      [{ sub: 'u3', email: 'eve@evil.example', email_verified: true }, 'anybody with an account there could visit'],
      [{ sub: 'u4', email: bob, email_verified: false }, 'anybody could claim the address of another person'],
      [{ sub: 'u5' }, 'a person without an address would be everybody'],
    ];
    for (const [person, why] of strangers) {
      const answer = await visitAs(stage, provider, person);
      assert.equal(answer.status, 403, why);
      assert.match(await answer.text(), /may not visit this address/);
    }
    assert.deepEqual(
      (await stage.signIns()).map(({ allowed }) => allowed),
      [false, false, false],
    );
  });

  it('answers once, to the browser that began, at the address of its project', async (t) => {
    const stage = await openStage(t);
    const provider = await startIdentityProvider(t, callbackOf(stage));
    await useProvider(stage, provider.issuer);
    provider.people.set('u1', { sub: 'u1', email: bob, email_verified: true });
    const back = async (browser: TestClient) => provider.signIn(await begin(stage, browser), 'u1');
    const browser = stage.client();
    const url = await back(browser);
    const first = await comeBack(browser, url);
    assert.equal((await comeBack(browser, url)).status, 404, 'a code from a history or a log would sign in again');
    await stage.claimsIn(first);
    const foreign = await comeBack(stage.client(), await back(stage.client()));
    assert.equal(await ticketUrlIn(foreign), undefined, 'a victim could be signed in as the attacker');
    const moved = await back(browser);
    moved.pathname = providerCallbackPath('another-project', provider.issuer);
    assert.equal((await comeBack(browser, moved)).status, 404, 'the provider of another project could take the code (mix-up)');
    const swapped = await back(browser);
    swapped.pathname = providerCallbackPath(stage.ann.projectId, 'https://another.example');
    assert.equal((await comeBack(browser, swapped)).status, 404, 'another provider of the project could take the code');
    const late = await back(browser);
    stage.time.now += 10 * 60_000 + 1;
    assert.equal((await comeBack(browser, late)).status, 404);
  });

  it('is not asked for an image of another page, which could use up the limits of its visitor', async (t) => {
    const stage = await openStage(t, { limited: true });
    const provider = await startIdentityProvider(t, callbackOf(stage));
    await useProvider(stage, provider.issuer);
    const path = `/access/oidc/start?host=${stage.host}&state=${state}`;
    for (let at = 0; at <= rateLimits.accessProvider.points; at++)
      assert.equal((await stage.client().send('GET', path, undefined, { 'sec-fetch-dest': 'image' })).status, 200);
    await begin(stage, stage.client());
  });

  it('is asked only so often by the addresses of one network, and still by others', async (t) => {
    const stage = await openStage(t, { limited: true });
    const provider = await startIdentityProvider(t, callbackOf(stage));
    await useProvider(stage, provider.issuer);
    const { accessProviderPerPolicy, accessProviderPerNetwork } = rateLimits;
    const many = accessProviderPerPolicy.points + accessProviderPerNetwork.points;
    const ask = async (address: string): Promise<number> =>
      (await stage.client(undefined, address).send('GET', `/access/oidc/start?host=${stage.host}&state=${state}`)).status;
    for (let at = 0; at < many; at++) assert.equal(await ask(`2001:db8:0:${at.toString(16)}::1`), 303);
    assert.deepEqual([await ask('2001:db8:0:ffff::1'), await ask('2001:db8:1::1')], [429, 303]);
  });

  it('does not sign in a visitor if the policy has another client by then', async (t) => {
    const stage = await openStage(t);
    const provider = await startIdentityProvider(t, callbackOf(stage));
    await useProvider(stage, provider.issuer);
    provider.people.set('u1', { sub: 'u1', email: bob, email_verified: true });
    const browser = stage.client();
    const url = await provider.signIn(await begin(stage, browser), 'u1');
    await useProvider(stage, provider.issuer, { clientId: 'another' });
    const answer = await comeBack(browser, url);
    assert.equal(answer.status, 403);
    assert.match(await answer.text(), /This sign-in has ended/);
  });

  it('that refuses leads to a page with a way on, which shows no text of the provider', async (t) => {
    const stage = await openStage(t);
    const provider = await startIdentityProvider(t, callbackOf(stage));
    await useProvider(stage, provider.issuer);
    const browser = stage.client();
    const sent = new URL(await begin(stage, browser)).searchParams.get('state');
    const query = `error=access_denied&error_description=<b>call+us</b>&state=${sent}`;
    const answer = await browser.send('GET', `${providerCallbackPath(stage.ann.projectId, provider.issuer)}?${query}`);
    assert.equal(answer.status, 403);
    const page = await answer.text();
    assert.ok(page.includes('Try again') && !page.includes('call us'), 'a link could put words into our mouth');
    assert.equal((await stage.signIns())[0]!.reason, 'The provider answered access_denied.');
  });
});

interface Lie {
  readonly claims?: object;
  readonly key?: KeyObject;
  readonly alg?: string;
}

/** A provider whose ID token is what `lie` says; without a lie it is right. */
async function startLiar(t: TestContext, lie: () => Lie) {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const nonces: string[] = [];
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const server = createServer((request, response) => {
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const answer = (value: object): void =>
      void response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
    if (request.url === '/jwks')
      return answer({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256', use: 'sig' }] });
    if (request.url !== '/token')
      return answer({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
      });
    const { claims = {}, key = privateKey, alg = 'RS256' } = lie();
    const now = Math.floor(Date.now() / 1000);
    const right = { iss: issuer, aud: providerClient.id, sub: 'u1', email: bob, nonce: nonces.at(-1), iat: now, exp: now + 60 };
    const body = `${encode({ alg, kid: 'k' })}.${encode({ ...right, ...claims })}`;
    const signature = alg === 'none' ? '' : createSign('sha256').update(body).sign(key).toString('base64url');
    answer({ access_token: 'x', token_type: 'Bearer', id_token: `${body}.${signature}` });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, nonces };
}

describe('an ID token', () => {
  const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const lies: readonly (readonly [lie: Lie, why: string])[] = [
    [{ key: otherKey }, 'signed by another key: a token of anybody'],
    [{ alg: 'none' }, 'without a signature: a token that anybody can write'],
    [{ claims: { aud: 'another-client' } }, 'for another client: its owner could use the tokens of their own visitors here'],
    [{ claims: { iss: 'https://other.example' } }, 'of another issuer'],
    [{ claims: { nonce: 'stale' } }, 'of another sign-in: a stolen token could be injected'],
    [{ claims: { nonce: undefined } }, 'of no sign-in'],
    [{ claims: { exp: 1 } }, 'that has expired'],
    [{ claims: { sub: 'x'.repeat(300) } }, 'with a subject that fits no cookie'],
  ];
  it('counts only if it is signed, fresh and for this sign-in', async (t) => {
    let lie: Lie = {};
    const stage = await openStage(t);
    const { issuer, nonces } = await startLiar(t, () => lie);
    await useProvider(stage, issuer);
    const visit = async (): Promise<Response> => {
      const browser = stage.client();
      const url = new URL(await begin(stage, browser));
      nonces.push(url.searchParams.get('nonce')!);
      assert.equal(url.searchParams.get('code_challenge_method'), 'S256');
      return browser.send(
        'GET',
        `${providerCallbackPath(stage.ann.projectId, issuer)}?code=c&state=${url.searchParams.get('state')}`,
      );
    };
    await stage.claimsIn(await visit());
    for (const [each, why] of lies) {
      lie = each;
      const answer = await visit();
      assert.equal(answer.status, 502, why);
    }
    const warned = stage.logged.filter((line) => line.includes('a sign-in through a provider failed'));
    assert.ok(warned.length >= lies.length - 1);
    assert.ok(!warned.join('').includes(providerClient.secret));
  });
});

describe('requests to providers', () => {
  const createProviderFetch = (net: Parameters<typeof createGuardedFetch>[0]) => createGuardedFetch(net, 512 * 1024);
  const production = createProviderFetch({ addressesOf: systemAddresses, allowsLoopback: false, isAllowed: () => false });
  const options = { method: 'GET', headers: {}, body: null, redirect: 'manual' } as const;
  const inside = [
    ['https://127.0.0.1/', 'this machine'],
    ['https://[::1]/', 'this machine'],
    ['https://localhost/', 'a name of this machine'],
    ['https://169.254.169.254/latest/meta-data/', 'the metadata of clouds, with their keys'],
    ['https://10.0.0.1/', 'the network of control'],
    ['https://[::ffff:10.0.0.1]/', 'the same in other letters'],
    ['https://[64:ff9b::a00:1]/', 'the same through a translator'],
    ['http://192.0.2.1/', 'plain http'],
  ] as const;
  for (const [url, why] of inside)
    it(`do not reach ${why}: ${url}`, async () => {
      await assert.rejects(async () => production(url, options), /not a public address|only https/);
    });

  it('reach a private network that the operator names, and no other', async () => {
    const asked: string[] = [];
    const isAllowed = (address: string): boolean => asked.push(address) > 0 && address === '127.0.0.9';
    const some = createProviderFetch({ addressesOf: systemAddresses, allowsLoopback: false, isAllowed });
    await assert.rejects(async () => some('https://127.0.0.9:1/', options), /ECONNREFUSED/);
    await assert.rejects(async () => some('https://127.0.0.8:1/', options), /not a public address/);
    assert.deepEqual(asked, ['127.0.0.9', '127.0.0.8']);
  });

  it('fail at a name whose servers stay silent, or that has one address inside', async () => {
    const named = (found: readonly string[] | 'unknown') =>
      createProviderFetch({ addressesOf: async () => found, allowsLoopback: false, isAllowed: () => false });
    await assert.rejects(async () => named('unknown')('https://login.example/', options), /do not answer/);
    await assert.rejects(async () => named([])('https://login.example/', options), /not a public address/);
    const mixed = named(['192.0.2.1', '10.0.0.1']);
    await assert.rejects(async () => mixed('https://login.example/', options), /not a public address/);
  });

  it('stop at a large answer', async (t) => {
    const server = createServer((_, response) => void response.end(Buffer.alloc(600 * 1024)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const development = createProviderFetch({ addressesOf: systemAddresses, allowsLoopback: true, isAllowed: () => false });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await assert.rejects(async () => development(url, options), /has more than/);
  });
});

describe('what a provider says', () => {
  it('is bounded, and keeps first what the policy names', () => {
    const groups = Array.from({ length: 500 }, (_, at) => `group-${at}`);
    const person = readPerson({ sub: 's', groups: [...groups, 'ops', 7, null, 'x'.repeat(300)] }, 'groups', ['ops'])!;
    assert.equal(person.groups[0], 'ops');
    assert.ok(person.groups.length <= 50 && Buffer.byteLength(JSON.stringify(person.groups)) <= 1_002);
  });

  it('may be one group, and a flag that is a text', () => {
    const said = { sub: 's', email: bob, email_verified: 'false', role: 'ops' };
    assert.deepEqual(readPerson(said, 'role', []), { subject: 's', email: '', groups: ['ops'] });
    assert.equal(readPerson({ sub: 7 }, 'role', []), undefined);
  });

  it('of an address counts only with a flag that says true, or without one', () => {
    const emailWith = (flag: object) => readPerson({ sub: 's', email: bob, ...flag }, 'groups', [])!.email;
    for (const email_verified of [true, 'true']) assert.equal(emailWith({ email_verified }), bob);
    assert.equal(emailWith({}), bob, 'providers that verify every address leave it out');
    for (const email_verified of [false, 'false', 'False', 'no', '', 0, 1, '0', '1', null, [true], ['true'], { value: true }])
      assert.equal(emailWith({ email_verified }), '', JSON.stringify(email_verified));
  });
});
