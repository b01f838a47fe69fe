// Access policies: their calls, by status, and who may see what of them.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { AccessPolicy, AccessTest } from '@underpass/rules/visit/access-policy.ts';
import { policyLimits } from '@underpass/rules/visit/policy-limits.ts';
import { checkPassword } from '../../edges/policies/password.ts';
import { giveUpSealed, readSealed, resealAll } from '../../operator/sealed-rows.ts';
import { createKeyRing } from '../../platform/secret/key-ring.ts';
import { hashToken } from '../../platform/secret/token.ts';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';
import { findSignInPolicy } from './find-sign-in-policy.ts';

const key = randomBytes(32);
const keyRing = createKeyRing([key]);
let test: TestControl;
let ann: SignedUp;

before(async () => {
  test = await createTestControl({ keyRing });
  ann = await test.signUp('ann@example.com');
  await test.signUp('operator@example.com', { operator: true });
});
after(() => test.close());

let count = 0;
const unique = (): string => `policy-${++count}`;
const listOf = (who: SignedUp): string => `/api/access-policies?project=${who.projectId}`;
const pathOf = (who: SignedUp, name: string, part = ''): string =>
  `/api/access-policies/${encodeURIComponent(name)}${part}?project=${who.projectId}`;
const create = (who: SignedUp, body: object = {}): Promise<AccessPolicy> =>
  who.call<AccessPolicy>('POST', listOf(who), { name: unique(), ...body });
const tunnelsOf = (who: SignedUp): string => `/api/tunnels?project=${who.projectId}`;
const attach = (who: SignedUp, accessPolicy: string): Promise<Tunnel> =>
  who.call<Tunnel>('POST', tunnelsOf(who), { name: `t-${++count}`, region: 'local', accessPolicy });
const refusal = async (response: Response): Promise<[number, string]> => [response.status, await response.text()];
const hostOf = (tunnel: Tunnel): string => tunnel.ingressDomains[0]!.name;
const find = (tunnel: Tunnel) => findSignInPolicy(test.store.db, keyRing, hostOf(tunnel), test.time.now);
async function auditOf(target: string): Promise<string> {
  const rows = await test.store.db.selectFrom('audit').select(['action', 'detail']).where('target', '=', target).execute();
  return JSON.stringify(rows);
}

const provider = { issuer: 'https://id.example', clientId: 'app', clientSecret: 'the-provider-secret', people: ['*@firm.com'] };

describe('200', () => {
  it('keeps what is given in canonical form, and admits nobody by itself', async () => {
    const made = await create(ann, { people: ['B@Firm.com', '*@x.org'], rules: [{ path: ' /docs/*', action: 'public' }] });
    const { name: _, updatedAt: __, ...rest } = made;
    assert.deepEqual(rest, {
      ...{ tunnels: [], rules: [{ path: '/docs/*', action: 'public' }], members: false, people: ['b@firm.com', '*@x.org'] },
      ...{
        provider: null,
        password: false,
        tokenHeader: 'authorization',
        origins: [],
        tokenCount: 0,
        linkCount: 0,
        sessionHours: 24,
      },
      log: true,
    });
    assert.deepEqual(await ann.call('GET', pathOf(ann, made.name)), made);
  });

  it('changes only the fields that are named; a save without a change changes nothing', async () => {
    const made = await create(ann, { people: ['a@x.com'], members: true, provider });
    const tunnel = await attach(ann, made.name);
    test.feed.changed.length = 0;
    const same = await ann.call<AccessPolicy>('PATCH', pathOf(ann, made.name), { people: ['A@x.com'], members: true });
    assert.deepEqual(same, { ...made, tunnels: [tunnel.name] });
    assert.deepEqual(test.feed.changed, []);
    const changed = await ann.call<AccessPolicy>('PATCH', pathOf(ann, made.name), { members: false });
    assert.deepEqual([changed.members, changed.people, changed.provider?.clientId], [false, ['a@x.com'], 'app']);
    assert.equal(test.feed.changed.length, 1);
  });

  it('keeps secrets sealed or hashed, and shows them nowhere: answers, audit log, feed of another field', async () => {
    const password = 'correct horse';
    const { name } = await create(ann, { provider, password });
    await attach(ann, name);
    const token = await ann.call<{ token: string }>('POST', pathOf(ann, name, '/tokens'), { name: 'ci' });
    const link = await ann.call<{ urls: string[] }>('POST', pathOf(ann, name, '/links'), { name: 'client' });
    const secret = new URL(link.urls[0]!).hash.slice(1);
    const row = await test.store.db.selectFrom('access_policies').selectAll().where('name', '=', name).executeTakeFirstOrThrow();
    const shown = JSON.stringify([row, await ann.call('GET', pathOf(ann, name)), test.logged, await auditOf(name)]);
    for (const each of ['the-provider-secret', password, token.token, secret]) assert.ok(!shown.includes(each), each);
    assert.ok(await checkPassword(row.password_hash!, password));
    assert.ok(!(await checkPassword(row.password_hash!, `${password} `)));
    const hashes = await test.store.db.selectFrom('access_tokens').select('token_hash').where('policy_id', '=', row.id).execute();
    assert.deepEqual(
      hashes.map((each) => each.token_hash),
      [hashToken(token.token)],
    );
  });

  it('leads share links to every address of the policy’s tunnels, with the secret in the fragment', async () => {
    const { name } = await create(ann);
    const [one, two] = [await attach(ann, name), await attach(ann, name)];
    const { urls, mostUses, expiresAt } = await ann.call<{ urls: string[]; mostUses: number; expiresAt: string }>(
      'POST',
      pathOf(ann, name, '/links'),
      { name: 'client', expiresInHours: 2, mostUses: 3 },
    );
    const secrets = new Set(urls.map((url) => new URL(url).hash));
    assert.equal(secrets.size, 1);
    assert.deepEqual(
      urls.map((url) => new URL(url).searchParams.get('host')),
      [one, two].map((tunnel) => `${hostOf(tunnel)}:8443`),
    );
    assert.deepEqual([mostUses, expiresAt], [3, new Date(test.time.now + 2 * 3600_000).toISOString()]);
    const [listed] = await ann.call<Record<string, unknown>[]>('GET', pathOf(ann, name, '/links'));
    assert.deepEqual([listed!.urls, listed!.uses, listed!.usedAt], [undefined, 0, null]);
  });

  it('lists, sorts and searches policies', async () => {
    const bob = await test.signUp(`${unique()}@example.com`);
    for (const name of ['b', 'a']) await bob.call('POST', listOf(bob), { name, people: [`${name}@firm.com`] });
    const names = async (query: string) =>
      (await bob.call<AccessPolicy[]>('GET', `${listOf(bob)}${query}`)).map((policy) => policy.name);
    assert.deepEqual(await names(''), ['b', 'a']);
    assert.deepEqual(await names('&sort=name'), ['a', 'b']);
    assert.deepEqual(await names('&q=a@firm'), ['a']);
  });

  it('attaches to tunnels, detaches with an empty name, and tells the edges', async () => {
    const { name } = await create(ann);
    const tunnel = await attach(ann, name);
    assert.equal(tunnel.accessPolicy, name);
    assert.deepEqual((await ann.call<AccessPolicy>('GET', pathOf(ann, name))).tunnels, [tunnel.name]);
    test.feed.changed.length = 0;
    const path = `/api/tunnels/${tunnel.name}?project=${ann.projectId}`;
    const without = await ann.call<Tunnel>('PATCH', path, { accessPolicy: '' });
    assert.deepEqual([without.accessPolicy, test.feed.changed.length], [undefined, 1]);
    assert.equal((await ann.call<Tunnel>('PATCH', path, { accessPolicy: name })).accessPolicy, name);
    await ann.call('PATCH', path, { securityGroup: 'default' });
    assert.equal((await ann.call<Tunnel>('GET', path)).accessPolicy, name, 'another change leaves it');
  });

  it('gives a quick tunnel a policy, and keeps it when the folder asks again without one', async () => {
    const { name } = await create(ann);
    const quick = `/api/quick-tunnels?project=${ann.projectId}`;
    const folder = randomBytes(32).toString('base64url');
    const start = (body: object) => ann.call<Tunnel>('POST', quick, { key: folder, ...body });
    assert.equal((await start({ accessPolicy: name })).accessPolicy, name);
    assert.equal((await start({})).accessPolicy, name);
    assert.equal((await start({ accessPolicy: '' })).accessPolicy, undefined);
  });

  it('tests a visit, with the member’s sign-in and a token', async () => {
    const { name } = await create(ann, {
      members: true,
      rules: [
        { path: '/open', action: 'public' },
        { path: '/mcp#tools/call read_*', action: 'public' },
      ],
    });
    const url = `https://${hostOf(await attach(ann, name))}`;
    const { token } = await ann.call<{ token: string }>('POST', pathOf(ann, name, '/tokens'), { name: 'ci' });
    const ask = (body: object) => ann.call<AccessTest>('POST', pathOf(ann, name, '/test'), body);
    const rows: [object, AccessTest['outcome'], AccessTest['method']][] = [
      [{ url: `${url}/open` }, 'allow', undefined],
      [{ url: `${url}/x` }, 'sign-in', undefined],
      [{ url: `${url}/x`, email: 'ANN@example.com' }, 'allow', 'member'],
      [{ url: `${url}/x`, email: 'eve@example.com' }, 'refuse', undefined],
      [{ url: `${url}:8443/x?a=b`, token }, 'allow', 'token'],
      [{ url: `${url}/x`, token: 'wrong' }, 'refuse', undefined],
      [{ url: `${url}/mcp#tools/call read_all` }, 'allow', undefined],
      [{ url: `${url}/mcp#tools/call write` }, 'sign-in', undefined],
      [{ url: `${url}/mcp`, token }, 'refuse', undefined],
    ];
    for (const [body, outcome, method] of rows) {
      const answer = await ask(body);
      assert.deepEqual([answer.outcome, answer.method], [outcome, method], JSON.stringify(body));
      assert.ok(answer.why.length >= 2 && answer.securityGroup.allowed);
    }
  });

  it('signs out one person or everybody, and what programs hold', async () => {
    const { name } = await create(ann, { people: ['a@x.com'] });
    const tunnel = await attach(ann, name);
    const path = pathOf(ann, name, '/sign-out');
    test.feed.changed.length = 0;
    await ann.call('POST', path, { email: 'A@x.com' });
    await ann.call('POST', path, { email: 'a@x.com' });
    assert.deepEqual((await find(tunnel))!.grants.signedOut, [{ subject: 'a@x.com', atMs: test.time.now }]);
    const { policyId: policy_id } = (await find(tunnel))!;
    const flow = { id: 'f', policy_id, kind: 'refresh' as const, content_sealed: '', tries: 0, created_at: 1, expires_at: 9e15 };
    await test.store.db.insertInto('access_flows').values(flow).execute();
    const { visitKey } = (await find(tunnel))!;
    await ann.call('POST', path, {});
    const { grants, visitKey: newKey } = (await find(tunnel))!;
    assert.deepEqual([grants.signedOut, grants.validFromMs], [[], test.time.now + 1]);
    assert.ok(!newKey.equals(visitKey), 'whoever has the old key could sign new sessions');
    assert.deepEqual(await test.store.db.selectFrom('access_flows').selectAll().execute(), []);
    assert.equal(test.feed.changed.length, 3);
  });

  it('signs out everybody when the list of single persons gets too long for the edges', async () => {
    const { name } = await create(ann);
    const tunnel = await attach(ann, name);
    const { policyId: policy_id } = (await find(tunnel))!;
    const rows = Array.from({ length: policyLimits.people }, (_, i) => ({
      policy_id,
      subject: `p${i}@x.com`,
      at: test.time.now,
    }));
    await test.store.db.insertInto('access_sign_outs').values(rows).execute();
    await ann.call('POST', pathOf(ann, name, '/sign-out'), { email: 'one@x.com' });
    assert.equal((await find(tunnel))!.grants.validFromMs, test.time.now + 1);
  });

  it('lists sign-ins newest first, in pages, of one policy too', async () => {
    const row = { project_id: ann.projectId, host: 'h', who: 'a@x.com', method: 'email', allowed: 1 as const, reason: '' };
    const all = Array.from({ length: 60 }, (_, i) => ({
      ...{ ...row, id: String(i).padStart(3, '0'), at: i, address: '192.0.2.1', policy: i % 2 === 0 ? 'even' : 'odd' },
    }));
    await test.store.db.insertInto('access_sign_ins').values(all).execute();
    type Page = { entries: { id: string; policy: string }[]; next: string | null };
    const page = (query: string) => ann.call<Page>('GET', `/api/access-sign-ins?project=${ann.projectId}${query}`);
    const first = await page('');
    assert.deepEqual([first.entries[0]!.id, first.entries.length, first.next], ['059', 50, '010']);
    assert.deepEqual(
      [(await page(`&before=${first.next}`)).entries.length, (await page('&policy=odd')).entries.length],
      [10, 30],
    );
  });
});

describe('the project’s members', () => {
  it('are admitted while they are members and not suspended, and the edges hear of each change', async () => {
    const { name } = await create(ann, { members: true });
    const tunnel = await attach(ann, name);
    const guest = await test.signUp(`${unique()}@example.com`);
    const members = async () => (await find(tunnel))!.grants.memberIds!;
    const heard = (): boolean => {
      const changed = test.feed.changed.length > 0;
      test.feed.changed.length = 0;
      return changed;
    };
    await test.addMember(ann.projectId, guest.userId, 'viewer');
    assert.ok((await members()).includes(guest.userId));
    heard();
    await test.control.operator.changeUser(guest.userId, { suspended: true });
    assert.deepEqual([heard(), (await members()).includes(guest.userId)], [true, false]);
    await test.control.operator.changeUser(guest.userId, { suspended: false });
    heard();
    await ann.call('DELETE', `/api/members/${guest.userId}?project=${ann.projectId}`);
    assert.deepEqual([heard(), (await members()).includes(guest.userId)], [true, false]);
    await test.addMember(ann.projectId, guest.userId, 'viewer');
    heard();
    await test.control.operator.deleteUser(guest.userId);
    assert.deepEqual([heard(), (await members()).includes(guest.userId)], [true, false]);
  });
});

describe('a policy and a tunnel with the names of deleted ones', () => {
  it('inherit nothing: other keys, other tokens, no machine token, link, sign-in log or counter', async () => {
    const policyName = unique();
    const tunnelName = `t-${++count}`;
    const build = async () => {
      const policy = await create(ann, { name: policyName, password: 'correct horse', members: true });
      const tunnel = await ann.call<Tunnel>('POST', tunnelsOf(ann), {
        name: tunnelName,
        region: 'local',
        accessPolicy: policyName,
      });
      return { policy, tunnel, visit: (await find(tunnel))! };
    };
    const old = await build();
    await ann.call('POST', pathOf(ann, policyName, '/tokens'), { name: 'ci' });
    await ann.call('POST', pathOf(ann, policyName, '/links'), { name: 'client' });
    await ann.call('DELETE', `/api/tunnels/${tunnelName}?project=${ann.projectId}`);
    await ann.call('DELETE', pathOf(ann, policyName));
    const made = await build();
    assert.notEqual(made.tunnel.token, old.tunnel.token);
    assert.notEqual(made.visit.policyId, old.visit.policyId);
    assert.notDeepEqual(made.visit.visitKey, old.visit.visitKey);
    assert.notEqual(made.visit.grants.passwordId, old.visit.grants.passwordId, 'a session by the old password');
    assert.deepEqual([made.visit.tokens, made.visit.grants.links], [[], []]);
    for (const part of ['/tokens', '/links']) assert.deepEqual(await ann.call('GET', pathOf(ann, policyName, part)), [], part);
    for (const table of ['access_tokens', 'access_links'] as const)
      assert.deepEqual(
        await test.store.db.selectFrom(table).selectAll().where('policy_id', '=', old.visit.policyId).execute(),
        [],
      );
  });
});

describe('400', () => {
  const bad: [object, RegExp][] = [
    [{ name: '' }, /Name is required/],
    [{ rules: [{ action: 'deny' }] }, /^Field 'rules.0.path' is missing.$/],
    [{ rules: [null] }, /^Field 'rules' must be a list of objects with path and action.$/],
    [{ provider: {} }, /^Field 'provider' must be false, or an object with issuer and clientId.$/],
    [{ rules: Array(101).fill({ path: '/', action: 'deny' }) }, /at most 100 path rules; this list has 101/],
    [{ name: '..' }, /start and end with a letter/],
    [{ rules: [{ path: 'x', action: 'public' }] }, /Path must begin/],
    [{ rules: [{ path: '/x', action: 'open' }] }, /'public', 'sign-in' or 'deny'/],
    [{ people: ['x'] }, /Not an email address/],
    [{ provider: { ...provider, issuer: 'http://id.example' } }, /https/],
    [{ provider: { ...provider, people: [] } }, /List who may sign in/],
    [{ password: 'short' }, /at least 8/],
    [{ tokenHeader: 'Cookie' }, /already has a meaning/],
    [{ sessionHours: 0 }, /from 1 to 720/],
  ];
  for (const [body, text] of bad) {
    it(`refuses ${JSON.stringify(body).slice(0, 60)}`, async () => {
      const [status, message] = await refusal(await ann.send('POST', listOf(ann), { name: unique(), ...body }));
      assert.equal(status, 400);
      assert.match(message, text);
    });
  }

  it('refuses a policy at an ingress tunnel, in one sentence', async () => {
    const { name } = await create(ann);
    const body = { name: 'raw', region: 'local', type: 'ingress', ingressDomains: ['raw.example.org'] };
    const text = 'An access policy needs an http tunnel: the service cannot see inside an ingress tunnel.';
    assert.deepEqual(await refusal(await ann.send('POST', tunnelsOf(ann), { ...body, accessPolicy: name })), [400, text]);
    await ann.call('POST', tunnelsOf(ann), body);
    const change = await ann.send('PATCH', `/api/tunnels/raw?project=${ann.projectId}`, { accessPolicy: name });
    assert.deepEqual(await refusal(change), [400, text]);
  });

  it('refuses a policy of another project by name, at a tunnel and in every call', async () => {
    const bob = await test.signUp(`${unique()}@example.com`);
    const { name } = await create(bob, { people: ['a@x.com'] });
    const taken = await ann.send('POST', tunnelsOf(ann), { name: 'thief', region: 'local', accessPolicy: name });
    assert.deepEqual(await refusal(taken), [400, `Access policy '${name}' does not exist`]);
    for (const [method, part, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { members: true }],
      ['DELETE', '', undefined],
      ['GET', '/tokens', undefined],
      ['POST', '/tokens', { name: 'x' }],
      ['POST', '/links', { name: 'x' }],
      ['POST', '/sign-out', {}],
      ['POST', '/test', { url: 'https://x.example' }],
    ] as const)
      assert.deepEqual(
        await refusal(await ann.send(method, pathOf(ann, name, part), body)),
        [404, 'Access policy not found'],
        part,
      );
  });

  it('does not test a tunnel of another policy, and deletes no token of another policy', async () => {
    const [one, two] = [await create(ann), await create(ann)];
    const url = `https://${hostOf(await attach(ann, two.name))}/`;
    const asked = await ann.send('POST', pathOf(ann, one.name, '/test'), { url });
    assert.equal((await refusal(asked))[0], 400);
    const { id } = await ann.call<{ id: string }>('POST', pathOf(ann, two.name, '/tokens'), { name: 'ci' });
    assert.equal((await ann.send('DELETE', pathOf(ann, one.name, `/tokens/${id}`))).status, 404);
    assert.equal((await ann.send('DELETE', pathOf(ann, two.name, `/tokens/${id}`))).status, 204);
  });

  it('asks for the provider’s secret again when it would go to another issuer', async () => {
    const { name } = await create(ann, { provider });
    const { clientSecret: _, ...without } = provider;
    const moved = { provider: { ...without, issuer: 'https://evil.example' } };
    const [status, text] = await refusal(await ann.send('PATCH', pathOf(ann, name), moved));
    assert.deepEqual([status, /Enter the client secret again/.test(text)], [400, true]);
    await ann.call('PATCH', pathOf(ann, name), { provider: { ...without, label: 'Firm' } });
    const sealed = async () =>
      (await test.store.db.selectFrom('access_policies').select('provider_secret_sealed').where('name', '=', name).execute())[0]!;
    assert.notEqual((await sealed()).provider_secret_sealed, null, 'another label keeps it');
    await ann.call('PATCH', pathOf(ann, name), { provider: false });
    assert.equal((await sealed()).provider_secret_sealed, null);
  });
});

describe('409', () => {
  it('refuses a name in use in any case, a policy in use, and more than the quotas', async () => {
    const bob = await test.signUp(`${unique()}@example.com`);
    await bob.call('POST', listOf(bob), { name: 'Staff' });
    const again = await bob.send('POST', listOf(bob), { name: 'staff' });
    assert.deepEqual(await refusal(again), [409, "Access policy 'Staff' already exists"]);
    const tunnel = await attach(bob, 'Staff');
    const used = await bob.send('DELETE', pathOf(bob, 'Staff'));
    assert.deepEqual(await refusal(used), [409, `Access policy 'Staff' is in use by tunnel '${tunnel.name}'`]);
    await test.control.operator.changeProject(bob.projectId, { limits: { accessPolicies: 1 } });
    assert.match((await refusal(await bob.send('POST', listOf(bob), { name: 'more' })))[1], /at most 1 access policies/);
    await bob.call('DELETE', `/api/tunnels/${tunnel.name}?project=${bob.projectId}`);
    await bob.call('DELETE', pathOf(bob, 'Staff'));
  });

  it('refuses a link without an address', async () => {
    const { name } = await create(ann);
    const text = 'A link needs an address, and a wildcard is none. Attach the policy to an http tunnel that has one first.';
    assert.deepEqual(await refusal(await ann.send('POST', pathOf(ann, name, '/links'), { name: 'x' })), [409, text]);
  });
});

it('412: refuses a save that names an outdated state', async () => {
  const { name, updatedAt } = await create(ann);
  await ann.call('PATCH', pathOf(ann, name), { members: true });
  const mine = await ann.send('PATCH', pathOf(ann, name), { people: ['a@x.com'] }, { 'if-match': `"${updatedAt}"` });
  assert.deepEqual(await refusal(mine), [412, `Access policy '${name}' has changed since you opened it.`]);
});

it('a host whose project or tunnel is suspended, or whose policy cannot be opened, has no policy to sign in by', async () => {
  const bob = await test.signUp(`${unique()}@example.com`);
  const { name } = await create(bob, { members: true });
  const tunnel = await attach(bob, name);
  assert.equal((await find(tunnel))?.policyName, name);
  assert.equal((await find(tunnel))?.url, `https://${hostOf(tunnel)}:8443`);
  const other = createKeyRing([randomBytes(32)]);
  assert.equal(await findSignInPolicy(test.store.db, other, hostOf(tunnel), test.time.now), undefined);
  await test.control.operator.changeProject(bob.projectId, { suspended: true });
  assert.equal(await find(tunnel), undefined);
  await test.control.operator.changeProject(bob.projectId, { suspended: false });
  await test.control.operator.changeUser(bob.userId, { suspended: true });
  assert.equal(await find(tunnel), undefined);
});

it('a deleted project takes its policies with it', async () => {
  const bob = await test.signUp(`${unique()}@example.com`);
  const { name } = await create(bob, { password: 'long enough' });
  await attach(bob, name);
  await bob.call('POST', pathOf(bob, name, '/tokens'), { name: 'ci' });
  await bob.call('DELETE', `/api/projects/${bob.projectId}`, { name: 'default' });
  const left = test.store.db.selectFrom('access_policies').select('id').where('project_id', '=', bob.projectId);
  assert.deepEqual(await left.execute(), []);
});

it('keys can be rotated, and given up: sessions end then, the rest stays', async () => {
  const { name } = await create(ann, { provider });
  const tunnel = await attach(ann, name);
  const newKey = randomBytes(32);
  const both = createKeyRing([newKey, key]);
  const { visitKey } = (await find(tunnel))!;
  const resealed = await resealAll(test.store.db, both, test.time.now);
  assert.ok(resealed >= 2);
  assert.equal(await resealAll(test.store.db, both, test.time.now), 0);
  const open = await findSignInPolicy(test.store.db, createKeyRing([newKey]), hostOf(tunnel), test.time.now);
  assert.deepEqual(open!.visitKey, visitKey);
  const last = createKeyRing([randomBytes(32)]);
  await test.store.write((trx) => giveUpSealed(trx, last, test.time.now));
  const fresh = (await findSignInPolicy(test.store.db, last, hostOf(tunnel), test.time.now))!;
  assert.deepEqual([fresh.visitKey.equals(visitKey), fresh.providerSecretSealed], [false, null]);
  assert.ok((await readSealed(test.store.db, test.time.now)).every((sealed) => last.canOpen(sealed)));
});
