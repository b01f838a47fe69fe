// ssh serve and ssh connect, with a fake edge between them: a door that opens a stream of the tunnel for each visitor.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { relaySocket } from '@underpass/wire/relay.ts';
import { startUpstream, visit } from '../carry/fixture/carrying.ts';
import { type FakeCarrier, startFakeEdge } from '../carry/fixture/edge.ts';
import { accountRoutes, binary, type Cli, createCli, startFakeApi } from '../test-kit.ts';

const inProcessOnly = binary !== undefined && 'standard input stays open';

interface World {
  readonly cli: Cli;
  readonly url: string;
  /** Visitors' port of the edge. */
  readonly port: number;
  /** What the visitors' lines hold as pin. */
  readonly pin: string;
  readonly running: ReturnType<Cli['start']>;
  /** TLS to the gateway through the edge, as any program can open it. */
  dial(options?: { readonly ALPNProtocols?: string[] }): Promise<TLSSocket>;
  /** Resets the visitors' connections, as a network does that changes. */
  cut(): void;
}

const rest = async (socket: TLSSocket): Promise<string> => Buffer.concat(await socket.toArray()).toString();

/** Visitors come from 192.0.2.7. `box1` echoes, `shut` has another allow-list, `down` does not answer, `greets` stays open. */
async function world(t: TestContext): Promise<World> {
  const edge = await startFakeEdge();
  t.after(() => edge[Symbol.asyncDispose]());
  const echo = await startUpstream((socket) => socket.pipe(socket), 'tcp');
  t.after(() => echo[Symbol.asyncDispose]());
  const greets = await startUpstream((socket) => socket.resume().write('SSH-2.0-greets\r\n'), 'tcp');
  t.after(() => greets[Symbol.asyncDispose]());
  const cli = await createCli(t, { UNDERPASS_TOKEN: 'secret' });
  let carrier: FakeCarrier | undefined;
  const door = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    const stream = visit(carrier!, { kind: 'ingress-443', host: 'ssh.localhost', preface: Buffer.from('PROXY UNKNOWN\r\n') });
    relaySocket(stream, socket);
  });
  const sockets = new Set<Socket>();
  door.on('connection', (socket) => sockets.add(socket)).listen(0, '127.0.0.1');
  await once(door, 'listening');
  const { port } = door.address() as AddressInfo;
  const places = { box1: echo.port, shut: echo.port, down: 9, greets: greets.port };
  const hosts = Object.entries(places).flatMap(([name, at]) => ['--host', `${name}=127.0.0.1:${at}`]);
  const running = cli.start([
    ...['ssh', 'serve', '--url', edge.url, '--domain', `ssh.localhost:${port}`, ...hosts],
    ...['--allow', 'shut=198.51.100.0/24', '--allow', 'box1=192.0.2.0/24'],
  ]);
  carrier = await edge.next();
  await running.seen(/ connected /);
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    door.close();
    running.signal('SIGTERM');
    await running.ended;
  });
  const pin = /--pin ([0-9a-f]{64}) %h:/.exec(running.stderr())?.[1] ?? '';
  const dial: World['dial'] = async (options = {}) => {
    const socket = connectTls({ host: '127.0.0.1', port, servername: 'ssh.localhost', rejectUnauthorized: false, ...options });
    socket.on('error', () => {});
    t.after(() => void socket.destroy());
    await Promise.race([once(socket, 'secureConnect'), once(socket, 'close')]);
    return socket;
  };
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return { cli, url: edge.url, port, pin, running, dial, cut };
}

test('a visitor reaches a host by its name, and bytes pass both ways until one side ends', async (t) => {
  const { cli, port, pin, running } = await world(t);
  const text = 'SSH-2.0-test\r\n'.repeat(20_000);
  const { code, stdout, stderr } = await cli.run(['ssh', 'connect', '--pin', pin, `box1.ssh.localhost:${port}`], { stdin: text });
  assert.equal(stderr, '');
  assert.equal(code, 0);
  assert.equal(stdout, text);
  await running.seen(/ssh-opened visitor=192\.0\.2\.7:40000 host=box1 upstream=127\.0\.0\.1:\d+ from=127\.0\.0\.1:\d+/);
});

test('a connection that the network resets is an error of the network, not of the program', {
  skip: inProcessOnly,
}, async (t) => {
  const { cli, port, pin, cut } = await world(t);
  const bytes = { input: new PassThrough(), output: new PassThrough() };
  const ended = cli.run(['ssh', 'connect', '--pin', pin, `greets.ssh.localhost:${port}`], { io: { bytes } });
  await once(bytes.output, 'data');
  cut();
  const { code, stderr } = await ended;
  assert.match(stderr, /greets\.ssh\.localhost \(the connection was lost\)[\s\S]*code: ssh-unreachable/);
  assert.equal(code, 8);
});

test('serve prints the lines for visitors, and keeps its identity for itself', async (t) => {
  const { cli, url, port, pin, running } = await world(t);
  const lines = `Host box1.ssh.localhost\n  ProxyCommand underpass ssh connect --pin ${pin} %h:${port}\n  ServerAliveInterval 30\n`;
  const printed = await cli.run([
    'ssh',
    'serve',
    '--print',
    '--url',
    url,
    '--domain',
    `ssh.localhost:${port}`,
    '--host',
    'box1=10.0.0.1',
  ]);
  assert.equal(printed.stdout, lines);
  const identity = join(cli.home, '.config', 'underpass', 'ssh.pem');
  assert.equal((await stat(identity)).mode & 0o777, 0o600);
  const key = (await readFile(identity, 'utf8')).split('\n')[1] ?? '-';
  assert.equal((running.stdout() + running.stderr()).includes(key), false);
});

const refusals: readonly (readonly [why: string, name: string, code: string, exit: number])[] = [
  ['a name that does not exist', 'nowhere', 'ssh-refused', 7],
  ['a host whose allow-list leaves it out', 'shut', 'ssh-refused', 7],
  ['a host that is down', 'down', 'ssh-unreachable', 8],
];
test('a visitor that cannot have a host learns no more than it needs', async (t) => {
  const { cli, port, pin } = await world(t);
  for (const [why, name, code, exit] of refusals) {
    const ended = await cli.run(['ssh', 'connect', '--pin', pin, `${name}.ssh.localhost:${port}`], { stdin: 'secret bytes' });
    assert.match(ended.stderr, new RegExp(`code: ${code}`), why);
    assert.equal(ended.code, exit, why);
    assert.equal(ended.stdout, '', why);
    assert.doesNotMatch(ended.stderr, /127\.0\.0\.1/, why);
  }
});

test('a visitor sends nothing to a server with another certificate', async (t) => {
  const { cli, port } = await world(t);
  const argv = ['ssh', 'connect', '--pin', 'ab'.repeat(32), `box1.ssh.localhost:${port}`];
  const ended = await cli.run(argv, { stdin: 'secret bytes' });
  assert.match(ended.stderr, /code: ssh-untrusted/);
  assert.equal(ended.stdout, '');
});

test('the visitor needs a pin, and serve an ingress tunnel with hosts', async (t) => {
  const api = await startFakeApi(t, {
    ...accountRoutes,
    'GET /api/tunnels/shop': {
      body: { name: 'shop', type: 'http', status: 'Created', ingressDomains: [], token: 'secret', url: 'https://edge.localhost' },
    },
  });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'token' });
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['connect', 'box1.ssh.example.com'], /required option '--pin <sha256>'/],
    [['connect', '--pin', 'abc', 'box1.ssh.example.com'], /'abc' is not a SHA-256/],
    [['connect', '--pin', 'ab'.repeat(32), 'box1'], /must be like box1\.ssh\.example\.com/],
    [['serve', 'shop'], /required option '--host <name=address>'/],
    [['serve', '--host', 'box1=10.0.0.1'], /name the tunnel, or give --url/],
    [['serve', 'shop', '--host', 'box1=10.0.0.1'], /shop is an http tunnel; SSH needs an ingress tunnel/],
    [['serve', '--url', 'https://eu1.example.com', '--host', 'box1=10.0.0.1'], /required option '--domain <domain>'/],
  ];
  for (const [argv, message] of cases) {
    const { code, stderr } = await cli.run(['ssh', ...argv]);
    assert.match(stderr, message);
    assert.equal(code, 2);
  }
});

test('a damaged identity is reported and not replaced', async (t) => {
  const cli = await createCli(t, { UNDERPASS_TOKEN: 'secret' });
  const path = join(cli.home, 'ssh.pem');
  await writeFile(path, 'no key', { mode: 0o600 });
  const argv = [
    'ssh',
    'serve',
    '--print',
    '--identity',
    'ssh.pem',
    '--url',
    'https://edge.localhost',
    '--domain',
    'ssh.localhost',
  ];
  const { stderr } = await cli.run([...argv, '--host', 'box1=10.0.0.1']);
  assert.match(stderr, /code: ssh-identity-invalid/);
  assert.equal(await readFile(path, 'utf8'), 'no key');
});

test('the gateway answers odd requests with an error and never with a host', async (t) => {
  const { dial } = await world(t);
  const requests: readonly (readonly [request: string, status: string])[] = [
    ['GET / HTTP/1.1\r\nHost: ssh.localhost\r\n\r\n', '400'],
    ['CONNECT box1 HTTP/1.1\r\n\r\n', '400'],
    ['CONNECT box1:22 HTTP/1.0\r\n\r\n', '400'],
    ['CONNECT box1:22 HTTP/1.1\r\nX: 1\r\nX: 2\r\n\r\n', '400'],
    ['CONNECT 127.0.0.1:22 HTTP/1.1\r\n\r\n', '400'],
    ['CONNECT [::1]:22 HTTP/1.1\r\n\r\n', '400'],
    ['CONNECT __proto__:22 HTTP/1.1\r\n\r\n', '400'],
    ['CONNECT constructor:22 HTTP/1.1\r\n\r\n', '403'],
    // The address is the edge's word alone.
    ['CONNECT shut:22 HTTP/1.1\r\nX-Forwarded-For: 198.51.100.1\r\nForwarded: for=198.51.100.1\r\n\r\n', '403'],
    ['SSH-2.0-OpenSSH_9.2\r\n\r\n\r\n', '400'],
    [`CONNECT box1:22 HTTP/1.1\r\nX: ${'x'.repeat(9_000)}\r\n\r\n`, ''],
  ];
  for (const [request, status] of requests) {
    const socket = await dial();
    socket.write(request);
    const got = await rest(socket);
    assert.equal(/^HTTP\/1\.1 (\d+)/.exec(got)?.[1] ?? '', status, request.slice(0, 60));
  }
  const socket = await dial();
  socket.end('CONNECT box1:22 HTTP/1.1\r\n\r\nbytes that come at once');
  assert.equal(await rest(socket), 'HTTP/1.1 200 OK\r\n\r\nbytes that come at once');
});

test('the identity is a certificate that OpenSSL reads', async (t) => {
  const { cli } = await world(t);
  const identity = join(cli.home, '.config', 'underpass', 'ssh.pem');
  const text = execFileSync('openssl', ['x509', '-in', identity, '-noout', '-subject', '-dates', '-fingerprint'], {
    encoding: 'utf8',
  });
  assert.match(text, /CN ?= ?underpass ssh[\s\S]*notAfter=Dec 31 23:59:59 9999 GMT/);
});
