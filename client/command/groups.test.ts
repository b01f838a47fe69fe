import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type ApiCall, accountRoutes, createCli, startFakeApi } from '../test-kit.ts';

const group = {
  name: 'office',
  updatedAt: '2026-11-01T10:00:00Z',
  assignmentCount: 2,
  allowList: ['192.0.2.0/24', '2001:db8::/32'],
};

async function signedIn(t: TestContext) {
  const api = await startFakeApi(t, {
    ...accountRoutes,
    'GET /api/security-groups': { body: [group] },
    'GET /api/security-groups/office': { body: group },
    'POST /api/security-groups': { status: 201 },
    'PATCH /api/security-groups/office': { body: group },
    'DELETE /api/security-groups/office': { status: 409, body: 'In use by: shop' },
  });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  return { cli, sent: () => api.calls.find(({ method }) => method !== 'GET') };
}

test('list counts rules and tunnels', async (t) => {
  const { cli } = await signedIn(t);
  assert.match((await cli.run(['groups', 'list'])).stdout, /office +2 +2 +2026/);
});

test('add needs at least one rule and sends them all', async (t) => {
  const { cli, sent } = await signedIn(t);
  assert.equal((await cli.run(['groups', 'add', 'office'])).code, 2);
  await cli.run(['groups', 'add', 'office', '--allow', '192.0.2.0/24', '--allow', '2001:db8::/32']);
  assert.deepEqual(sent()?.body, { name: 'office', allow: group.allowList });
});

test('set --allow replaces the list, and --add with --rm change it', async (t) => {
  const whole = await signedIn(t);
  await whole.cli.run(['groups', 'set', 'office', '--allow', '10.0.0.1']);
  assert.deepEqual(whole.sent()?.body, { allow: ['10.0.0.1'] });
  const part = await signedIn(t);
  await part.cli.run(['groups', 'set', 'office', '--add', '10.0.0.1, 10.0.0.2', '--rm', '192.0.2.9/24']);
  assert.deepEqual(part.sent()?.body, { allow: ['2001:db8::/32', '10.0.0.1', '10.0.0.2'] });
});

test("set --add keeps another client's change, and gives up after five conflicts", async (t) => {
  let current = group;
  let changes = 0;
  const save = ({ headers }: ApiCall) => {
    if (changes-- > 0) current = { ...group, updatedAt: `${changes}`, allowList: [...current.allowList, `10.1.0.${changes}`] };
    const isStale = headers['if-match'] !== `"${current.updatedAt}"`;
    return isStale ? { status: 412, body: "Security group 'office' has changed since you opened it." } : { body: current };
  };
  const show = () => ({ body: current });
  const routes = { 'GET /api/security-groups/office': show, 'PATCH /api/security-groups/office': save };
  const api = await startFakeApi(t, { ...accountRoutes, ...routes });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  changes = 1;
  assert.equal((await cli.run(['groups', 'set', 'office', '--add', '10.0.0.1'])).code, 0);
  assert.deepEqual(api.calls.findLast(({ method }) => method === 'PATCH')?.body, {
    allow: [...group.allowList, '10.1.0.0', '10.0.0.1'],
  });
  changes = 100;
  const { code, stderr } = await cli.run(['groups', 'set', 'office', '--add', '10.0.0.1']);
  assert.deepEqual([code, changes > 90], [7, true]);
  assert.match(
    stderr,
    /^error: Nothing was saved: Security group 'office' has changed since you opened it\.\n {2}fix: Run the command again\.\n/,
  );
});

test('set refuses to remove a missing rule, and a call without a change', async (t) => {
  const { cli, sent } = await signedIn(t);
  assert.equal((await cli.run(['groups', 'set', 'office', '--rm', '10.0.0.9'])).code, 6);
  assert.equal((await cli.run(['groups', 'set', 'office'])).code, 2);
  assert.equal(sent(), undefined);
});

test('rm of a group in use shows the text of the server', async (t) => {
  const { cli } = await signedIn(t);
  const { code, stderr } = await cli.run(['groups', 'rm', 'office', '--yes']);
  assert.equal(code, 7);
  assert.match(stderr, /In use by: shop/);
});
