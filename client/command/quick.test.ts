import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { outcome, startUpstream, visit } from '../carry/fixture/carrying.ts';
import { type FakeEdgeOptions, startFakeEdge } from '../carry/fixture/edge.ts';
import { type ApiCall, accountRoutes, binary, createCli, startFakeApi } from '../test-kit.ts';

const address = 'https://calm-otter-abcdefghij.tunnels.localhost';
const otter: Tunnel = {
  name: 'calm-otter-abcdefghij',
  type: 'http',
  region: 'local',
  regionDescription: 'This machine',
  status: 'Created',
  ingressDomains: [{ name: 'calm-otter-abcdefghij.tunnels.localhost', apexName: '', verified: true, url: address }],
  connectedClients: 0,
  dataPlaneHost: 'local.localhost',
  proxyProtocol: '',
  securityGroup: 'default',
  updatedAt: '2026-11-20T10:00:00.000Z',
  expiresAt: '2026-11-20T10:05:00.000Z',
  token: 'secret',
  url: '',
  underpassVersion: '0.1.0',
};

interface WorldOptions {
  readonly edge?: FakeEdgeOptions;
  readonly tunnel?: Partial<Tunnel>;
  readonly deletion?: { readonly status: number; readonly body?: unknown };
  readonly routes?: Parameters<typeof startFakeApi>[1];
  readonly env?: Readonly<Record<string, string>>;
}

async function world(t: TestContext, { edge: edgeOptions, tunnel, deletion = { status: 204 }, routes, env }: WorldOptions = {}) {
  const edge = await startFakeEdge(edgeOptions);
  t.after(() => edge[Symbol.asyncDispose]());
  const upstream = await startUpstream((socket) => socket.end('from the upstream'));
  t.after(() => upstream[Symbol.asyncDispose]());
  const api = await startFakeApi(t, {
    ...accountRoutes,
    'POST /api/quick-tunnels': { body: { ...otter, url: edge.url, ...tunnel } },
    [`DELETE /api/tunnels/${otter.name}`]: deletion,
    ...routes,
  });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok', ...env });
  const made = () => api.calls.filter(({ path }) => path.startsWith('/api/quick-tunnels'));
  const deleted = () => api.calls.filter(({ method }) => method === 'DELETE').map(({ path }) => path);
  return { edge, api, cli, made, deleted, port: String(upstream.port) };
}

const bodyOf = (call: ApiCall | undefined) => call?.body as Record<string, unknown>;

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`http PORT makes a tunnel, carries it, prints its address, and ${signal} deletes it`, async (t) => {
    const { edge, cli, made, deleted, port } = await world(t);
    const running = cli.start(['http', port]);
    const stream = visit(await edge.next());
    stream.end();
    assert.equal(await outcome(stream), 'from the upstream');
    running.signal(signal);
    const { code, stdout, stderr } = await running.ended;
    assert.equal(code, 0, stderr);
    assert.match(
      stdout,
      new RegExp(
        `Z ${otter.name} opened urls=${address} upstream=all domains → http://localhost:${port} \\(Host: localhost:${port}\\)\n`,
      ),
    );
    assert.deepEqual(deleted(), [`/api/tunnels/${otter.name}?project=p1&unkept=1`]);
    assert.equal(made()[0]?.path, '/api/quick-tunnels?project=p1');
    assert.match(String(bodyOf(made()[0]).key), /^[\w-]{43}$/);
    assert.deepEqual(Object.keys(bodyOf(made()[0])), ['key']);
  });
}

test('the options reach the server, and a kept tunnel is not deleted', async (t) => {
  const { edge, cli, made, deleted, port } = await world(t, { tunnel: { expiresAt: undefined } as never });
  const options = ['--name', 'api', '--domain', 'a.example.com', '--group', 'office', '--region', 'eu1', '--keep'];
  const running = cli.start(['http', `127.0.0.1:${port}`, ...options]);
  await edge.next();
  running.signal('SIGTERM');
  assert.equal((await running.ended).code, 0, running.stderr());
  const { key: _, ...rest } = bodyOf(made()[0]);
  assert.deepEqual(rest, { name: 'api', region: 'eu1', ingressDomains: ['a.example.com'], securityGroup: 'office', keep: true });
  assert.deepEqual(deleted(), []);
});

test('--for reaches the server in seconds, and the command ends by itself', {
  skip: binary && 'a clock of the test',
}, async (t) => {
  const { edge, cli, made, deleted, port } = await world(t);
  let now = Date.now();
  const running = cli.start(['http', port, '--for', '2h'], { io: { now: () => now } });
  await edge.next();
  assert.equal(bodyOf(made()[0]).lastsSeconds, 7200);
  now += 7200_000;
  assert.equal((await running.ended).code, 0, running.stderr());
  assert.equal(deleted().length, 1);
});

test('somebody kept the tunnel meanwhile: it stays, and the command says so', async (t) => {
  const { edge, cli, port } = await world(t, { deletion: { status: 409, body: `Tunnel '${otter.name}' is kept` } });
  const running = cli.start(['http', port]);
  await edge.next();
  running.signal('SIGTERM');
  const { code, stderr } = await running.ended;
  assert.equal(code, 0);
  const host = /^The service gets Host: localhost:\d+; --upstream-host same keeps the public name\.\n/;
  assert.match(stderr, host);
  assert.equal(stderr.replace(host, ''), `The tunnel ${otter.name} is kept: underpass connect ${otter.name} carries it.\n`);
});

test('a tunnel that cannot be carried is deleted at once', async (t) => {
  const { cli, deleted, port } = await world(t);
  const { code, stderr } = await cli.run(['http', port, '--health', `127.0.0.1:${port}`]);
  assert.equal(code, 3);
  assert.match(stderr, /\(the port is in use\)/);
  assert.match(stderr, /code: port-in-use/);
  assert.equal(deleted().length, 1);
});

test('a server that fails at the end is a warning, not an error', async (t) => {
  const { edge, cli, port } = await world(t, { deletion: { status: 503, body: 'Busy.' } });
  const running = cli.start(['http', port]);
  await edge.next();
  running.signal('SIGTERM');
  const { code, stderr } = await running.ended;
  assert.equal(code, 0);
  assert.match(stderr, /^warning: the tunnel was not deleted \(Busy\.\): the server deletes it in 5 minutes$/m);
});

test('without a sign-in it begins one, and goes on by itself', async (t) => {
  const { edge, cli, made, port } = await world(t, {
    env: { UNDERPASS_API_TOKEN: '' },
    routes: {
      'POST /auth/device': {
        body: {
          deviceCode: 'd',
          userCode: 'ABCD-EFGH',
          verificationUrl: 'http://127.0.0.1/activate',
          expiresIn: 600,
          interval: 0,
        },
      },
      'POST /auth/device/token': { body: { token: 'fresh', email: 'ada@example.com', projects: [] } },
    },
  });
  const running = cli.start(['http', port]);
  await edge.next();
  assert.match(
    running.stderr(),
    /http:\/\/127\.0\.0\.1\/activate[\s\S]*ABCD-EFGH[\s\S]*Signed in to .* as ada@example\.com, project Acme\.\nThe service gets Host: /,
  );
  assert.equal(made()[0]?.headers.authorization, 'Bearer fresh');
  running.signal('SIGTERM');
  assert.equal((await running.ended).code, 0);
});

test('a refused token of the environment is an error: nobody could confirm a sign-in', async (t) => {
  const { cli, port } = await world(t, { routes: { 'GET /api/projects': { status: 401, body: 'Sign in first.' } } });
  const { code, stderr } = await cli.run(['http', port]);
  assert.equal(code, 4);
  assert.match(stderr, /code: not-signed-in/);
});

test('one folder has one key; a second command there has its own while the first runs', async (t) => {
  const { edge, cli, made, port } = await world(t);
  const [one, other] = [join(cli.home, 'one'), join(cli.home, 'other')];
  await mkdir(one);
  await mkdir(other);
  const start = async (cwd: string) => {
    const running = cli.start(['http', port], { cwd });
    await edge.next();
    await running.seen(/connected/);
    return running;
  };
  const stop = async (running: Awaited<ReturnType<typeof start>>) => {
    running.signal('SIGTERM');
    await running.ended;
  };
  const first = await start(one);
  await stop(await start(one));
  await stop(await start(other));
  await stop(first);
  await stop(await start(one));
  const keys = made().map((call) => bodyOf(call).key);
  assert.equal(new Set(keys.slice(0, 3)).size, 3);
  assert.equal(keys[3], keys[0]);
  const sent = JSON.stringify(made());
  for (const hidden of [one, other, cli.home]) assert.equal(sent.includes(hidden), false);
});

test('a token that is refused at once ends the command: somebody deleted the tunnel', async (t) => {
  const { cli, made, deleted, port } = await world(t, { edge: { token: 'another' } });
  const { code, stderr } = await cli.run(['http', port]);
  assert.equal(code, 7);
  assert.match(stderr, /code: tunnel-deleted/);
  assert.equal(made().length, 1);
  assert.deepEqual(deleted(), []);
});

test('a token that was rotated is replaced, and one that an edge does not know yet is tried again', {
  skip: binary && 'the server of the test',
}, async (t) => {
  let known = 'none';
  const { edge, cli, made, port } = await world(t, {
    edge: { refuse: () => (known === 'secret' ? null : { code: 'token-refused' }) },
    tunnel: { token: 'old' },
    routes: {
      [`GET /api/tunnels/${otter.name}`]: () => {
        known = 'secret';
        return { body: { ...otter, url: edge.url } };
      },
    },
  });
  const running = cli.start(['http', port]);
  await edge.next();
  assert.equal(made().length, 1);
  running.signal('SIGTERM');
  assert.equal((await running.ended).code, 0, running.stderr());
});

test('after a sleep as long as the lease it opens the tunnel again', { skip: binary && 'a clock of the test' }, async (t) => {
  let now = Date.now();
  let token = 'secret';
  const { edge, cli, made, port } = await world(t, {
    edge: { refuse: () => (token === 'secret' ? null : { code: 'token-refused' }) },
    routes: {
      'POST /api/quick-tunnels': () => {
        token = 'secret';
        return { body: { ...otter, url: edge.url } };
      },
    },
  });
  const running = cli.start(['http', port], { io: { now: () => now } });
  const carrier = await edge.next();
  await edge.next();
  now += 3600_000;
  token = 'gone';
  for (const { socket } of [...edge.carriers, carrier]) socket.destroy();
  await running.seen(/token-refused/);
  await edge.next();
  assert.equal(made().length, 2);
  running.signal('SIGTERM');
  assert.equal((await running.ended).code, 0, running.stderr());
});

const wrongUse: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['an option of the other form', ['http', '3000', '--url', 'https://a'], /--url is not for a quick tunnel/],
  ['a quick option without a port', ['http', '--name', 'a'], /--name is for a quick tunnel: underpass http PORT/],
  ['a domain before the upstream', ['http', 'a.example.com=http://b'], /is not a port, HOST:PORT or URL/],
  ['a port that is none', ['http', '99999'], /Port must be from 1 to 65535, is '99999'/],
  ['a word that is no port', ['http', 'abc'], /'abc' is not a port, HOST:PORT or URL/],
  ['http without a port', ['http'], /give the port of your service/],
  ['two ports', ['http', '3000', '3001'], /Expected 1 argument but got 2|too many arguments/],
  ['a time without a unit', ['http', '3000', '--for', '2'], /'2' is not a time such as 30m, 2h or 1d/],
  ['an end of a kept tunnel', ['http', '3000', '--for', '2h', '--keep'], /cannot be used with option/],
];
for (const [name, argv, message] of wrongUse) {
  test(`refuses ${name} with exit code 2`, async (t) => {
    const { code, stderr } = await (await createCli(t)).run(argv);
    assert.match(stderr, message);
    assert.equal(code, 2);
  });
}

test('http PORT inspects by default, and --no-inspect switches it off', async (t) => {
  const { edge, cli, port } = await world(t);
  for (const [argv, inspects] of [
    [['http', port], true],
    [['http', port, '--no-inspect'], false],
  ] as const) {
    const running = cli.start(argv);
    await edge.next();
    await running.seen(/ connected /);
    running.signal('SIGTERM');
    const { code, stdout } = await running.ended;
    assert.deepEqual([code, / inspecting: http:\/\/127\.0\.0\.1:\d+\/ /.test(stdout)], [0, inspects]);
  }
});

test('an inspector that cannot start as asked ends the command before a tunnel exists', async (t) => {
  const { cli, made, port } = await world(t);
  const taken = await startUpstream(() => {});
  t.after(() => taken[Symbol.asyncDispose]());
  for (const [flags, why] of [
    [['--inspect-port', String(taken.port)], /Choose another port with --inspect-port/],
    [['--inspect', '--webhook-secret-file', '/missing'], /\/missing \(no such file\)/],
  ] as const) {
    const { code, stderr } = await cli.run(['http', port, ...flags]);
    assert.match(stderr, why);
    assert.notEqual(code, 0);
  }
  assert.deepEqual(made(), []);
});

test('--print url writes the address alone, once the edges hold the route and this one names it', async (t) => {
  let status = 'Progressing';
  const { edge, api, cli, port } = await world(t, {
    edge: { info: { urls: [address] } },
    tunnel: { status: 'Progressing' },
    routes: { [`GET /api/tunnels/${otter.name}`]: () => ({ body: { ...otter, status } }) },
  });
  const running = cli.start(['http', port, '--print', 'url']);
  await edge.next();
  const asked = () => api.calls.filter(({ method, path }) => method === 'GET' && path.startsWith('/api/tunnels/')).length;
  while (asked() < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(running.stdout(), '');
  status = 'Created';
  await running.seen(/^https:/);
  await running.seen(/ ready urls=/);
  running.signal('SIGTERM');
  const { code, stdout, stderr } = await running.ended;
  assert.equal(code, 0, stderr);
  assert.equal(stdout, `${address}\n`);
  assert.match(stderr, / opened urls=[\s\S]* connected [\s\S]* ready urls=[\s\S]* stopped\n$/);
});

test('--json reports ready with all addresses', async (t) => {
  const urls = [address, 'https://api.example.com'];
  const ingressDomains = urls.map((url) => ({ ...otter.ingressDomains[0]!, url }));
  const { cli, port } = await world(t, { edge: { info: { urls } }, tunnel: { ingressDomains } });
  const running = cli.start(['http', port, '--json']);
  await running.seen(/"ready"/);
  running.signal('SIGTERM');
  const { stdout } = await running.ended;
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; urls?: readonly string[] });
  assert.deepEqual(events.find(({ event }) => event === 'ready')?.urls, urls);
});

test('--print url ends with an error and no output where a tunnel cannot start', async (t) => {
  const gone = await world(t, { edge: { refuse: () => ({ code: 'token-refused' }) } });
  const deleted = await gone.cli.run(['http', gone.port, '--print', 'url']);
  assert.deepEqual([deleted.code, deleted.stdout], [7, ''], deleted.stderr);
  const given = ['http', '--url', gone.edge.url, '--upstream', gone.port, '--print', 'url'];
  const refused = await gone.cli.run(given, { env: { UNDERPASS_TOKEN: 'wrong' } });
  assert.deepEqual([refused.code, refused.stdout], [8, ''], refused.stderr);
  assert.match(refused.stderr, /^error: .*The token is refused: edge\.localhost:\d+\n {2}fix: It was rotated/m);
  const [domain] = otter.ingressDomains;
  const waiting = await world(t, { tunnel: { ingressDomains: [{ ...domain!, apexName: 'example.com', verified: false }] } });
  const unverified = await waiting.cli.run(['http', waiting.port, '--print', 'url']);
  assert.deepEqual([unverified.code, unverified.stdout], [7, ''], unverified.stderr);
  assert.match(unverified.stderr, /underpass domains verify example\.com/);
  assert.equal(waiting.deleted().length, 1);
});
