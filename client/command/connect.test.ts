import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { renderConnectSnippet } from '@underpass/rules/connect/connect-form.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { maskToken } from '@underpass/rules/tunnel/token-mask.ts';
import { outcome, startUpstream, visit } from '../carry/fixture/carrying.ts';
import { startFakeEdge } from '../carry/fixture/edge.ts';
import { accountRoutes, binary, createCli, startFakeApi } from '../test-kit.ts';

const shop: Tunnel = {
  name: 'shop',
  type: 'http',
  region: 'local',
  regionDescription: 'This machine',
  status: 'Created',
  ingressDomains: [
    { name: 'a.example.com', apexName: 'example.com', verified: true, url: 'https://a.example.com' },
    { name: 'b.example.com', apexName: 'example.com', verified: true, url: 'https://b.example.com' },
  ],
  connectedClients: 0,
  dataPlaneHost: 'local.localhost',
  proxyProtocol: '',
  securityGroup: 'default',
  updatedAt: '2026-11-20T10:00:00.000Z',
  token: 'Zq3-token-of-the-tunnel',
  url: 'https://local.localhost:8443',
  underpassVersion: '0.1.0',
};
const cluster: Tunnel = { ...shop, name: 'cluster', type: 'ingress' };
const database: Tunnel = { ...shop, name: 'database', type: 'tcp', ingressDomains: [] };

async function signedIn(t: TestContext, tunnels: readonly Tunnel[]) {
  const routes = Object.fromEntries(tunnels.map((tunnel) => [`GET /api/tunnels/${tunnel.name}`, { body: tunnel }]));
  const api = await startFakeApi(t, { ...accountRoutes, ...routes });
  return createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
}

test('connect carries a tunnel by its name, and prints its public addresses', async (t) => {
  await using edge = await startFakeEdge();
  await using upstream = await startUpstream((socket) => socket.end('hello'));
  const cli = await signedIn(t, [{ ...shop, url: edge.url, token: 'secret' }]);
  const running = cli.start(['connect', 'shop', '--upstream', `http://127.0.0.1:${upstream.port}`]);
  const stream = visit(await edge.next());
  stream.end();
  assert.equal(await outcome(stream), 'hello');
  await running.seen(/https:\/\/a\.example\.com/);
  running.signal('SIGTERM');
  assert.equal((await running.ended).code, 0);
});

test('in a terminal the live status shows the addresses, and unverified ones are printed before it', {
  skip: binary && 'the terminal is made up',
}, async (t) => {
  await using edge = await startFakeEdge({ info: { tunnel: 'shop', urls: ['https://a.example.com'] } });
  const [a, b] = shop.ingressDomains;
  const ingressDomains = [a!, { ...b!, verified: false }];
  const cli = await signedIn(t, [{ ...shop, ingressDomains, url: edge.url, token: 'secret' }]);
  let screen = '';
  const drawn = Promise.withResolvers<void>();
  const write = (text: string) => {
    screen += text;
    if (screen.includes('connected to')) drawn.resolve();
  };
  const stdout = { write, isTTY: true, columns: () => 100, rows: () => 24, onResize: () => () => {} };
  const running = cli.start(['connect', 'shop'], { io: { stdout, takeKeys: () => () => {} } });
  await drawn.promise;
  running.signal('SIGTERM');
  const { stderr } = await running.ended;
  assert.match(screen, /https:\/\/a\.example\.com/);
  assert.equal(stderr, 'https://b.example.com  (unverified)\n');
});

for (const tab of ['kubernetes', 'systemd', 'cli'] as const) {
  test(`--print ${tab} prints exactly the dashboard's snippet`, async (t) => {
    const cli = await signedIn(t, [shop, cluster]);
    const http = await cli.run([
      'connect',
      'shop',
      '--print',
      tab,
      '--upstream',
      'http://10.0.0.7:9000',
      '--upstream',
      'b.example.com=http://10.0.0.8',
    ]);
    const upstreams = [
      { domain: 'a.example.com', upstream: 'http://10.0.0.7:9000' },
      { domain: 'b.example.com', upstream: 'http://10.0.0.8:80' },
    ];
    assert.equal(
      http.stdout,
      renderConnectSnippet({ ...shop, token: shop.token ?? '' }, { type: 'http', upstreams }, tab).text,
      http.stderr,
    );
    const preset = tab === 'kubernetes' ? ['--preset', 'istio'] : [];
    const ingress = await cli.run(['connect', 'cluster', '--print', tab, ...preset, '--mask-token']);
    const inputs = {
      type: 'ingress',
      upstream: '127.0.0.1',
      service: 'istio-ingress-gateway',
      namespace: 'istio-system',
    } as const;
    assert.equal(ingress.stdout, renderConnectSnippet({ ...cluster, token: maskToken(cluster.token ?? '') }, inputs, tab).text);
  });
}

test('--print kubernetes without an upstream names the service like the tunnel, not the pod itself', async (t) => {
  const cli = await signedIn(t, [shop]);
  const { stdout } = await cli.run(['connect', 'shop', '--print', 'kubernetes']);
  assert.match(stdout, /http:\/\/shop\.default\.svc\.cluster\.local:80/);
  assert.doesNotMatch(stdout, /127\.0\.0\.1/);
});

for (const tab of ['kubernetes', 'systemd', 'cli'] as const) {
  test(`--print ${tab} keeps --tickets-only`, async (t) => {
    const cli = await signedIn(t, [database]);
    const flags = ['--private', '--tickets-only', '--upstream', '127.0.0.1:5432'];
    const { stdout, stderr } = await cli.run(['connect', 'database', '--print', tab, ...flags]);
    assert.match(stdout, /--private\W+--tickets-only\W/, stderr);
  });
}

for (const tab of ['systemd', 'cli'] as const) {
  test(`--print ${tab} accepts an upstream for each port of an ingress tunnel, as the dashboard does`, async (t) => {
    const cli = await signedIn(t, [cluster]);
    const flags = ['--upstream', '80=127.0.0.1:8080', '--upstream', '443=10.0.0.7:8443'];
    const { stdout, stderr } = await cli.run(['connect', 'cluster', '--print', tab, ...flags]);
    const inputs = { type: 'ingress', upstream: '80=127.0.0.1:8080 443=10.0.0.7:8443', service: '', namespace: '' } as const;
    assert.equal(stdout, renderConnectSnippet({ ...cluster, token: cluster.token ?? '' }, inputs, tab).text, stderr);
  });
}

test('the printed shell lines, pasted into a shell, carry the tunnel', async (t) => {
  await using edge = await startFakeEdge();
  const cli = await signedIn(t, [{ ...shop, url: edge.url, token: 'secret' }]);
  const { stdout } = await cli.run(['connect', 'shop', '--print', 'cli']);
  const start = `underpass() { printf '%s\\n' "$@" > "$HOME/argv"; }\n${stdout}`;
  const shell = spawnSync('dash', ['-c', start], { env: { HOME: cli.home, PATH: process.env.PATH }, encoding: 'utf8' });
  assert.equal(shell.status, 0, shell.stderr);
  const argv = (await readFile(join(cli.home, 'argv'), 'utf8')).trim().split('\n');
  assert.equal(argv.join(' ').includes('secret'), false);
  const running = cli.start(argv);
  await edge.next();
  running.signal('SIGTERM');
  assert.equal((await running.ended).code, 0, running.stderr());
});

const refused: readonly (readonly [string, Tunnel, readonly string[], number, RegExp])[] = [
  ['a token that the role may not read', { ...shop, token: '' }, [], 5, /code: token-hidden/],
  [
    'a tunnel without a verified domain',
    { ...shop, status: 'Pending', ingressDomains: shop.ingressDomains.map((domain) => ({ ...domain, verified: false })) },
    [],
    7,
    /fix: Run "underpass domains verify example\.com", then try again\.\n {2}code: tunnel-waiting/,
  ],
  [
    'an upstream for a foreign domain',
    shop,
    ['--print', 'cli', '--upstream', 'c.example.com=http://a'],
    2,
    /is not an ingress domain of shop/,
  ],
  [
    'a domain left without an upstream',
    shop,
    ['--print', 'cli', '--upstream', 'a.example.com=http://a'],
    2,
    /no upstream for b\.example\.com/,
  ],
  [
    'an https upstream in a snippet, as spec 5 says',
    shop,
    ['--print', 'cli', '--upstream', 'https://a'],
    2,
    /Upstream must start with http:\/\//,
  ],
  [
    'an empty service name',
    { ...cluster, name: 'shop' },
    ['--print', 'kubernetes', '--preset', 'custom'],
    2,
    /Please provide an ingress service name/,
  ],
  [
    'a second upstream for a port',
    { ...cluster, name: 'shop' },
    ['--print', 'cli', '--upstream', '127.0.0.1', '--upstream', '443=127.0.0.1:8443'],
    2,
    /Two upstreams for port 443/,
  ],
  [
    'an upstream where Kubernetes names a service',
    { ...cluster, name: 'shop' },
    ['--print', 'kubernetes', '--upstream', '127.0.0.1'],
    2,
    /takes --preset, or --service and --namespace, not --upstream/,
  ],
  [
    'an option of the snippets where none is printed',
    shop,
    ['--preset', 'traefik', '--mask-token'],
    2,
    /--mask-token and --preset are for --print/,
  ],
  [
    'an option of the snippet for Kubernetes where another is printed',
    { ...cluster, name: 'shop' },
    ['--print', 'cli', '--service', 'web'],
    2,
    /--service is for --print kubernetes of an ingress tunnel/,
  ],
  [
    'a preset where the tunnel has no ingress controller behind it',
    shop,
    ['--print', 'kubernetes', '--preset', 'traefik'],
    2,
    /--preset is for --print kubernetes of an ingress tunnel/,
  ],
  [
    'an option that a snippet would leave out',
    shop,
    ['--print', 'cli', '--ca', 'ca.pem', '--health', ':1'],
    2,
    /--ca and --health are not for --print/,
  ],
  // A server that names another type would get plain text from a client that was told --private.
  ['--private where the server names another type', shop, ['--private'], 2, /shop is not private/],
  ['--private for a public port', { ...database, name: 'shop', port: 20_000 }, ['--private'], 2, /shop is not private/],
  ['a snippet of a tunnel that is not private', shop, ['--print', 'cli', '--private'], 2, /shop is not private/],
  ['--tickets-only without --private', shop, ['--print', 'cli', '--tickets-only'], 2, /--tickets-only is for --private/],
  [
    'a key file in a snippet, which would look for it elsewhere',
    { ...database, name: 'shop' },
    ['--print', 'systemd', '--private', '--key-file', 'k.pem'],
    2,
    /--key-file is not for --print/,
  ],
  ['an unknown preset', { ...cluster, name: 'shop' }, ['--print', 'kubernetes', '--preset', 'other'], 2, /preset/],
];
for (const [name, tunnel, argv, code, message] of refused) {
  test(`refuses ${name}`, async (t) => {
    const cli = await signedIn(t, [tunnel]);
    const result = await cli.run(['connect', 'shop', ...argv]);
    assert.match(result.stderr, message);
    assert.equal(result.code, code);
    assert.equal(result.stdout, '');
  });
}

test('the error for a tunnel that does not exist is the text of the server', async (t) => {
  const cli = await signedIn(t, []);
  const { code, stderr } = await cli.run(['connect', 'nothing']);
  assert.equal(code, 6);
  assert.match(stderr, /^error: Not found\.\n {2}fix: List what exists, .*\n {2}code: not-found\n$/);
});
