// Limits count behind the decision whether a caller may make a call: nobody uses up what belongs to somebody else.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Role } from '@underpass/rules/entity/entity.ts';
import { rateLimits } from '@underpass/rules/limits.ts';
import { createTestControl, type SignedUp, type TestClient, type TestControl } from '../test-kit.ts';

let test: TestControl;
let ann: SignedUp;

beforeEach(async () => {
  test = await createTestControl({ limited: true });
  ann = await test.signUp('ann@example.com');
});
afterEach(() => test.close());

async function createToken(role: Role): Promise<TestClient> {
  const body = { name: 'ci', role, expiresInDays: 30 };
  const { token } = await ann.call<{ token: string }>('POST', `/api/tokens?project=${ann.projectId}`, body);
  return test.client(token);
}

async function signInAgain(): Promise<TestClient> {
  const browser = test.client();
  const url = new URL(await test.control.operator.createLoginLink(ann.email));
  await browser.call('POST', '/auth/login', new URLSearchParams({ token: url.pathname.split('/').at(-1)! }));
  return browser;
}

async function addMember(role: Role): Promise<SignedUp> {
  const member = await test.signUp(`${role}@example.com`);
  await test.addMember(ann.projectId, member.userId, role);
  return member;
}

type Send = (who: TestClient) => Promise<Response>;

/** How often each status came. Sends in batches, for speed. */
async function statusesOf(who: TestClient, times: number, send: Send): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (let sent = 0; sent < times; sent += 100) {
    const batch = await Promise.all(Array.from({ length: Math.min(100, times - sent) }, () => send(who)));
    for (const { status } of batch) counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

const read: Send = (who) => who.send('GET', '/api/regions');
const rename: Send = (who) => who.send('PATCH', `/api/projects/${ann.projectId}`, { name: 'Renamed' });
const statusOf = async (who: TestClient, send: Send): Promise<number> => (await send(who)).status;

describe('requests', () => {
  it('of a token stop at its own limit, and neither another token of its maker, nor the maker, nor the address is stopped', async () => {
    const [flooding, other] = [await createToken('viewer'), await createToken('viewer')];
    const { points } = rateLimits.apiPerCredential;
    assert.deepEqual(await statusesOf(flooding, rateLimits.apiPerAddress.points + 100, read), {
      200: points,
      429: rateLimits.apiPerAddress.points + 100 - points,
    });
    assert.deepEqual([await statusOf(other, read), await statusOf(ann, read)], [200, 200]);
    assert.equal((await test.client().send('GET', '/api/meta')).status, 200);
  });

  it('of many tokens stop at their maker’s limit for tokens, and the maker’s sessions go on', async () => {
    const { points } = rateLimits.apiPerCredential;
    const tokens = [await createToken('viewer'), await createToken('owner'), await createToken('member')];
    for (const token of tokens.slice(0, 2)) assert.deepEqual(await statusesOf(token, points, read), { 200: points });
    assert.equal(await statusOf(tokens[2]!, read), 429);
    assert.deepEqual([await statusOf(ann, read), await statusOf(await signInAgain(), read)], [200, 200]);
  });

  it('with wrong tokens stop at the limit of their address', async () => {
    let count = 0;
    const guess: Send = () => test.client(`upt_${String(count++).padStart(43, 'A')}`, '198.51.100.7').send('GET', '/api/user');
    const { points } = rateLimits.apiPerAddress;
    assert.deepEqual(await statusesOf(ann, points + 10, guess), { 401: points, 429: 10 });
    assert.equal(await statusOf(ann, read), 200);
  });
});

describe('live views', () => {
  const openViews = async (who: TestClient, count: number): Promise<Response[]> =>
    Promise.all(Array.from({ length: count }, () => who.send('GET', `/api/events?project=${ann.projectId}`)));
  const close = (views: readonly Response[]) => Promise.all(views.map((view) => view.body?.cancel()));

  it('of tokens leave room for the sessions of their maker', async () => {
    const views: Response[] = [];
    for (let i = 0; i < 3; i++) views.push(...(await openViews(await createToken('viewer'), 30)));
    assert.equal(views.filter((view) => view.status === 200).length, 40);
    const own = await openViews(ann, 21);
    assert.deepEqual(own.map((view) => view.status).slice(19), [200, 429]);
    await close([...views, ...own]);
    const [again] = await openViews(ann, 1);
    assert.equal(again?.status, 200, 'a closed view still counts');
    await close([again!]);
  });
});

describe('refused calls', () => {
  it('use up no limit of the project or of another member', async () => {
    const viewer = await addMember('viewer');
    const promote: Send = (who) => who.send('PATCH', `/api/members/${ann.userId}?project=${ann.projectId}`, { role: 'viewer' });
    const { points } = rateLimits.changePerCredential;
    assert.deepEqual(await statusesOf(viewer, points, promote), { 403: points });
    assert.equal(await statusOf(ann, rename), 200);
  });

  it('have a limit of their own, and what the caller may do goes on', async () => {
    const token = await createToken('viewer');
    const { points } = rateLimits.refusedPerCredential;
    assert.deepEqual(await statusesOf(token, points + 10, rename), { 403: points, 429: 10 });
    assert.equal(await statusOf(token, read), 200);
    assert.equal(await statusOf(ann, (who) => who.send('DELETE', `/api/tunnels/none?project=${ann.projectId}`)), 404);
  });

  it('from another site’s page count for nobody', async () => {
    const foreign: Send = (who) => who.send('GET', '/api/user', undefined, { 'sec-fetch-site': 'cross-site' });
    assert.deepEqual(await statusesOf(ann, rateLimits.refusedPerCredential.points + 10, foreign), {
      403: rateLimits.refusedPerCredential.points + 10,
    });
    assert.equal(await statusOf(ann, (who) => who.send('GET', '/api/tunnels?project=none')), 404);
  });
});

describe('changes', () => {
  it('of one member or token stop neither another member nor the maker of the token', async () => {
    const [admin, token] = [await addMember('admin'), await createToken('member')];
    const change: Send = (who) => who.send('DELETE', `/api/security-groups/none?project=${ann.projectId}`);
    const { points } = rateLimits.changePerCredential;
    for (const who of [admin, token]) await statusesOf(who, points + 1, change);
    const create: Send = (who) =>
      who.send('POST', `/api/security-groups?project=${ann.projectId}`, { name: 'office', allow: ['192.0.2.1'] });
    assert.deepEqual(
      [await statusOf(admin, create), await statusOf(token, create), await statusOf(ann, create)],
      [429, 429, 200],
    );
  });
});

describe('requests that another site’s page causes', () => {
  it('do not use up what its visitor’s address has', async () => {
    const { points } = rateLimits.apiPerAddress;
    const image: Send = (who) => who.send('GET', '/api/meta', undefined, { 'sec-fetch-site': 'cross-site', origin: '' });
    const visitor = test.client(undefined, '198.51.100.7');
    assert.deepEqual(await statusesOf(visitor, points + 1, image), { 200: points, 429: 1 });
    assert.equal((await visitor.send('GET', '/api/meta')).status, 200);
  });
});
