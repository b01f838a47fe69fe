import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type ApiCall, accountRoutes, createCli, startFakeApi } from '../test-kit.ts';

const tunnel = {
  name: 'shop',
  type: 'http',
  region: 'local',
  regionDescription: 'This machine',
  status: 'Created',
  ingressDomains: [
    { name: 'shop.example.com', apexName: 'example.com', verified: true, url: 'https://shop.example.com' },
    { name: 'www.example.com', apexName: 'example.com', verified: false, url: 'https://www.example.com' },
  ],
  connectedClients: 0,
  dataPlaneHost: 'local.localhost',
  proxyProtocol: '',
  securityGroup: 'default',
  updatedAt: '2026-11-20T10:00:00.000Z',
  token: 'tunnel-token-secret',
  url: 'https://local.localhost:8443',
  underpassVersion: '0.1.0',
};

async function signedIn(t: TestContext, routes: Parameters<typeof startFakeApi>[1] = {}) {
  const api = await startFakeApi(t, {
    ...accountRoutes,
    'GET /api/tunnels': { body: [tunnel] },
    'GET /api/tunnels/shop': { body: tunnel },
    'GET /api/regions': {
      body: [
        { name: 'full', available: false },
        { name: 'local', available: true },
        { name: 'eu1', available: true },
      ],
    },
    'POST /api/tunnels': { status: 201 },
    'PATCH /api/tunnels/shop': { body: tunnel },
    'DELETE /api/tunnels/shop': { status: 204 },
    ...routes,
  });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  const sent = () => api.calls.find(({ method }) => method !== 'GET');
  return { cli, sent };
}

test('ls, tunnels ls and tunnels list are the same', async (t) => {
  const { cli } = await signedIn(t);
  const { stdout } = await cli.run(['tunnels', 'list']);
  for (const argv of [['ls'], ['tunnels', 'ls']]) assert.equal((await cli.run(argv)).stdout, stdout);
});

test('token show prints only the token', async (t) => {
  const { cli } = await signedIn(t);
  assert.equal((await cli.run(['token', 'show', 'shop'])).stdout, `${tunnel.token}\n`);
  assert.deepEqual(JSON.parse((await cli.run(['token', 'show', 'shop', '--json'])).stdout), {
    tunnel: 'shop',
    token: tunnel.token,
  });
});

test('token show names a role that may not read it', async (t) => {
  const { token: _, ...hidden } = tunnel;
  const { cli } = await signedIn(t, { 'GET /api/tunnels/shop': { body: hidden } });
  const { code, stderr } = await cli.run(['token', 'show', 'shop']);
  assert.match(stderr, /code: token-hidden/);
  assert.equal(code, 5);
});

for (const [flags, query] of [
  [['--yes'], ''],
  [['--yes', '--now'], '&overlap=0'],
] as const) {
  test(`token rotate ${flags.join(' ')} prints the new token`, async (t) => {
    const rotated = { body: { ...tunnel, token: 'the-next-token' } };
    const { cli, sent } = await signedIn(t, { 'POST /api/tunnels/shop/token/rotate': rotated });
    const { stdout, stderr } = await cli.run(['token', 'rotate', 'shop', ...flags]);
    assert.equal(stdout, 'the-next-token\n', stderr);
    assert.equal(sent()?.path, `/api/tunnels/shop/token/rotate?project=p1${query}`);
  });
}

test('token rotate asks first', async (t) => {
  const { cli, sent } = await signedIn(t);
  assert.equal((await cli.run(['token', 'rotate', 'shop'])).code, 2);
  assert.equal(sent(), undefined);
});

test('list and show never print a token, not even as JSON', async (t) => {
  const { cli } = await signedIn(t);
  for (const argv of [
    ['tunnels', 'list'],
    ['tunnels', 'show', 'shop'],
    ['tunnels', 'list', '--json'],
    ['tunnels', 'show', 'shop', '--json'],
  ]) {
    const { code, stdout } = await cli.run(argv);
    assert.equal(code, 0);
    assert.match(stdout, /shop\.example\.com/);
    assert.equal(stdout.includes(tunnel.token), false);
  }
});

test('show names the status, the unverified domain and the next command', async (t) => {
  const { cli } = await signedIn(t);
  const { stdout } = await cli.run(['tunnels', 'show', 'shop']);
  assert.match(stdout, /Status: +Disconnected/);
  assert.match(stdout, /www\.example\.com {2}\(unverified\)/);
  assert.match(stdout, /Next: underpass connect shop --upstream http:\/\/127\.0\.0\.1:8080/);
});

test('add sends what spec 7 says, in the first available region', async (t) => {
  const { cli, sent } = await signedIn(t);
  assert.equal((await cli.run(['tunnels', 'add', 'shop', '--domain', 'a.example.com', '--domain', 'b.example.com'])).code, 0);
  assert.equal(sent()?.path, '/api/tunnels?project=p1');
  assert.deepEqual(sent()?.body, {
    name: 'shop',
    region: 'local',
    ingressDomains: ['a.example.com', 'b.example.com'],
    proxyProtocol: '',
    type: 'http',
  });
});

test('add --generate-domain sends no domains', async (t) => {
  const { cli, sent } = await signedIn(t);
  await cli.run(['tunnels', 'add', 'shop', '--generate-domain', '--region', 'eu1', '--proxy-protocol', 'v2']);
  assert.deepEqual(sent()?.body, { name: 'shop', region: 'eu1', ingressDomains: [], proxyProtocol: 'v2', type: 'http' });
});

const wrongUse = [
  ['tunnels', 'add', 'shop'],
  ['tunnels', 'add', 'shop', '--generate-domain', '--domain', 'a.example.com'],
  ['tunnels', 'add', 'shop', '--type', 'tcp', '--generate-domain'],
  ['tunnels', 'add', 'shop', '--type', 'ingress', '--generate-domain'],
  ['tunnels', 'add'],
  ['tunnels', 'update', 'shop', '--domain', 'a.example.com', '--add-domain', 'b.example.com'],
  ['tunnels', 'update', 'shop'],
  ['tunnels', 'rm', 'shop'],
  ['tunnels', 'frobnicate'],
  ['tunnels'],
];
for (const argv of wrongUse) {
  test(`'${argv.join(' ')}' changes nothing and ends with exit code 2`, async (t) => {
    const { cli, sent } = await signedIn(t);
    assert.equal((await cli.run(argv)).code, 2);
    assert.equal(sent(), undefined);
  });
}

test('update keeps every field that no flag names', async (t) => {
  const { cli, sent } = await signedIn(t);
  await cli.run(['tunnels', 'update', 'shop', '--add-domain', 'https://new.example.com/', '--rm-domain', 'www.example.com']);
  assert.deepEqual(sent()?.body, {
    ingressDomains: ['shop.example.com', 'new.example.com'],
    proxyProtocol: '',
    securityGroup: 'default',
  });
});

test("update keeps another client's change", async (t) => {
  let current = { ...tunnel, updatedAt: '2026-11-01T10:00:00.000Z' };
  const saved: unknown[] = [];
  const { cli } = await signedIn(t, {
    'GET /api/tunnels/shop': () => ({ body: current }),
    'PATCH /api/tunnels/shop': ({ headers, body }: ApiCall) => {
      saved.push(body);
      if (saved.length === 1) current = { ...current, proxyProtocol: 'v2', updatedAt: '2026-11-01T10:00:01.000Z' };
      return headers['if-match'] === `"${current.updatedAt}"` ? { body: current } : { status: 412, body: 'Changed.' };
    },
  });
  assert.equal((await cli.run(['tunnels', 'update', 'shop', '--group', 'office'])).code, 0);
  assert.equal(saved.length, 2);
  assert.partialDeepStrictEqual(saved[1], { proxyProtocol: 'v2', securityGroup: 'office' });
});

test('the error for a missing region or domain names it and the command that lists them', async (t) => {
  const { cli, sent } = await signedIn(t);
  const region = await cli.run(['tunnels', 'add', 'shop', '--generate-domain', '--region', 'mars']);
  assert.equal(region.code, 6);
  assert.match(region.stderr, /^error: Region 'mars' not found\n {2}fix: Run "underpass regions"\.\n/);
  const domain = await cli.run(['tunnels', 'update', 'shop', '--rm-domain', 'other.example.com']);
  assert.equal(domain.code, 6);
  assert.match(
    domain.stderr,
    /^error: shop has no ingress domain 'other\.example\.com'\n {2}fix: Run "underpass tunnels show shop"/,
  );
  assert.equal(sent(), undefined);
});

test('update warns when PROXY protocol is turned on', async (t) => {
  const { cli } = await signedIn(t);
  const { stderr } = await cli.run(['tunnels', 'update', 'shop', '--proxy-protocol', 'v1']);
  assert.match(stderr, /will render the whole service inaccessible/);
});

test('rm --yes does not ask', async (t) => {
  const { cli, sent } = await signedIn(t);
  assert.equal((await cli.run(['tunnels', 'rm', 'shop', '--yes'])).code, 0);
  assert.equal(sent()?.method, 'DELETE');
  assert.equal(sent()?.path, '/api/tunnels/shop?project=p1');
});

test('a name cannot reach another path of the API', async (t) => {
  const { cli, sent } = await signedIn(t);
  await cli.run(['tunnels', 'rm', '../domains/example.com', '--yes']);
  assert.equal(sent()?.path, '/api/tunnels/..%2Fdomains%2Fexample.com?project=p1');
});

test('every command accepts the name of a tunnel in upper case', async (t) => {
  const { cli } = await signedIn(t);
  for (const argv of [
    ['tunnels', 'show', 'Shop'],
    ['tunnels', 'update', 'SHOP', '--proxy-protocol', 'v2'],
    ['tunnels', 'rm', 'Shop', '-y'],
    ['connect', 'Shop', '--print', 'cli', '--upstream', 'http://10.0.0.7'],
  ]) {
    const { code, stderr } = await cli.run(argv);
    assert.equal(code, 0, stderr);
  }
});

test('update removes a domain given in another spelling', async (t) => {
  const { cli, sent } = await signedIn(t);
  const { code, stderr } = await cli.run(['tunnels', 'update', 'shop', '--rm-domain', 'WWW.example.com.']);
  assert.equal(code, 0, stderr);
  assert.deepEqual(sent()?.body, { ingressDomains: ['shop.example.com'], proxyProtocol: '', securityGroup: 'default' });
});
