// What only a separate process can show: CAs and proxies that the runtime reads from the environment, and pipes that close.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createTestAuthority } from '@underpass/wire/fixture/certificate.ts';
import { skipWithoutRoot } from '../tests/helpers/tool.ts';
import { outcome, startUpstream, visit } from './carry/fixture/carrying.ts';
import { type FakeCarrier, startFakeEdge } from './carry/fixture/edge.ts';
import { accountRoutes, binary } from './test-kit.ts';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));
const [file = '', ...first] = binary === undefined ? [process.execPath, main] : [binary];

function underpass(t: TestContext, argv: readonly string[], env: Record<string, string>, by: readonly string[] = []) {
  const [starter = '', ...rest] = [...by, file, ...first, ...argv];
  const child = spawn(starter, rest, { env: { PATH: process.env.PATH, HOME: '/nonexistent', ...env } });
  t.after(() => child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, stdout, stderr })),
  );
  return { child, ended };
}

async function listening(t: TestContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

async function startSecureApi(t: TestContext) {
  const authority = await createTestAuthority();
  const leaf = await authority.issue(['localhost', 'console.example.com']);
  const server = createHttpsServer({ key: leaf.keyPem, cert: leaf.chainPem }, (_, response) => response.end('[]'));
  const folder = await mkdtemp(join(tmpdir(), 'underpass-process-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, authority.certificatePem);
  return { port: await listening(t, server), caFile };
}

test('reaches a server with a private CA if NODE_EXTRA_CA_CERTS names it; otherwise the error suggests that', async (t) => {
  const { port, caFile } = await startSecureApi(t);
  const env = { UNDERPASS_SERVER: `https://localhost:${port}`, UNDERPASS_API_TOKEN: 'tok' };
  const refused = await underpass(t, ['regions', '--json'], env).ended;
  assert.equal(refused.code, 8);
  assert.match(refused.stderr, /NODE_EXTRA_CA_CERTS/);
  const reached = await underpass(t, ['regions', '--json'], { ...env, NODE_EXTRA_CA_CERTS: caFile }).ended;
  assert.deepEqual({ code: reached.code, stdout: reached.stdout }, { code: 0, stdout: '[]\n' }, reached.stderr);
});

test('login --ca remembers the CA of a server, also after a logout', async (t) => {
  const authority = await createTestAuthority();
  const leaf = await authority.issue(['localhost']);
  const server = createHttpsServer({ key: leaf.keyPem, cert: leaf.chainPem }, (request, response) => {
    const route = request.url === '/api/user' ? 'GET /api/user' : 'GET /api/projects';
    response.end(JSON.stringify(accountRoutes[route].body));
  });
  const home = await mkdtemp(join(tmpdir(), 'underpass-process-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  const env = { HOME: home, UNDERPASS_SERVER: `https://localhost:${await listening(t, server)}` };
  const command = (...argv: string[]) => {
    const { child, ended } = underpass(t, argv, env);
    child.stdin.end('tok');
    return ended;
  };
  const ca = join(home, 'ca.pem');
  await writeFile(ca, authority.certificatePem);
  assert.match(
    (await command('login', '--with-token')).stderr,
    /unknown authority: give its CA with "underpass login --ca FILE"/,
  );
  const first = await command('login', '--with-token', '--ca', ca);
  assert.equal(first.code, 0, first.stderr);
  await rm(ca);
  assert.equal((await command('whoami')).code, 0);
  await command('logout');
  assert.equal((await command('login', '--with-token')).code, 0);
});

test('reaches the API through HTTPS_PROXY, except for hosts in NO_PROXY', async (t) => {
  const { port, caFile } = await startSecureApi(t);
  const asked: string[] = [];
  const proxy = createHttpServer().on('connect', (request, client: Socket) => {
    asked.push(request.url ?? '');
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client
        .on('error', () => {})
        .pipe(upstream.on('error', () => {}))
        .pipe(client);
    });
  });
  const env = {
    UNDERPASS_SERVER: 'https://console.example.com',
    UNDERPASS_API_TOKEN: 'tok',
    NODE_EXTRA_CA_CERTS: caFile,
    HTTPS_PROXY: `http://127.0.0.1:${await listening(t, proxy)}`,
  };
  const { code, stderr } = await underpass(t, ['regions', '--json'], env).ended;
  assert.equal(code, 0, stderr);
  assert.deepEqual(asked, ['console.example.com:443']);
  const direct = { ...env, UNDERPASS_SERVER: `https://localhost:${port}`, NO_PROXY: 'localhost' };
  assert.equal((await underpass(t, ['regions', '--json'], direct).ended).code, 0);
  assert.equal(asked.length, 1);
});

test('Ctrl-C ends the command at once while a proxy does not answer', async (t) => {
  const asked = Promise.withResolvers<Socket>();
  const proxy = createServer((socket) => void socket.once('data', () => asked.resolve(socket)));
  const env = { UNDERPASS_TOKEN: 'tok', HTTPS_PROXY: `http://127.0.0.1:${await listening(t, proxy)}` };
  const argv = ['http', '--url', 'https://eu1.example.com', '--upstream', 'http://127.0.0.1:1'];
  const { child, ended } = underpass(t, argv, env);
  const socket = await asked.promise;
  const gone = once(socket, 'close');
  socket.resume();
  child.kill('SIGINT');
  await gone;
  assert.equal((await ended).code, 0);
});

test('a DNS query that cannot be cancelled does not delay the end', {
  skip: binary && 'the runtime takes no options',
}, async (t) => {
  const nodeOptions = `--import=data:text/javascript,${encodeURIComponent('setInterval(() => {}, 60_000)')}`;
  const { code, stdout } = await underpass(t, ['completion', 'bash'], { NODE_OPTIONS: nodeOptions }).ended;
  assert.equal(code, 0);
  assert.match(stdout, /underpass/);
});

const linuxOnly = process.platform !== 'linux' && 'no disk is always full here';
const toFullDisk = ['sh', '-c', 'exec "$@" > /dev/full', 'sh'];
const noRoom =
  'error: A file cannot be written: standard output (no space left)\n' +
  '  fix: Check the permissions and the free space.\n  code: file-not-written\n';

test('a result that does not fit on the disk is an error', { skip: linuxOnly }, async (t) => {
  const { code, stderr } = await underpass(t, ['completion', 'bash'], {}, toFullDisk).ended;
  assert.deepEqual({ code, stderr }, { code: 3, stderr: noRoom });
});

test('the error for a read-only home folder says that it is read-only', { skip: skipWithoutRoot('a mount') }, async (t) => {
  const server = createHttpServer((request, response) =>
    response.end(request.url === '/api/user' ? '{"email":"a@b.example"}' : '[]'),
  );
  const origin = `http://127.0.0.1:${await listening(t, server)}`;
  const inReadOnlyHome = ['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs -o ro tmpfs /mnt && exec env HOME=/mnt "$@"', 'sh'];
  const { child, ended } = underpass(t, ['login', '--with-token', '--server', origin], {}, inReadOnlyHome);
  child.stdin.end('token\n');
  const { code, stderr } = await ended;
  assert.equal(code, 3);
  assert.match(stderr, /^error: A file cannot be written: \/mnt\/\S+ \(the file system is read-only\)$/m);
});

test('a log that does not fit on the disk is reported once, and the tunnel goes on', { skip: linuxOnly }, async (t) => {
  await using edge = await startFakeEdge();
  await using upstream = await startUpstream((socket) => socket.end('from the upstream'));
  const argv = ['http', '--url', edge.url, '--upstream', `http://127.0.0.1:${upstream.port}`];
  const { child, ended } = underpass(t, argv, { UNDERPASS_TOKEN: 'secret' }, toFullDisk);
  const told = once(child.stderr, 'data');
  const carrier = await edge.next();
  await told;
  const stream = visit(carrier);
  stream.end();
  assert.equal(await outcome(stream), 'from the upstream');
  child.kill('SIGTERM');
  const { code, stderr } = await ended;
  assert.deepEqual({ code, stderr }, { code: 3, stderr: noRoom });
});

type ReaderEnd = (carrier: FakeCarrier, child: ChildProcess) => void;

const lineFor = (carrier: FakeCarrier) => void visit(carrier, { host: 'other.example.com' });
const pressCtrlC = (_: unknown, child: ChildProcess) => void child.kill('SIGINT');

for (const [how, end, then] of [
  ['closes the pipe', lineFor, () => {}],
  ['is ended by the same Ctrl-C', pressCtrlC, () => {}],
  ['is ended by the same Ctrl-C, a little sooner,', lineFor, pressCtrlC],
] satisfies readonly (readonly [string, ReaderEnd, ReaderEnd])[]) {
  test(`a client whose log reader ${how} drains and ends`, async (t) => {
    await using edge = await startFakeEdge();
    await using upstream = await startUpstream((socket) => socket.on('data', (chunk) => socket.end(chunk)));
    const argv = ['http', '--url', edge.url, '--upstream', `app.example.com=http://127.0.0.1:${upstream.port}`];
    const { child, ended } = underpass(t, argv, { UNDERPASS_TOKEN: 'secret' });
    const carrier = await edge.next();
    const stream = visit(carrier);
    await new Promise<void>((resolve) => {
      stream.onOpened = resolve;
    });
    const got = outcome(stream);
    const draining = new Promise<void>((resolve) => {
      carrier.session.onGoaway = () => resolve();
    });
    child.stdout.destroy();
    end(carrier, child);
    await Promise.race([draining, ended]);
    then(carrier, child);
    stream.write(Buffer.from('late but whole'));
    stream.end();
    assert.equal(await got, 'late but whole');
    const { code, stderr } = await ended;
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  });
}

test('a reader may close the pipe early without an error', async (t) => {
  const { child, ended } = underpass(t, ['completion', 'bash'], {});
  child.stdout.destroy();
  const { code, stderr } = await ended;
  assert.equal(code, 0, stderr);
});
