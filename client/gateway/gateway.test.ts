// What only a test inside the process sees: strangers on the loopback port, and the limits.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { visitor } from '../carry/fixture/carrying.ts';
import { type GatewayOptions, startGateway } from './gateway.ts';
import { createIdentity, loadIdentity, parseIdentity } from './identity.ts';
import { startReachGateway } from './reach-gateway.ts';

async function gatewayOf(
  t: TestContext,
  limits: NonNullable<GatewayOptions['limits']>,
  find: GatewayOptions['find'] = () => null,
) {
  const logged: string[] = [];
  const gateway = await startGateway({
    kind: 'ssh',
    find,
    identity: parseIdentity(createIdentity())!,
    now: () => 0,
    report: ({ event }) => logged.push(event),
    limits,
  });
  t.after(gateway.close);
  /** A connection that this process dials for a visitor. */
  const dialFor = async (visitorAddress: string): Promise<Socket> => {
    const socket = connect(gateway.upstream.port, '127.0.0.1');
    socket.on('error', () => {});
    t.after(() => void socket.destroy());
    await once(socket, 'connect');
    gateway.onDialled({ ...visitor, visitorAddress }, socket);
    return socket;
  };
  const ask = async (socket: Socket): Promise<string> => {
    const tls = connectTls({ socket, rejectUnauthorized: false });
    tls.on('error', () => {});
    tls.write('CONNECT box1:22 HTTP/1.1\r\n\r\n');
    return Buffer.concat(await tls.toArray().catch(() => [])).toString();
  };
  return { gateway, dialFor, ask, logged };
}

test('another program of this machine gets no answer from the gateway', async (t) => {
  const { gateway, dialFor, ask } = await gatewayOf(t, {});
  assert.match(await ask(await dialFor('192.0.2.7')), /^HTTP\/1\.1 403 /);
  const stranger = connect(gateway.upstream.port, '127.0.0.1');
  stranger.on('error', () => {});
  assert.equal(await ask(stranger), '');
});

// macOS and Windows have one loopback address alone, or give others to nobody.
test('nor by the port of a visitor, from another loopback address', { skip: process.platform !== 'linux' }, async (t) => {
  const { gateway, dialFor, ask } = await gatewayOf(t, {});
  const { localPort } = await dialFor('192.0.2.7');
  const stranger = connect({ host: '127.0.0.1', port: gateway.upstream.port, localAddress: '127.0.0.2', localPort: localPort! });
  stranger.on('error', () => {});
  assert.equal(await ask(stranger), '');
});

test('visitors without a host are few, by address and in total, and others still get in', async (t) => {
  const { dialFor, ask } = await gatewayOf(t, { waiting: 3, waitingPerAddress: 2 });
  const [first] = [await dialFor('192.0.2.7'), await dialFor('192.0.2.7')];
  assert.equal((await dialFor('192.0.2.7')).destroyed, true);
  const other = await dialFor('192.0.2.8');
  assert.equal((await dialFor('192.0.2.9')).destroyed, true);
  assert.match(await ask(other), /403/);
  first?.destroy();
  await once(first!, 'close');
  assert.equal((await dialFor('192.0.2.7')).destroyed, false);
});

test('the addresses of one IPv6 /64 count as one, so that its owner cannot keep everybody else out', async (t) => {
  const { dialFor } = await gatewayOf(t, { waitingPerAddress: 2 });
  for (const address of ['2001:db8::1', '2001:db8::2']) assert.equal((await dialFor(address)).destroyed, false);
  assert.equal((await dialFor('2001:db8::3')).destroyed, true);
  assert.equal((await dialFor('2001:db8:0:1::1')).destroyed, false);
});

test('a pool of connections from one address may wait together at a private tunnel, which the edge has let them reach', async (t) => {
  const gateway = await startReachGateway({
    ...{ reachKey: createIdentity(), upstream: { scheme: 'tcp', host: '127.0.0.1', port: 9 }, ticketsOnly: false },
    ...{ now: () => 0, report: () => {} },
  });
  t.after(gateway.close);
  const sockets = Array.from({ length: 40 }, () => connect(gateway.upstream.port, '127.0.0.1').on('error', () => {}));
  t.after(() => sockets.forEach((socket) => void socket.destroy()));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) gateway.onDialled({ ...visitor, visitorAddress: '192.0.2.7' }, socket);
  assert.equal(sockets.filter(({ destroyed }) => destroyed).length, 0);
});

test('a host may be a Unix socket', { skip: process.platform === 'win32' ? 'Windows has none' : false }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-host-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'host.sock');
  const host = createServer((socket) => socket.on('error', () => {}).end('words of the host')).listen(path);
  t.after(() => void host.close());
  await once(host, 'listening');
  const upstream = { scheme: 'tcp', host: 'localhost', port: 0, socket: path } as const;
  const { dialFor, ask, logged } = await gatewayOf(t, {}, (name) => ({ name, upstream }));
  assert.match(await ask(await dialFor('192.0.2.7')), /^HTTP\/1\.1 200 OK\r\n\r\nwords of the host$/);
  assert.deepEqual(logged, ['ssh-opened']);
});

test('a visitor that says nothing is cut', async (t) => {
  const { dialFor } = await gatewayOf(t, { waitMs: 20 });
  await once(await dialFor('192.0.2.7'), 'close');
});

test('refusals do not fill the log', async (t) => {
  const { dialFor, ask, logged } = await gatewayOf(t, {});
  for (let times = 0; times < 3; times++) await ask(await dialFor('192.0.2.7'));
  assert.deepEqual(logged, ['ssh-refused']);
});

test('each identity is another one, and a key of another certificate is refused', () => {
  const [one, two] = [createIdentity(), createIdentity()];
  assert.notEqual(parseIdentity(one)?.pin, parseIdentity(two)?.pin);
  const mixed = parseIdentity(one)!.keyPem + parseIdentity(two)!.certificatePem;
  assert.equal(parseIdentity(mixed), null);
  assert.equal(parseIdentity(''), null);
});

test('of several first starts at once, all have the one key that is kept', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-key-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'new', 'reach.pem');
  const start = async (ticks: number) => {
    for (let tick = 0; tick < ticks; tick++) await setImmediate();
    return loadIdentity(path, 'reach-key-invalid');
  };
  const started = await Promise.all(Array.from({ length: 40 }, (_, index) => start(index)));
  const kept = parseIdentity(await readFile(path, 'utf8'));
  assert.deepEqual(new Set(started.map(({ pin }) => pin)), new Set([kept?.pin]));
  assert.deepEqual(await readdir(join(folder, 'new')), ['reach.pem']);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
});
