// API tokens, sign-in from a terminal, and the audit log by their calls.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { ApiToken, AuditPage, DeviceStart, DeviceToken, NewApiToken, OwnToken } from '@underpass/rules/entity/resource.ts';
import { rateLimits } from '@underpass/rules/limits.ts';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';

let test: TestControl;
let ann: SignedUp;
let count = 0;

before(async () => {
  test = await createTestControl();
  await test.control.operator.ensureOperator();
});
after(() => test.close());
// Tests move the clock, which ends sessions.
beforeEach(async () => {
  ann = await person();
});

const dayMs = 24 * 3600_000;
const person = (): Promise<SignedUp> => test.signUp(`person-${++count}@example.com`);
const refusal = async (response: Response): Promise<[number, string]> => [response.status, await response.text()];
const tokensOf = (owner: SignedUp): string => `/api/tokens?project=${owner.projectId}`;
const createToken = (who: SignedUp, owner: SignedUp, body: object): Promise<NewApiToken> =>
  who.call('POST', tokensOf(owner), { name: 'ci', ...body });
const tunnelsStatus = async (token: string, owner: SignedUp): Promise<number> =>
  (await test.client(token).send('GET', `/api/tunnels?project=${owner.projectId}`)).status;

describe('API tokens', () => {
  it('are shown once, stored as a hash, listed with their last use, and revoked', async () => {
    const made = await createToken(ann, ann, { role: 'member', expiresInDays: 30 });
    assert.match(made.token, /^upt_[A-Za-z0-9_-]{43}$/);
    const rows = JSON.stringify(await test.store.db.selectFrom('api_tokens').selectAll().execute());
    assert.ok(!rows.includes(made.token));
    const { token: _, ...shown } = made;
    assert.deepEqual(await ann.call('GET', tokensOf(ann)), [shown]);
    assert.equal(shown.usedAt, null);
    assert.equal(await tunnelsStatus(made.token, ann), 200);
    const [used] = await ann.call<ApiToken[]>('GET', tokensOf(ann));
    assert.equal(used?.usedAt, new Date(test.time.now).toISOString());
    await ann.call('DELETE', `/api/tokens/${made.id}?project=${ann.projectId}`);
    assert.equal(await tunnelsStatus(made.token, ann), 401);
  });

  it('end at the chosen time, and after a year at the latest', async () => {
    const bob = await person();
    const [month, year] = [
      await createToken(bob, bob, { role: 'viewer', expiresInDays: 30 }),
      await createToken(bob, bob, { role: 'viewer' }),
    ];
    test.time.now += 30 * 24 * 3600_000;
    assert.deepEqual([await tunnelsStatus(month.token, bob), await tunnelsStatus(year.token, bob)], [401, 200]);
    test.time.now += 335 * 24 * 3600_000;
    assert.equal(await tunnelsStatus(year.token, bob), 401);
  });

  it('do not live longer by being used', async () => {
    const bob = await person();
    const { token } = await createToken(bob, bob, { role: 'viewer', expiresInDays: 2 });
    test.time.now += dayMs;
    assert.equal(await tunnelsStatus(token, bob), 200);
    test.time.now += dayMs;
    assert.equal(await tunnelsStatus(token, bob), 401);
  });

  it('never do more than the user who made them may do now', async () => {
    const admin = await person();
    await test.addMember(ann.projectId, admin.userId, 'admin');
    const { token } = await createToken(admin, ann, { role: 'admin' });
    const program = test.client(token);
    const make = (name: string) => program.send('POST', `/api/tunnels?project=${ann.projectId}`, { name, region: 'local' });
    assert.equal((await make('by-token-1')).status, 200);
    await ann.call('PATCH', `/api/members/${admin.userId}?project=${ann.projectId}`, { role: 'viewer' });
    assert.equal((await make('by-token-2')).status, 403);
    const [project] = await program.call<{ role: string }[]>('GET', '/api/projects');
    assert.equal(project?.role, 'viewer');
  });

  it('see only their own project, not other projects of the user who made them', async () => {
    const bob = await person();
    const second = await bob.call<{ id: string }>('POST', '/api/projects', { name: 'Second' });
    const { token } = await createToken(bob, bob, { role: 'owner' });
    const program = test.client(token);
    assert.deepEqual(
      (await program.call<{ id: string }[]>('GET', '/api/projects')).map((each) => each.id),
      [bob.projectId],
    );
    assert.equal((await program.send('GET', `/api/tunnels?project=${second.id}`)).status, 404);
  });

  it('are refused when wrong, cut, or of another scheme, even beside a valid session', async () => {
    const { token } = await createToken(ann, ann, { role: 'viewer' });
    for (const authorization of [
      `Bearer ${token.slice(0, -1)}`,
      `Bearer ${token}A`,
      `Basic ${token}`,
      token,
      'Bearer',
      `Bearer ${'x'.repeat(9000)}`,
    ]) {
      assert.equal((await ann.send('GET', '/api/user', undefined, { authorization })).status, 401, authorization.slice(0, 30));
    }
    assert.equal((await test.client().send('GET', `/api/user?token=${token}`)).status, 401, 'not in the query');
  });

  it('stop working when the user who made them is suspended', async () => {
    const bob = await person();
    const { token } = await createToken(bob, bob, { role: 'owner' });
    await test.control.operator.changeUser(bob.userId, { suspended: true });
    assert.equal(await tunnelsStatus(token, bob), 401);
  });

  it('cannot be made above the caller’s role, without a name, for an invalid time, or beyond the quota', async () => {
    const member = await person();
    await test.addMember(ann.projectId, member.userId, 'member');
    assert.equal((await member.send('POST', tokensOf(ann), { name: 'x', role: 'admin' })).status, 403);
    for (const body of [
      { name: '', role: 'viewer' },
      { name: 'x', role: 'god' },
      { name: 'x', role: 'viewer', expiresInDays: 0 },
      { name: 'x', role: 'viewer', expiresInDays: 366 },
      { name: 'x', role: 'viewer', expiresInDays: 1.5 },
    ]) {
      assert.equal((await ann.send('POST', tokensOf(ann), body)).status, 400, JSON.stringify(body));
    }
    const bob = await person();
    await test.control.operator.changeProject(bob.projectId, { limits: { apiTokens: 1 } });
    await createToken(bob, bob, { role: 'viewer' });
    assert.deepEqual(await refusal(await bob.send('POST', tokensOf(bob), { name: 'x', role: 'viewer' })), [
      409,
      'This project may have at most 1 API tokens. Delete some, or ask the operator for more.',
    ]);
  });

  it('may be deleted by their own member, and by members who may remove members', async () => {
    const [member, other] = [await person(), await person()];
    for (const each of [member, other]) await test.addMember(ann.projectId, each.userId, 'member');
    const mine = await createToken(member, ann, { role: 'member' });
    const path = `/api/tokens/${mine.id}?project=${ann.projectId}`;
    assert.equal((await other.send('DELETE', path)).status, 403);
    assert.equal((await member.send('DELETE', path)).status, 204);
    assert.equal((await ann.send('DELETE', path)).status, 404);
  });
});

describe('CLI tokens', () => {
  const signInTerminal = async (who: SignedUp, owner = who, role = 'viewer'): Promise<string> => {
    const { deviceCode, userCode } = await test.client().call<DeviceStart>('POST', '/auth/device', { name: 'laptop' });
    await who.call('POST', `/api/device/${userCode}/approve?project=${owner.projectId}`, { role });
    return (await test.client().call<DeviceToken>('POST', '/auth/device/token', { deviceCode })).token;
  };
  const own = (who: SignedUp) => who.call<OwnToken[]>('GET', '/api/account/tokens');

  it('of a viewer are listed for their owner, who revokes them', async () => {
    const [owner, viewer] = [await person(), await person()];
    await test.addMember(owner.projectId, viewer.userId, 'viewer');
    const token = await signInTerminal(viewer, owner);
    const [listed, ...more] = await own(viewer);
    const { id, createdAt, expiresAt } = listed!;
    const at = (days: number) => new Date(test.time.now + days * dayMs).toISOString();
    assert.deepEqual([more, createdAt, expiresAt], [[], at(0), at(90)]);
    assert.deepEqual([listed!.name, listed!.role, listed!.cli, listed!.projectName], ['laptop', 'viewer', true, 'default']);
    const stranger = await person();
    assert.equal((await stranger.send('DELETE', `/api/account/tokens/${id}`)).status, 404);
    await viewer.call('DELETE', `/api/account/tokens/${id}`);
    assert.equal(await tunnelsStatus(token, owner), 401);
    const [entry] = (await owner.call<AuditPage>('GET', `/api/audit?project=${owner.projectId}`)).entries;
    assert.deepEqual([entry!.action, entry!.actor, entry!.target], ['api-token.delete', viewer.email, 'laptop']);
  });

  it('live for 90 days after their last use', async () => {
    const bob = await person();
    const [used, unused] = [await signInTerminal(bob), await signInTerminal(bob)];
    test.time.now += 60 * dayMs;
    assert.equal(await tunnelsStatus(used, bob), 200);
    test.time.now += 89 * dayMs;
    assert.deepEqual([await tunnelsStatus(used, bob), await tunnelsStatus(unused, bob)], [200, 401]);
    test.time.now += 90 * dayMs;
    assert.equal(await tunnelsStatus(used, bob), 401);
  });

  it('end at the server when their terminal logs out; an API token for programs does not', async () => {
    const bob = await person();
    const token = await signInTerminal(bob);
    assert.equal((await test.client(token).send('POST', '/auth/logout')).status, 204);
    assert.equal(await tunnelsStatus(token, bob), 401);
    const api = await createToken(bob, bob, { role: 'viewer' });
    const [status, words] = await refusal(await test.client(api.token).send('POST', '/auth/logout'));
    assert.deepEqual([status, words.includes('stays valid')], [403, true]);
    assert.equal(await tunnelsStatus(api.token, bob), 200);
  });

  // Live views end at once too; they would notice at their next check, up to 20 s later.
  it('end with the other sign-ins of their user; this session and tokens for programs stay', { timeout: 10_000 }, async () => {
    const bob = await person();
    const [token, api] = [await signInTerminal(bob), await createToken(bob, bob, { role: 'viewer' })];
    const url = new URL(await test.control.operator.createLoginLink(bob.email));
    const elsewhere = test.client();
    await elsewhere.call('POST', '/auth/login', new URLSearchParams({ token: url.pathname.split('/').at(-1)! }));
    const { deviceCode, userCode } = await test.client().call<DeviceStart>('POST', '/auth/device', { name: 'thief' });
    await bob.call('POST', `/api/device/${userCode}/approve?project=${bob.projectId}`, { role: 'viewer' });
    const live = await elsewhere.send('GET', `/api/events?project=${bob.projectId}`);
    const reader = live.body!.getReader();
    await bob.call('POST', '/api/account/end-other-sign-ins');
    for (let done = false; !done; ) done = (await reader.read()).done;
    assert.equal((await elsewhere.send('GET', '/api/user')).status, 401);
    assert.deepEqual([await tunnelsStatus(token, bob), await tunnelsStatus(api.token, bob)], [401, 200]);
    assert.equal((await test.client().send('POST', '/auth/device/token', { deviceCode })).status, 410, 'approved, not fetched');
    assert.equal((await bob.call<unknown[]>('GET', '/api/sessions')).length, 1);
  });

  it('do not come back when a suspension is lifted', async () => {
    const bob = await person();
    const [token, api] = [await signInTerminal(bob), await createToken(bob, bob, { role: 'viewer' })];
    await test.control.operator.changeUser(bob.userId, { suspended: true });
    await test.control.operator.changeUser(bob.userId, { suspended: false });
    assert.deepEqual([await tunnelsStatus(token, bob), await tunnelsStatus(api.token, bob)], [401, 200]);
  });
});

describe('sign-in from a terminal', () => {
  const start = (): Promise<DeviceStart> => test.client().call('POST', '/auth/device', { name: 'laptop' });
  const poll = (deviceCode: string): Promise<Response> => test.client().send('POST', '/auth/device/token', { deviceCode });
  const approve = (who: SignedUp, userCode: string, { project = who.projectId, role = 'member' } = {}): Promise<Response> =>
    who.send('POST', `/api/device/${userCode}/approve?project=${project}`, { role });

  it('gives the CLI a token once a user has approved the code that it shows', async () => {
    const { deviceCode, userCode, verificationUrl, expiresIn, interval } = await start();
    assert.equal(verificationUrl, 'http://localhost:8400/activate');
    assert.deepEqual([expiresIn, interval], [600, 5]);
    assert.equal((await poll(deviceCode)).status, 428);
    const device = await ann.call<{ name: string }>('GET', `/api/device/${userCode.toLowerCase().replace('-', '')}`);
    assert.equal(device.name, 'laptop');
    assert.equal((await approve(ann, userCode)).status, 204);
    const { token, email, projects } = (await (await poll(deviceCode)).json()) as DeviceToken;
    assert.deepEqual([email, projects], [ann.email, [{ id: ann.projectId, name: 'default', role: 'member' }]]);
    assert.equal(await tunnelsStatus(token, ann), 200);
    assert.equal((await poll(deviceCode)).status, 410, 'once');
  });

  it('can be denied, expires, and is decided once', async () => {
    const denied = await start();
    await ann.call('POST', `/api/device/${denied.userCode}/deny`);
    assert.equal((await poll(denied.deviceCode)).status, 410);
    assert.equal((await approve(ann, denied.userCode)).status, 404);
    const late = await start();
    await approve(ann, late.userCode);
    test.time.now += 10 * 60_000;
    assert.equal((await poll(late.deviceCode)).status, 410);
    assert.equal((await poll('nonsense')).status, 410);
  });

  it('belongs to one of two people who approve it at the same moment, and stays decided', async () => {
    const bob = await person();
    const { deviceCode, userCode } = await start();
    const statuses = [await Promise.all([approve(ann, userCode), approve(bob, userCode)])].flat().map(({ status }) => status);
    assert.deepEqual(statuses.toSorted(), [204, 404]);
    const winner = statuses[0] === 204 ? ann : bob;
    for (const each of [ann, bob]) {
      assert.equal((await each.send('POST', `/api/device/${userCode}/deny`)).status, 404);
      assert.equal((await each.send('GET', `/api/device/${userCode}`)).status, 404);
      assert.equal((await approve(each, userCode)).status, 404);
    }
    assert.equal(((await (await poll(deviceCode)).json()) as DeviceToken).email, winner.email);
  });

  it('gives no role above the approver’s and no foreign project, and refuses approval by an API token', async () => {
    const [viewer, stranger] = [await person(), await person()];
    await test.addMember(ann.projectId, viewer.userId, 'viewer');
    const { userCode } = await start();
    assert.equal((await approve(viewer, userCode, { project: ann.projectId, role: 'member' })).status, 403);
    assert.equal((await approve(stranger, userCode, { project: ann.projectId })).status, 404);
    const { token } = await createToken(ann, ann, { role: 'owner' });
    assert.equal(
      (await test.client(token).send('POST', `/api/device/${userCode}/approve?project=${ann.projectId}`, { role: 'owner' }))
        .status,
      403,
    );
  });

  it('gives no more than the approver’s role at the time when the CLI fetches the token', async () => {
    const member = await person();
    await test.addMember(ann.projectId, member.userId, 'member');
    const { deviceCode, userCode } = await start();
    await approve(member, userCode, { project: ann.projectId });
    await ann.call('PATCH', `/api/members/${member.userId}?project=${ann.projectId}`, { role: 'viewer' });
    const { projects } = (await (await poll(deviceCode)).json()) as DeviceToken;
    assert.equal(projects[0]?.role, 'viewer');
    const gone = await start();
    await approve(member, gone.userCode, { project: ann.projectId, role: 'viewer' });
    await ann.call('DELETE', `/api/members/${member.userId}?project=${ann.projectId}`);
    assert.equal((await poll(gone.deviceCode)).status, 410);
  });

  it('stops a flood of codes from many addresses, but not callers from other networks', async () => {
    const limited = await createTestControl({ limited: true });
    const ask = async (address: string) =>
      (await limited.client(undefined, address).send('POST', '/auth/device', { name: 'x' })).status;
    const { deviceStartOverall, deviceStartPerNetwork } = rateLimits;
    const many = deviceStartOverall.points + deviceStartPerNetwork.points;
    for (let i = 0; i < many; i++) assert.equal(await ask(`2001:db8:1:${i.toString(16)}::1`), 200);
    assert.deepEqual([await ask('2001:db8:1:ffff::1'), await ask('2001:db8:2::1'), await ask('192.0.2.9')], [429, 200, 200]);
    await limited.close();
  });

  it('counts polls by sign-in, so that another one from the same address goes on', async () => {
    const limited = await createTestControl({ limited: true });
    const cli = limited.client();
    const begin = async (): Promise<string> => (await cli.call<DeviceStart>('POST', '/auth/device', { name: 'x' })).deviceCode;
    const ask = async (deviceCode: string) => (await cli.send('POST', '/auth/device/token', { deviceCode })).status;
    const [greedy, patient] = [await begin(), await begin()];
    for (let i = 0; i < rateLimits.devicePoll.points; i++) assert.equal(await ask(greedy), 428);
    assert.deepEqual([await ask(greedy), await ask(patient), await ask('A'.repeat(43))], [429, 428, 410]);
    await limited.close();
  });

  it('stops a user who guesses codes', async () => {
    const limited = await createTestControl({ limited: true });
    const bob = await limited.signUp('bob@example.com');
    let last = 0;
    for (let i = 0; i < 21; i++) last = (await bob.send('GET', '/api/device/BBBB-BBBB')).status;
    assert.equal(last, 429);
    await limited.close();
  });
});

describe('the audit log', () => {
  const pageOf = (who: SignedUp, query = ''): Promise<AuditPage> =>
    who.call('GET', `/api/audit?project=${who.projectId}${query}`);

  it('has a row for every change: who, what, when, from where', async () => {
    const bob = await person();
    const p = `?project=${bob.projectId}`;
    await bob.call('POST', `/api/tunnels${p}`, { name: 'shop', region: 'local' });
    await bob.call('PATCH', `/api/tunnels/shop${p}`, { proxyProtocol: 'v1' });
    await bob.call('POST', `/api/tunnels/shop/token/rotate${p}`);
    await bob.call('DELETE', `/api/tunnels/shop${p}`);
    await bob.call('POST', `/api/domains${p}`, { name: `audited-${count}.com` });
    await bob.call('DELETE', `/api/domains/audited-${count}.com${p}`);
    await bob.call('POST', `/api/security-groups${p}`, { name: 'office', allow: ['192.0.2.1'] });
    await bob.call('PATCH', `/api/security-groups/office${p}`, { allow: ['192.0.2.2'] });
    await bob.call('DELETE', `/api/security-groups/office${p}`);
    await bob.call('POST', `/api/invitations${p}`, { email: 'x@example.com', role: 'viewer' });
    const { token } = await createToken(bob, bob, { role: 'member' });
    await test.client(token, '203.0.113.77').call('POST', `/api/tunnels${p}`, { name: 'by-token', region: 'local' });
    const { entries, next } = await pageOf(bob);
    assert.equal(next, null);
    assert.deepEqual(entries.map((each) => each.action).reverse(), [
      ...['tunnel.create', 'tunnel.update', 'tunnel.rotate-token', 'tunnel.delete', 'domain.create', 'domain.delete'],
      ...['security-group.create', 'security-group.update', 'security-group.delete', 'invitation.create', 'api-token.create'],
      'tunnel.create',
    ]);
    const [latest] = entries;
    assert.deepEqual(
      [latest?.actor, latest?.target, latest?.address, latest?.detail.by],
      [bob.email, 'by-token', '203.0.113.77', 'api-token'],
    );
    assert.ok(!JSON.stringify(entries).includes(token));
  });

  it('has no row for a refused call', async () => {
    const bob = await person();
    await bob.send('POST', `/api/tunnels?project=${bob.projectId}`, { name: 'bad', region: 'local', ingressDomains: ['co.uk'] });
    assert.deepEqual((await pageOf(bob)).entries, []);
  });

  it('is read in pages of 50, each entry once, also when more arrive', async () => {
    const bob = await person();
    const make = (i: number) =>
      bob.call('POST', `/api/security-groups?project=${bob.projectId}`, { name: `g${i}`, allow: ['192.0.2.1'] });
    for (let i = 0; i < 60; i++) await make(i);
    const first = await pageOf(bob);
    await make(60);
    const second = await pageOf(bob, `&before=${first.next}`);
    assert.deepEqual([first.entries.length, second.entries.length, second.next], [50, 10, null]);
    const newer = await pageOf(bob, `&after=${second.previous}`);
    assert.deepEqual(
      [newer.entries.length, newer.entries[0]?.target, newer.entries.at(-1)?.target, newer.next],
      [50, 'g59', 'g10', newer.entries.at(-1)!.id],
    );
    const newest = await pageOf(bob, `&after=${newer.previous}`);
    assert.deepEqual(
      [newest.entries.length, newest.entries[0]?.target, newest.previous],
      [50, 'g60', null],
      'the newest page is full',
    );
    assert.deepEqual(
      [...first.entries, ...second.entries].map((each) => each.target),
      Array.from({ length: 60 }, (_, i) => `g${59 - i}`),
    );
  });

  it('is filtered by noun, action, actor and time', async () => {
    const bob = await person();
    const p = `?project=${bob.projectId}`;
    await bob.call('POST', `/api/tunnels${p}`, { name: 'a', region: 'local' });
    test.time.now += 60_000;
    const middle = new Date(test.time.now).toISOString();
    await bob.call('DELETE', `/api/tunnels/a${p}`);
    await bob.call('POST', `/api/security-groups${p}`, { name: 'Kitchen', allow: ['192.0.2.1'] });
    const count = async (query: string) => (await pageOf(bob, query)).entries.length;
    assert.equal(await count('&action=tunnel'), 2);
    assert.equal(await count('&action=tunnel.delete'), 1);
    assert.equal(await count('&action=domain,security-group'), 1);
    assert.equal(await count('&action=%25'), 0, 'a pattern is no wildcard');
    assert.equal(await count(`&q=KITCHEN%20${bob.email.toUpperCase()}`), 1);
    assert.equal(await count('&q=%25'), 0, 'a pattern is no wildcard');
    assert.equal(await count(`&actor=${bob.email}`), 3);
    assert.equal(await count('&actor=ann@example.com'), 0);
    assert.equal(await count(`&from=${middle}`), 2);
    assert.equal(await count(`&to=${middle}`), 1);
    const later = new Date(test.time.now + 1).toISOString();
    assert.deepEqual([await count(`&from=${later}`), await count(`&to=${later}`)], [0, 3], 'from is inclusive, to is not');
    assert.deepEqual([await count('&from=0001-01-01'), await count('&to=0001-01-01')], [3, 0]);
    assert.deepEqual([await count('&from=9999-12-31'), await count('&to=9999-12-31')], [0, 3]);
    assert.equal((await bob.send('GET', `/api/audit${p}&from=yesterday`)).status, 400);
    const { token } = await createToken(bob, bob, { role: 'member', name: 'ci"_%' });
    await test.client(token).call('POST', `/api/tunnels${p}`, { name: 'b', region: 'local' });
    assert.deepEqual([await count('&by=api-token'), await count('&by=api-token:ci%22_%25')], [1, 1]);
    assert.deepEqual([await count('&by=api-token:ci'), await count('&by=api-token:ci%22__')], [0, 0]);
    assert.equal((await bob.send('GET', `/api/audit${p}&by=webhook`)).status, 400);
    assert.equal((await pageOf(bob)).entries[0]!.actorName, 'Ann', 'the first name of the actor');
  });

  it('is exported as CSV that no spreadsheet runs', async () => {
    const bob = await person();
    const evil = '=cmd|" /C calc"!A0';
    await bob.call('POST', `/api/tokens?project=${bob.projectId}`, { name: evil, role: 'viewer' });
    const response = await bob.send('GET', `/api/audit/export?project=${bob.projectId}`);
    assert.match(response.headers.get('content-disposition') ?? '', /attachment; filename="audit\.csv"/);
    const [header, row] = (await response.text()).split('\r\n');
    assert.equal(header, 'at,actor,action,target,address,detail');
    assert.ok(row?.includes(`"'=cmd|"" /C calc""!A0"`), row ?? 'no row');
  });
});
