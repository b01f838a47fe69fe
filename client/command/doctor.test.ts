import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext, test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { createTestAuthority } from '@underpass/wire/fixture/certificate.ts';
import { startFakeEdge } from '../carry/fixture/edge.ts';
import { adviseTcp } from '../doctor/network-path.ts';
import { proxyHeaders } from '../doctor/upstream.ts';
import { accountRoutes, createCli, startFakeApi } from '../test-kit.ts';

/** A fixed port on which nothing listens: a free port from the system could belong to another test a moment later. */
const closedPort = 1;

async function findings(t: TestContext, argv: readonly string[], env: Record<string, string> = {}) {
  const cli = await createCli(t, { UNDERPASS_TOKEN: 'secret', ...env });
  const { code, stdout, stderr } = await cli.run(['doctor', '--json', ...argv]);
  assert.notEqual(stdout, '', stderr);
  const list = (JSON.parse(stdout) as { findings: { check: string; state: string; detail: string; fix?: string }[] }).findings;
  const find = (check: string) => list.find((finding) => finding.check === check);
  return { code, find, list };
}

async function listening(t: TestContext, server: Server | ReturnType<typeof createTcpServer>): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

test('without problems every line is ok and the exit code is 0', async (t) => {
  await using edge = await startFakeEdge();
  const port = await listening(
    t,
    createServer((_, response) => response.end('ok')),
  );
  const { code, list } = await findings(t, ['--url', edge.url, '--upstream', `http://127.0.0.1:${port}`]);
  assert.deepEqual(
    list.map(({ check, state }) => `${check} ${state}`),
    [
      'region DNS ok',
      'region TCP ok',
      'region congestion ok',
      'region TLS ok',
      'token ok',
      'upstream ok',
      'upstream PROXY protocol ok',
    ],
  );
  assert.equal(code, 0);
});

test('each problem has its fix below it, and the exit code is 10', async (t) => {
  const cli = await createCli(t);
  const { code, stdout, stderr } = await cli.run(['doctor', '--url', 'https://no-such-name.invalid']);
  assert.match(stdout, /^FAIL {2}region DNS: no-such-name\.invalid does not resolve .*\n {6}fix: /m);
  assert.match(stdout, /^skip {2}region TCP/m);
  assert.match(stderr, /code: doctor-found-problems/);
  assert.equal(code, 10);
});

test('the fix for a port that does not accept connections fits the reason', async (t) => {
  const { find } = await findings(t, ['--url', `https://edge.localhost:${closedPort}`]);
  assert.match(find('region TCP')?.detail ?? '', /connection refused/);
  assert.match(find('region TCP')?.fix ?? '', /^Start the region on this machine/);
  const advice = (host: string, tls: boolean, isProxy: boolean) =>
    adviseTcp({ what: 'server', host, tls }, `${host}:${tls ? 443 : 80}`, isProxy);
  assert.match(advice('eu1.example.com', true, false), /eu1\.example\.com:443 in the firewall, or set HTTPS_PROXY\.$/);
  assert.match(advice('eu1.example.com', false, false), /in the firewall\.$/);
  assert.match(advice('eu1.example.com', true, true), /^Check HTTPS_PROXY, or exempt/);
});

for (const [what, answer] of [
  ['a page of HTML', { body: '<html>', headers: { 'content-type': 'text/html' } }],
  ['404', { status: 404, body: '<html>', headers: { 'content-type': 'text/html' } }],
  ['other JSON', { body: { name: 'another product' } }],
] as const) {
  test(`a server that answers ${what} is not taken for Underpass`, async (t) => {
    const other = await startFakeApi(t, { 'GET /api/meta': answer, 'GET /healthz': { body: 'ok' } });
    const { find, code } = await findings(t, [], { UNDERPASS_SERVER: other.origin });
    assert.equal(find('server')?.state, 'problem');
    assert.match(find('server')?.detail ?? '', /is not Underpass/);
    assert.equal(code, 10);
  });
}

test('the problem of intercepted TLS names the issuer of the certificate', async (t) => {
  const proxy = await createTestAuthority('Example Corp Inspection CA');
  const leaf = await proxy.issue(['edge.localhost']);
  const port = await listening(t, createTlsServer({ key: leaf.keyPem, cert: leaf.chainPem }));
  for (const pin of ['', `#ca=${'ab'.repeat(32)}`]) {
    const { find, code } = await findings(t, ['--url', `https://edge.localhost:${port}${pin}`]);
    assert.equal(find('region TLS')?.state, 'problem');
    assert.match(find('region TLS')?.detail ?? '', /issued by Example Corp Inspection CA/);
    assert.equal(find('token'), undefined);
    assert.equal(code, 10);
  }
});

test('the fix for an expired certificate names the clock', async (t) => {
  const authority = await createTestAuthority();
  const leaf = await authority.issue(['edge.localhost'], { from: new Date('2020-01-01'), to: new Date('2020-02-01') });
  const port = await listening(t, createTlsServer({ key: leaf.keyPem, cert: leaf.leafPem }));
  const { find } = await findings(t, ['--url', `https://edge.localhost:${port}`]);
  assert.equal(find('region TLS')?.state, 'problem');
});

test('a refused token is a problem of the token, not of the region', async (t) => {
  await using edge = await startFakeEdge({ token: 'another' });
  const { find, code } = await findings(t, ['--url', edge.url]);
  assert.equal(find('region TLS')?.state, 'ok');
  assert.match(find('token')?.detail ?? '', /The token is refused/);
  assert.equal(code, 10);
});

test('reports a domain in --upstream that the tunnel does not have', async (t) => {
  await using edge = await startFakeEdge({ info: { type: 'http', urls: ['https://shop.example.com'] } });
  const { find, code } = await findings(t, ['--url', edge.url, '--upstream', 'shpo.example.com=http://127.0.0.1:9']);
  assert.equal(find('token')?.state, 'ok');
  assert.match(find('domains')?.detail ?? '', /: shpo\.example\.com; the tunnel has shop\.example\.com$/);
  assert.equal(code, 10);
});

describe('the type of a tunnel', () => {
  const ingress = { info: { type: 'ingress', tunnel: 'cluster' } } as const;

  for (const argv of [
    ['--type', 'http'],
    ['--upstream', 'http://127.0.0.1:9'],
  ]) {
    it(`is reported if it does not fit ${argv[0]}`, async (t) => {
      await using edge = await startFakeEdge(ingress);
      const { find, code } = await findings(t, ['--url', edge.url, ...argv]);
      assert.equal(find('token')?.state, 'problem');
      assert.match(find('token')?.detail ?? '', /of another type: cluster is an ingress tunnel/);
      assert.match(find('token')?.fix ?? '', /underpass ingress/);
      assert.equal(code, 10);
    });
  }

  it('is what the edge says if no flag gives it', async (t) => {
    await using edge = await startFakeEdge(ingress);
    const { find, code } = await findings(t, ['--url', edge.url]);
    assert.equal(find('token')?.detail, 'edge-1 accepts it, cluster is an ingress tunnel');
    assert.equal(code, 0);
  });

  it('is checked without the edge sending a visitor to the doctor', async (t) => {
    await using edge = await startFakeEdge(ingress);
    const taking = edge.next().then(({ session }) => session.takesStreams);
    await findings(t, ['--url', edge.url]);
    assert.equal(await taking, false);
  });
});

test('names and tries the proxy of the environment, and reports a malformed one', async (t) => {
  const through = await findings(t, ['--url', 'https://edge.example.com'], { HTTPS_PROXY: `http://127.0.0.1:${closedPort}` });
  assert.match(through.find('region proxy')?.detail ?? '', /through 127\.0\.0\.1/);
  assert.equal(through.find('region proxy TCP')?.state, 'problem');
  const wrong = await findings(t, ['--url', 'https://edge.example.com'], { HTTPS_PROXY: 'ftp://hunter2@x' });
  assert.equal(wrong.find('region proxy')?.state, 'problem');
  assert.doesNotMatch(JSON.stringify(wrong.list), /hunter2/);
});

/** A proxy that answers CONNECT with its own connection. */
async function startProxy(t: TestContext, answer: (client: Socket) => void): Promise<string> {
  const server = createServer().on('connect', (_, client: Socket) => answer(client.on('error', () => {})));
  return `http://user:hunter2@127.0.0.1:${await listening(t, server)}`;
}

test('detects a proxy that intercepts TLS by its issuer', async (t) => {
  const corporate = await createTestAuthority('Example Corp Inspection CA');
  const leaf = await corporate.issue(['edge.example.com']);
  const inside = await listening(t, createTlsServer({ key: leaf.keyPem, cert: leaf.chainPem }));
  const proxy = await startProxy(t, (client) => {
    const upstream = connectTcp(inside, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(upstream.on('error', () => {})).pipe(client);
    });
  });
  const { find } = await findings(t, ['--url', 'https://edge.example.com'], { HTTPS_PROXY: proxy });
  assert.equal(find('region proxy')?.state, 'ok');
  assert.match(find('region TLS')?.detail ?? '', /issued by Example Corp Inspection CA/);
});

test('reports the status of a proxy that refuses', async (t) => {
  const proxy = await startProxy(t, (client) =>
    client.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n'),
  );
  const { list } = await findings(t, ['--url', 'https://edge.example.com'], { HTTPS_PROXY: proxy });
  assert.match(list.at(-2)?.detail ?? '', /answers 407$/);
  assert.doesNotMatch(JSON.stringify(list), /hunter2/);
});

test('a missing tunnel is a problem of the tunnel, not of the sign-in', async (t) => {
  const api = await startFakeApi(t, accountRoutes);
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  const { stdout } = await cli.run(['doctor', 'shop']);
  assert.match(stdout, /^ok {4}sign-in: project Acme, owner$/m);
  assert.match(stdout, /^FAIL {2}tunnel: Not found\.$/m);
});

test('a server given by its IPv6 address needs no DNS', async (t) => {
  const { find } = await findings(t, [], { UNDERPASS_SERVER: 'http://[::1]:1' });
  assert.equal(find('server DNS')?.detail, '::1 is ::1');
});

test('checks clock, version and sign-in at the server', async (t) => {
  const late = () => ({ body: 'ok', headers: { date: new Date(Date.now() + 600_000).toUTCString() } });
  const api = await startFakeApi(t, {
    ...accountRoutes,
    'GET /api/meta': { body: { version: '99.0.0' } },
    'GET /healthz': late,
    'GET /api/releases': { body: [{ version: '99.0.0', files: [] }] },
  });
  const { find, code } = await findings(t, [], { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  assert.match(find('clock')?.detail ?? '', /(59\d|600) s behind the server/);
  assert.match(find('version')?.detail ?? '', /the newest is 99\.0\.0/);
  assert.equal(find('version')?.state, 'warning');
  assert.equal(find('sign-in')?.state, 'ok');
  assert.equal(code, 10);
});

/** Accepts a connection only after exactly this PROXY header, as a strict receiver does. */
function receiver(version: 'v1' | 'v2') {
  const header = proxyHeaders[version];
  return createTcpServer((socket) => {
    let seen = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      seen = Buffer.concat([seen, chunk]);
      if (seen.length < header.length) return;
      if (!seen.subarray(0, header.length).equals(header)) socket.resetAndDestroy();
      else if (seen.includes('\r\n\r\n', header.length - 1)) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
  });
}

const plain = () => createServer((_, response) => response.end('ok'));
const proxyCases = [
  {
    name: 'a plain upstream with PROXY protocol off',
    server: plain,
    setting: 'off',
    state: 'ok',
    detail: /answers with the tunnel's PROXY protocol setting/,
  },
  { name: 'a v2 receiver with v2 on', server: () => receiver('v2'), setting: 'v2', state: 'ok', detail: /\(v2\)/ },
  { name: 'a v1 receiver with v1 on', server: () => receiver('v1'), setting: 'v1', state: 'ok', detail: /\(v1\)/ },
  {
    name: 'a plain upstream with v1 on',
    server: plain,
    setting: 'v1',
    state: 'problem',
    detail: /does not understand the PROXY protocol, and the tunnel sends v1/,
  },
  {
    name: 'a plain upstream with v2 on',
    server: plain,
    setting: 'v2',
    state: 'problem',
    detail: /does not understand the PROXY protocol, and the tunnel sends v2/,
  },
  {
    name: 'a v2 receiver with it off',
    server: () => receiver('v2'),
    setting: 'off',
    state: 'problem',
    detail: /expects PROXY protocol v2, and the tunnel sends none/,
  },
  {
    name: 'a v1 receiver with it off',
    server: () => receiver('v1'),
    setting: 'off',
    state: 'problem',
    detail: /expects PROXY protocol v1, and the tunnel sends none/,
  },
  {
    name: 'a v1 receiver with v2 on',
    server: () => receiver('v1'),
    setting: 'v2',
    state: 'problem',
    detail: /expects PROXY protocol v1, and the tunnel sends v2/,
  },
] as const;
for (const { name, server, setting, state, detail } of proxyCases) {
  test(`${name} is ${state}`, async (t) => {
    await using edge = await startFakeEdge();
    const port = await listening(t, server());
    const { find } = await findings(t, [
      '--url',
      edge.url,
      '--upstream',
      `http://127.0.0.1:${port}`,
      '--proxy-protocol',
      setting,
    ]);
    const found = find('upstream PROXY protocol');
    assert.equal(found?.state, state, JSON.stringify(found));
    assert.match(found?.detail ?? '', detail);
  });
}

test('checks an ingress upstream with TLS on 443 and HTTP on 80', async (t) => {
  await using edge = await startFakeEdge();
  const leaf = await edge.authority.issue(['localhost']);
  const secure = await listening(t, createTlsServer({ key: leaf.keyPem, cert: leaf.chainPem }));
  const open = await listening(t, plain());
  const upstreams = ['--upstream', `80=127.0.0.1:${open}`, '--upstream', `443=127.0.0.1:${secure}`];
  const { list } = await findings(t, ['--url', edge.url, '--type', 'ingress', ...upstreams]);
  const proxied = list.filter(({ check }) => check === 'upstream PROXY protocol');
  assert.deepEqual(
    proxied.map(({ state }) => state),
    ['ok', 'ok'],
  );
});

test('names an upstream that refuses', async (t) => {
  await using edge = await startFakeEdge();
  const { find } = await findings(t, ['--url', edge.url, '--upstream', `http://127.0.0.1:${closedPort}`]);
  assert.match(find('upstream')?.detail ?? '', /connection refused/);
});

describe('HTTP/2 of an upstream', () => {
  const http2 = (): Server => {
    const server = createHttp2Server();
    server.on('stream', (stream: ServerHttp2Stream) => stream.respond({ ':status': 415 }, { endStream: true }));
    return server as unknown as Server;
  };
  for (const [written, server, detail] of [
    ['h2c', http2, null],
    ['http', http2, /answers to h2c:\/\/, and --upstream says http:/],
    ['h2c', plain, /answers to http:\/\/, and --upstream says h2c:/],
  ] as const) {
    it(`${written}:// is ${detail === null ? 'right' : 'wrong'} for a service that speaks ${server === plain ? 'HTTP/1.1' : 'HTTP/2'}`, async (t) => {
      await using edge = await startFakeEdge();
      const port = await listening(t, server());
      const { find, code } = await findings(t, ['--url', edge.url, '--upstream', `${written}://127.0.0.1:${port}`]);
      if (detail === null) assert.deepEqual([find('upstream')?.state, find('upstream HTTP'), code], ['ok', undefined, 0]);
      else assert.match(find('upstream HTTP')?.detail ?? '', detail);
    });
  }
});

describe('TLS of an upstream', () => {
  const scheme = (text: string) => (port: number) => ['--upstream', `${text}://127.0.0.1:${port}`];
  const ingress = (own: number) => (port: number) => ['--type', 'ingress', '--upstream', `${own}=127.0.0.1:${port}`];

  async function startSecure(t: TestContext, names: readonly string[], validity?: { from: Date; to: Date }) {
    const authority = await createTestAuthority('Upstream CA');
    const leaf = await authority.issue(names, validity);
    const settings = { key: leaf.keyPem, cert: leaf.chainPem };
    const port = await listening(t, createSecureServer(settings, (_, response) => response.end('ok')) as unknown as Server);
    return { port, authority };
  }

  const past = { from: new Date('2020-01-01'), to: new Date('2020-02-01') };
  const cases = [
    ['http:// where TLS is spoken', scheme('http'), ['127.0.0.1'], undefined, /speaks TLS, and --upstream says http:/, /https:/],
    ['port 80 of ingress where TLS is spoken', ingress(80), ['127.0.0.1'], undefined, /speaks TLS, and port 80/, /80=HOST/],
    ['https:// with an unknown CA', scheme('https'), ['127.0.0.1'], undefined, /is not trusted by this machine/, /upstream-ca/],
    ['https:// of another name', scheme('https'), ['other.example'], undefined, /(another name|not trusted)/, /upstream-ca/],
    ['https:// with an expired certificate', scheme('https'), ['127.0.0.1'], past, /(expired|not trusted)/, /upstream-ca/],
  ] as const;
  for (const [name, flags, names, validity, detail, fix] of cases) {
    it(`${name} is a problem with its own fix`, async (t) => {
      await using edge = await startFakeEdge();
      const { port } = await startSecure(t, names, validity);
      const { find, code } = await findings(t, ['--url', edge.url, ...flags(port)]);
      assert.equal(find('upstream TLS')?.state, 'problem');
      assert.match(find('upstream TLS')?.detail ?? '', detail);
      assert.match(find('upstream TLS')?.fix ?? '', fix);
      assert.equal(code, 10);
    });
  }

  for (const [name, flags, detail] of [
    ['https:// where plain HTTP is spoken', scheme('https'), /speaks plain HTTP, and --upstream says https:/],
    ['port 443 of ingress where plain HTTP is spoken', ingress(443), /speaks plain HTTP, and port 443/],
  ] as const) {
    it(`${name} is a problem with its own fix`, async (t) => {
      await using edge = await startFakeEdge();
      const port = await listening(t, plain());
      const { find, code } = await findings(t, ['--url', edge.url, ...flags(port)]);
      assert.match(find('upstream TLS')?.detail ?? '', detail);
      assert.equal(code, 10);
    });
  }

  it('is ok with --upstream-ca and with --upstream-insecure', async (t) => {
    await using edge = await startFakeEdge();
    const { port, authority } = await startSecure(t, ['127.0.0.1']);
    const folder = await mkdtemp(join(tmpdir(), 'underpass-ca-'));
    t.after(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'ca.pem'), authority.certificatePem);
    for (const flag of [['--upstream-ca', join(folder, 'ca.pem')], ['--upstream-insecure']]) {
      const { find, code } = await findings(t, ['--url', edge.url, ...scheme('https')(port), ...flag]);
      assert.equal(find('upstream TLS')?.state, 'ok');
      assert.equal(find('upstream PROXY protocol')?.state, 'ok');
      assert.equal(code, 0);
    }
  });
});

describe('the Host for an upstream', () => {
  const isOwn = (host: string | undefined) => /^localhost:\d+$/.test(host ?? '');
  /** Answers of the real servers, in short. */
  const refusals: readonly (readonly [string, number, string, RegExp])[] = [
    ['Vite', 403, 'Blocked request. This host ("shop.example.com") is not allowed.', /status 403, as Vite does/],
    ['webpack-dev-server', 403, 'Invalid Host header', /as webpack-dev-server does/],
    ['Django', 400, '<title>DisallowedHost at /</title>', /status 400, as Django does/],
    ['an MCP server', 403, '{"jsonrpc":"2.0","error":{"message":"Invalid Host: shop.example.com"}}', /as an MCP server does/],
    ['a service of unknown make', 421, 'no', /with status 421$/],
  ];

  async function check(t: TestContext, listener: RequestListener, more: readonly string[] = []) {
    const edge = await startFakeEdge();
    t.after(() => edge[Symbol.asyncDispose]());
    const port = await listening(t, createServer(listener));
    return findings(t, ['--url', edge.url, '--upstream', `shop.example.com=http://127.0.0.1:${port}`, ...more]);
  }

  for (const [name, status, body, detail] of refusals) {
    it(`is refused by ${name}: names the flag`, async (t) => {
      const refusing: RequestListener = ({ headers }, response) =>
        void (isOwn(headers.host) ? response.writeHead(404).end() : response.writeHead(status).end(body));
      const { find } = await check(t, refusing);
      const found = find('upstream Host');
      assert.equal(found?.state, 'problem');
      assert.match(found?.detail ?? '', detail);
      assert.equal(found?.fix, 'Add --upstream-host upstream.');
      assert.equal(find('upstream PROXY protocol')?.state, 'ok');
      const fixed = await check(t, refusing, ['--upstream-host', 'upstream']);
      assert.equal(fixed.find('upstream Host')?.state, 'ok');
    });
  }

  it('passes at Next.js, whose hot reload refuses the Origin: names the flag', async (t) => {
    const { find } = await check(t, ({ headers }, response) => {
      response.writeHead(headers.origin === undefined ? 200 : 403, { 'X-Powered-By': 'Next.js' }).end('Unauthorized');
    });
    assert.match(find('upstream Host')?.detail ?? '', /refuses the Origin https:\/\/shop\.example\.com/);
  });

  it('is fine where every Host is served, and where every Host is refused', async (t) => {
    assert.equal((await check(t, (_, response) => void response.end())).find('upstream Host')?.state, 'ok');
    assert.equal((await check(t, (_, response) => void response.writeHead(403).end())).find('upstream Host'), undefined);
  });
});
