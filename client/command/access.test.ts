import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { accountRoutes, binary, createCli, startFakeApi } from '../test-kit.ts';

const policy = {
  name: 'team',
  updatedAt: '2026-11-01T10:00:00Z',
  tunnels: ['shop'],
  rules: [{ path: '/health', action: 'public' }],
  members: true,
  people: ['ann@example.com', '*@firm.com'],
  provider: null,
  password: false,
  tokenHeader: 'authorization',
  origins: [],
  tokenCount: 1,
  linkCount: 0,
  sessionHours: 24,
  log: true,
};
const answer = {
  outcome: 'refuse',
  securityGroup: { name: 'default', allowed: true, rule: '0.0.0.0/0' },
  rule: null,
  why: ['The policy does not admit eve@example.com.'],
};

const program = {
  ...{ id: 'p1', name: 'Scribe', site: null, host: 'shop.example.com', who: '', method: 'password' },
  ...{ connectedAt: '2026-11-20T10:00:00Z', endsAt: '2026-11-21T10:00:00Z' },
};

const signIns = ['oidc', 'agent', 'newer'].map((method) => ({
  ...{ id: method, at: '2026-11-20T10:00:00Z', policy: 'team', host: 'shop.example.com', who: 'ann@example.com', method },
  ...{ allowed: method !== 'oidc', reason: 'The provider answered denied.', address: '192.0.2.7' },
}));

async function signedIn(t: TestContext) {
  const api = await startFakeApi(t, {
    ...accountRoutes,
    'GET /api/access-policies': { body: [policy, { ...policy, name: 'open', rules: [{ path: '/*', action: 'public' }] }] },
    'GET /api/access-policies/team': { body: policy },
    'POST /api/access-policies': { body: policy },
    'PATCH /api/access-policies/team': { body: policy },
    'POST /api/access-policies/team/test': { body: answer },
    'POST /api/access-policies/team/sign-out': { status: 204 },
    'POST /api/access-policies/team/tokens': { body: { id: '1', name: 'ci', token: 'secret-token' } },
    'GET /api/access-policies/team/programs': { body: [program] },
    'GET /api/access-sign-ins': { body: { entries: signIns, next: null } },
    'DELETE /api/access-policies/team/programs/p1': { status: 204 },
    'POST /api/access-policies/team/links': { body: { id: '2', name: 'customer', urls: ['https://u.test/access/link#s'] } },
  });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  const fileWith = async (text: string) => {
    const path = join(cli.home, 'secret.txt');
    await writeFile(path, text);
    await chmod(path, 0o600);
    return path;
  };
  return { cli, fileWith, sent: () => api.calls.find(({ method }) => method !== 'GET') };
}

test('list says whom each policy admits, also by public paths', async (t) => {
  const { cli } = await signedIn(t);
  const { stdout } = await cli.run(['access', 'list']);
  assert.match(stdout, /team +Members, 2 people, 1 token, everybody on public paths +shop/);
  assert.match(stdout, /open +Everybody +shop/);
});

test('programs are listed, and one is ended', async (t) => {
  const { cli, sent } = await signedIn(t);
  const { stdout } = await cli.run(['access', 'programs', 'list', 'team']);
  assert.match(stdout, /p1 +Scribe +Password +shop\.example\.com/);
  await cli.run(['access', 'programs', 'rm', 'team', 'p1', '--yes']);
  assert.deepEqual([sent()?.method, sent()?.path?.split('?')[0]], ['DELETE', '/api/access-policies/team/programs/p1']);
});

test('the sign-in log says how, in the words of the dashboard; a way that a newer server knows stays as it is', async (t) => {
  const { cli } = await signedIn(t);
  const { stdout } = await cli.run(['access', 'sign-ins']);
  assert.match(stdout, /Sign-in provider +shop\.example\.com +192\.0\.2\.7 +The provider answered denied\./);
  assert.match(stdout, /Program +shop\.example\.com +192\.0\.2\.7 +Allowed/);
  assert.match(stdout, /newer +shop/);
});

test('add sends the policy, with path rules in the order given', async (t) => {
  const { cli, sent } = await signedIn(t);
  const rules = ['--rule', '/a=b/*=deny', '--rule', '/health=public'];
  await cli.run(['access', 'add', 'team', '--members', '--person', 'ann@example.com,*@firm.com', ...rules]);
  assert.deepEqual(sent()?.body, {
    name: 'team',
    members: true,
    people: ['ann@example.com', '*@firm.com'],
    rules: [
      { path: '/a=b/*', action: 'deny' },
      { path: '/health', action: 'public' },
    ],
  });
});

test('a password comes from a file, or from a terminal that asks twice and shows nothing', async (t) => {
  const { cli, fileWith, sent } = await signedIn(t);
  await cli.run(['access', 'set', 'team', '--password-file', await fileWith('correct horse\n')]);
  assert.deepEqual(sent()?.body, { password: 'correct horse' });
  assert.equal((await cli.run(['access', 'set', 'team', '--password', 'in the command line'])).code, 2);
  if (binary !== undefined) return;
  const typed = ['first', 'second'];
  const { code, stderr } = await cli.run(['access', 'set', 'team', '--password'], {
    io: {
      stdin: { isTTY: true, iterator: () => [] as never, [Symbol.asyncIterator]: () => [] as never },
      askSecret: async () => typed.shift() ?? '',
    },
  });
  assert.equal(code, 2);
  assert.match(stderr, /the two passwords differ/);
});

test('without a terminal --password asks for a file', async (t) => {
  const { cli, sent } = await signedIn(t);
  assert.match((await cli.run(['access', 'set', 'team', '--password'])).stderr, /give --password-file/);
  assert.equal(sent(), undefined);
});

test('set changes only what is named: people one by one, and what --no- removes', async (t) => {
  const people = await signedIn(t);
  await people.cli.run(['access', 'set', 'team', '--add-person', 'eve@example.com', '--rm-person', 'ANN@example.com']);
  assert.deepEqual(people.sent()?.body, { people: ['*@firm.com', 'eve@example.com'] });
  assert.equal(people.sent()?.headers['if-match'], `"${policy.updatedAt}"`);
  const removed = await signedIn(t);
  await removed.cli.run(['access', 'set', 'team', '--no-password', '--no-provider', '--no-members', '--no-log']);
  assert.deepEqual(removed.sent()?.body, { members: false, password: '', provider: false, log: false });
  assert.equal((await removed.cli.run(['access', 'set', 'team'])).code, 2);
});

test('a provider needs issuer and client id, and its secret is read from a file', async (t) => {
  const { cli, fileWith, sent } = await signedIn(t);
  assert.equal((await cli.run(['access', 'set', 'team', '--client-id', 'app'])).code, 2);
  const named = ['--issuer', 'https://id.example.com', '--client-id', 'app', '--provider-group', 'staff'];
  await cli.run(['access', 'set', 'team', ...named, '--client-secret-file', await fileWith('s3cret')]);
  const provider = { issuer: 'https://id.example.com', clientId: 'app', clientSecret: 's3cret', groups: ['staff'] };
  assert.deepEqual(sent()?.body, { provider });
});

test('test prints the outcome, the rule and why', async (t) => {
  const { cli, fileWith, sent } = await signedIn(t);
  const file = await fileWith('machine-token');
  const { stdout } = await cli.run(['access', 'test', 'team', 'https://shop.example.com/x', '--token-file', file]);
  for (const part of ['Refused', 'none matches: sign-in', answer.why[0]!]) assert.ok(stdout.includes(part), part);
  assert.deepEqual(sent()?.body, { url: 'https://shop.example.com/x', token: 'machine-token' });
});

test('a new token or link is alone on standard output, for a pipe', async (t) => {
  const { cli } = await signedIn(t);
  assert.equal((await cli.run(['access', 'tokens', 'add', 'team', 'ci', '--days', '30'])).stdout, 'secret-token\n');
  assert.equal((await cli.run(['access', 'links', 'add', 'team', 'customer'])).stdout, 'https://u.test/access/link#s\n');
});

test('sign-out asks first, and ends one person or everybody', async (t) => {
  const { cli, sent } = await signedIn(t);
  assert.notEqual((await cli.run(['access', 'sign-out', 'team'])).code, 0);
  await cli.run(['access', 'sign-out', 'team', 'eve@example.com', '--yes']);
  assert.deepEqual(sent()?.body, { email: 'eve@example.com' });
});
