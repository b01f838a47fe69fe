import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startFakeEdge } from '../carry/fixture/edge.ts';
import { accountRoutes, createCli, startFakeApi } from '../test-kit.ts';

const fixture = fileURLToPath(new URL('../mcp/fixture/server.mjs', import.meta.url));
const url = 'https://calm-otter.tunnels.localhost';
const domain = { name: 'calm-otter.tunnels.localhost', apexName: '', verified: true, url };
const policy = { people: [], provider: null, password: false, tokenCount: 0, linkCount: 0, rules: [], members: true };
const missing = { status: 404, body: 'Access policy not found' };

interface World {
  readonly accessPolicy?: string;
  readonly routes?: Parameters<typeof startFakeApi>[1];
}

async function world(t: TestContext, { accessPolicy = 'mcp-members', routes = {} }: World = {}) {
  const edge = await startFakeEdge();
  t.after(() => edge[Symbol.asyncDispose]());
  const tunnel = {
    name: 'otter',
    type: 'http',
    status: 'Created',
    ingressDomains: [domain],
    expiresAt: '2026-11-20T10:05:00.000Z',
  };
  const api = await startFakeApi(t, {
    ...accountRoutes,
    'GET /api/access-policies/mcp-members': { body: { ...policy, name: 'mcp-members' } },
    'POST /api/quick-tunnels': { body: { ...tunnel, token: 'secret', url: edge.url, accessPolicy } },
    'DELETE /api/tunnels/otter': { status: 204 },
    ...routes,
  });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok', FIXTURE_TOKEN: 'fixture-secret' });
  const sent = (method: string, path: string) => api.calls.filter((call) => call.method === method && call.path.startsWith(path));
  return { edge, cli, sent };
}

const command = ['--', process.execPath, fixture] as const;

test('mcp makes the policy for members at the first start, and opens the tunnel with it', async (t) => {
  const { edge, cli, sent } = await world(t, {
    routes: {
      'GET /api/access-policies/mcp-members': missing,
      'POST /api/access-policies': { body: { ...policy, name: 'mcp-members' } },
    },
  });
  const running = cli.start(['mcp', ...command, 'session', 'stderr']);
  await edge.next();
  running.signal('SIGINT');
  const { code, stdout, stderr } = await running.ended;
  assert.equal(code, 0, stderr);
  assert.deepEqual(sent('POST', '/api/access-policies')[0]?.body, { name: 'mcp-members', members: true });
  assert.equal((sent('POST', '/api/quick-tunnels')[0]!.body as { accessPolicy: string }).accessPolicy, 'mcp-members');
  assert.match(stderr, /^Visitors sign in under access policy mcp-members: Members\.$/m);
  assert.match(stdout, /otter opened urls=\S+ upstream=MCP server node/);
  assert.match(stderr, /^server: started with \*\*\*$/m, 'standard error, without the secret');
  assert.equal(sent('DELETE', '/api/tunnels/otter').length, 1);
});

test('mcp does not carry a tunnel that the server left without the policy', async (t) => {
  const { cli, sent } = await world(t, { accessPolicy: '' });
  const { code, stderr } = await cli.run(['mcp', ...command, 'session']);
  assert.equal(code, 7, stderr);
  assert.match(stderr, /the tunnel otter does not have access policy mcp-members/);
  assert.equal(sent('DELETE', '/api/tunnels/otter').length, 1);
});

for (const [what, rule, text] of [
  ['everybody', [{ path: '/*', action: 'public' }], /access policy team admits everybody/],
  ['nobody', [{ path: '/*', action: 'deny' }], /access policy team admits nobody/],
] as const)
  test(`mcp refuses a policy that admits ${what}`, async (t) => {
    const routes = { 'GET /api/access-policies/team': { body: { ...policy, name: 'team', rules: rule } } };
    const { cli, sent } = await world(t, { routes });
    const { code, stderr } = await cli.run(['mcp', '--access', 'team', ...command, 'session']);
    assert.equal(code, 2, stderr);
    assert.match(stderr, text);
    assert.equal(sent('POST', '/api/quick-tunnels').length, 0);
  });

for (const [what, words, reason] of [
  ['does not exist', ['--', '/no/such/program', '--api-key', 'hidden'], /'\/no\/such\/program' \(no such program\)/],
  ['ends at once', ['--', process.execPath, fixture, 'session', 'crash'], /\(exit code 3\)/],
] as const)
  test(`mcp opens no tunnel for a server that ${what}`, async (t) => {
    const { cli, sent } = await world(t);
    const { code, stderr } = await cli.run(['mcp', ...words]);
    assert.equal(code, 3, stderr);
    assert.match(stderr, reason);
    assert.doesNotMatch(stderr, /hidden/);
    assert.equal(sent('POST', '/api/').length, 0);
  });

test('an option of the server before -- is refused with the form of the command', async (t) => {
  const { cli } = await world(t);
  const { code, stderr } = await cli.run(['mcp', 'npx', '-y', 'server']);
  assert.equal(code, 2);
  assert.match(stderr, /unknown option '-y'/);
  assert.match(stderr, /underpass mcp --help/);
});
