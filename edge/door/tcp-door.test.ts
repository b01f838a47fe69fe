// The public ports of tcp tunnels: which are open, who reaches the client, and how a connection lives and ends.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { frameType } from '@underpass/wire/core/frame.ts';
import { encodeHello } from '@underpass/wire/core/hello.ts';
import { carrierPath, carrierProtocol, clientIdHeader, softwareHeader } from '@underpass/wire/core/upgrade.ts';
import type { FeedTunnel } from '@underpass/wire/feed/feed.ts';
import { encodeNaive } from '@underpass/wire/fixture/naive-codec.ts';
import { requestUpgrade } from '@underpass/wire/handshake.ts';
import { freePorts } from '../../tests/helpers/port.ts';
import { encodeProxyHeader } from '../core/proxy-protocol.ts';
import { createRig, type Rig, readAll, readUntil, regionHost, tunnelOf, whenClosed } from '../fixture/rig.ts';
import { InheritedSockets } from './inherited-sockets.ts';

const host = '127.0.0.1';
const balancer = '127.0.0.9';

async function listening(): Promise<Server> {
  const server = createServer((socket) => void socket.destroy());
  server.listen(0, host);
  await once(server, 'listening');
  return server;
}

/** Ports that nobody listens on, in order: a range that holds the first two. */
const [port = 0, second = 0, outside = 0] = (await freePorts(3)).sort((a, b) => a - b);
const tcpPorts = { first: port, last: second };

const tcpTunnel = (changes: Partial<FeedTunnel> = {}): FeedTunnel => tunnelOf('d', { type: 'tcp', hosts: [], port, ...changes });

const startRig = (tunnels: readonly FeedTunnel[] = [tcpTunnel()], changes: Parameters<typeof createRig>[1] = {}): Promise<Rig> =>
  createRig(tunnels, { tcpPorts, ...changes });

async function visit(to: number = port, localAddress: string = host): Promise<Socket> {
  const socket = connect({ host, port: to, localAddress, allowHalfOpen: true });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** What a visitor reads that the edge may reset before it knows that it is connected. */
async function knock(localAddress: string = host): Promise<string> {
  const socket = connect({ host, port, localAddress });
  socket.on('error', () => {});
  socket.end('knock');
  return readAll(socket);
}

/** Resolves with the code of the failure; undefined if the connection stands. */
const dial = (to: number): Promise<string | undefined> =>
  new Promise((resolve) => {
    const socket = connect({ host, port: to });
    socket.once('connect', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
  });

const echo = (socket: Socket): void => void socket.pipe(socket);

describe('a visitor of a public port', () => {
  it('hears a service that speaks first, before it has sent a byte', async () => {
    await using rig = await startRig();
    await rig.client('d', (socket) => void socket.write('SSH-2.0-test\r\n'));
    const visitor = await visit();
    assert.equal(await readUntil(visitor, (text) => text.endsWith('\n')), 'SSH-2.0-test\r\n');
    visitor.destroy();
  });

  it('reaches a service that waits, with bytes unchanged both ways, whatever the first are', async () => {
    await using rig = await startRig();
    await rig.client('d', echo);
    const firsts = [
      '\x00\x00\x00\x08\x04\xd2\x16\x2f',
      'GET / HTTP/1.1\r\nHost: d\r\n\r\n',
      '\x16\x03\x01\x00',
      'PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n',
    ];
    for (const first of firsts) {
      const visitor = await visit();
      visitor.write(first, 'latin1');
      assert.equal(await readUntil(visitor, (text) => text.length >= first.length), first);
      visitor.destroy();
    }
    assert.equal(rig.edge.stats().connections, firsts.length);
  });

  it('may end its side and still read, and so may the service', async () => {
    await using rig = await startRig();
    let got = '';
    await rig.client('d', (socket) => {
      socket.on('data', (chunk) => {
        got += chunk;
      });
      socket.on('end', () => socket.end(`got ${got}`));
    });
    const visitor = await visit();
    visitor.end('all');
    assert.equal(await readAll(visitor), 'got all');
  });

  it('is reset, as the service was', async () => {
    await using rig = await startRig();
    await rig.client('d', (socket) => void socket.once('data', () => socket.resetAndDestroy()));
    const visitor = await visit();
    visitor.write('x');
    const [error] = await once(visitor, 'error');
    assert.equal(error.code, 'ECONNRESET');
  });

  it('names itself to the service by PROXY protocol', async () => {
    await using rig = await startRig([tcpTunnel({ proxyProtocol: 'v1' })]);
    await rig.client('d', echo);
    const visitor = await visit();
    assert.match(
      await readUntil(visitor, (text) => text.endsWith('\n')),
      new RegExp(`^PROXY TCP4 127.0.0.1 127.0.0.1 \\d+ ${port}\r\n$`),
    );
    visitor.destroy();
  });

  it('is reset at once without a client, and if the service refuses', async () => {
    await using rig = await startRig();
    assert.equal(await knock(), '');
    const nobody = await listening();
    const { port: closed } = nobody.address() as AddressInfo;
    nobody.close();
    await rig.client('d', closed);
    assert.equal(await knock(), '');
    const { errors } = rig.edge.stats();
    assert.equal(errors.UNDERPASS_NO_CLIENT, 1);
    assert.equal(errors.UNDERPASS_UPSTREAM_REFUSED, 1);
  });
});

describe('a visitor that may not reach the tunnel', () => {
  const refused: Readonly<Record<string, { readonly tunnel: Partial<FeedTunnel>; readonly code: string }>> = {
    'by the security group': { tunnel: { allowList: ['203.0.113.0/24'] }, code: 'UNDERPASS_SOURCE_DENIED' },
    'by an empty list': { tunnel: { allowList: [] }, code: 'UNDERPASS_SOURCE_DENIED' },
    'of a suspended tunnel': { tunnel: { suspended: true }, code: 'UNDERPASS_SUSPENDED' },
  };
  for (const [name, { tunnel, code }] of Object.entries(refused)) {
    it(`${name}, is reset before the client hears of it`, async () => {
      await using rig = await startRig([tcpTunnel()]);
      const client = await rig.client('d', echo);
      await rig.control.change({ tunnels: [tcpTunnel({ ...tunnel, suspended: false })] });
      if (tunnel.suspended) await rig.control.change({ tunnels: [tcpTunnel(tunnel)] });
      assert.equal(await knock(), '');
      assert.equal(client.opened, 0);
      assert.deepEqual(rig.edge.stats().errors, { [code]: 1 });
    });
  }

  it('is cut once the group changes, and others stay', async () => {
    await using rig = await startRig([tcpTunnel()]);
    await rig.client('d', echo);
    const [stays, goes] = await Promise.all([visit(port, '127.0.0.2'), visit(port, '127.0.0.3')]);
    for (const visitor of [stays, goes]) {
      visitor.write('x');
      await once(visitor, 'data');
    }
    const gone = whenClosed(goes);
    await rig.control.change({ tunnels: [tcpTunnel({ allowList: ['127.0.0.2'] })] });
    await gone;
    stays.write('y');
    assert.equal(String((await once(stays, 'data'))[0]), 'y');
    stays.destroy();
  });

  it('is judged by the address that a balancer names, with no byte after the header', async () => {
    await using rig = await startRig([tcpTunnel({ allowList: ['192.0.2.1'] })], { balancers: [balancer] });
    const client = await rig.client('d', (socket) => void socket.write('hello'));
    const from = async (sourceAddress: string): Promise<string> => {
      const visitor = await visit(port, balancer);
      const ends = { sourceAddress, sourcePort: 1, destinationAddress: '192.0.2.9', destinationPort: port };
      visitor.write(encodeProxyHeader('v2', ends));
      return readUntil(visitor, () => true).finally(() => visitor.destroy());
    };
    assert.equal(await from('::ffff:192.0.2.1'), 'hello');
    assert.equal(await from('192.0.2.2'), '');
    assert.equal(client.opened, 1);
  });

  it('is cut without a stream if the balancer sends no header', async () => {
    await using rig = await startRig([tcpTunnel()], { balancers: [balancer], timeouts: { headMs: 500 } });
    const client = await rig.client('d', echo);
    const [silent, other] = await Promise.all([visit(port, balancer), visit(port, balancer)]);
    other.write('no header at all, and long enough to see that');
    await Promise.all([whenClosed(silent.resume()), whenClosed(other.resume())]);
    assert.equal(client.opened, 0);
  });

  it('has too many connections from one address', async () => {
    await using rig = await startRig([tcpTunnel()], { connectionLimits: { total: 100, perAddress: 2 } });
    await rig.client('d', echo);
    const held = await Promise.all([visit(port, '127.0.0.2'), visit(port, '127.0.0.2')]);
    assert.equal(await knock('127.0.0.2'), '');
    assert.equal(rig.edge.stats().refused.address, 1);
    for (const visitor of held) visitor.destroy();
  });
});

it('has several clients take turns, and the ones that stay serve on when another leaves', async () => {
  await using rig = await startRig();
  const [first] = await Promise.all(['first', 'second'].map((name) => rig.client('d', (socket) => void socket.end(name))));
  const answers = async (visits: number): Promise<Set<string>> => {
    const heard = new Set<string>();
    for (let at = 0; at < visits; at++) heard.add(await readAll(await visit()));
    return heard;
  };
  assert.deepEqual([...(await answers(8))].sort(), ['first', 'second']);
  first?.session.close();
  await eventually(() => rig.edge.stats().clients === 1);
  assert.deepEqual(await answers(4), new Set(['second']));
});

describe('the time limits', () => {
  it('end a connection that is idle, and no byte lifts them', async () => {
    await using rig = await startRig([tcpTunnel()], { timeouts: { idleStreamMs: 700 } });
    await rig.client('d', (socket) => void socket.once('data', () => socket.write('S')));
    const silent = await visit();
    const begun = await visit();
    begun.write('\x00\x00\x00\x08\x04\xd2\x16\x2f', 'latin1');
    assert.equal(String((await once(begun, 'data'))[0]), 'S');
    await Promise.all([whenClosed(silent.resume()), whenClosed(begun.resume())]);
  });

  it('end a connection whose service cannot be reached, however much its visitor sends', async () => {
    await using rig = await startRig([tcpTunnel()], { timeouts: { responseMs: 700 } });
    const client = await rig.client('d', echo);
    // It takes the stream and never answers.
    client.session.onStream = () => {
      client.opened++;
    };
    const visitor = await visit();
    const talk = setInterval(() => visitor.writable && visitor.write('x'), 50);
    await whenClosed(visitor.resume());
    clearInterval(talk);
    assert.equal(client.opened, 1);
  });
});

describe('a port', () => {
  it('is open while the feed gives it to a tcp tunnel, and moves from tunnel to tunnel without closing', async () => {
    await using rig = await startRig([]);
    assert.equal(await dial(port), 'ECONNREFUSED');
    await rig.control.change({ tunnels: [tcpTunnel()] });
    await rig.client('d', (socket) => void socket.end('d'));
    assert.equal(await readAll(await visit()), 'd');
    await rig.control.change({ tunnels: [tunnelOf('e', { type: 'tcp', hosts: [], port })] }, { tunnels: ['d'] });
    await rig.client('e', (socket) => void socket.end('e'));
    assert.equal(await readAll(await visit()), 'e');
    const visitor = await visit(port);
    const cut = whenClosed(visitor.resume());
    await rig.control.change({}, { tunnels: ['e'] });
    await cut;
    assert.equal(await dial(port), 'ECONNREFUSED');
    assert.equal(rig.edge.stats().tcpPorts, 0);
  });

  it('changes with its tunnel, and cuts the visitors of the old one', async () => {
    await using rig = await startRig();
    await rig.client('d', echo);
    const visitor = await visit();
    visitor.write('x');
    await once(visitor, 'data');
    const cut = whenClosed(visitor);
    await rig.control.change({ tunnels: [tcpTunnel({ port: second })] });
    await cut;
    assert.equal(await dial(port), 'ECONNREFUSED');
    assert.notEqual(await dial(second), 'ECONNREFUSED');
  });

  const closed: Readonly<Record<string, FeedTunnel>> = {
    'an http tunnel': tunnelOf('d', { port }),
    'an ingress tunnel': tunnelOf('d', { type: 'ingress', port }),
    'a private tcp tunnel': tunnelOf('d', { type: 'tcp', hosts: [] }),
  };
  for (const [name, tunnel] of Object.entries(closed))
    it(`is not opened for ${name}`, async () => {
      await using rig = await startRig([tunnel]);
      assert.equal(await dial(port), 'ECONNREFUSED');
      assert.deepEqual(rig.edge.stats().portProblems, {});
    });

  it('outside the range of this edge stays closed, and control hears why', async () => {
    await using rig = await startRig([tcpTunnel({ port: outside })]);
    assert.equal(await dial(outside), 'ECONNREFUSED');
    const pong = rig.control.next('pong');
    rig.control.feed?.send({ type: 'ping', id: 1 });
    assert.deepEqual((await pong).portProblems, { d: 'outside' });
  });

  it('stays closed at an edge without a range', async () => {
    await using rig = await createRig([tcpTunnel()]);
    assert.equal(await dial(port), 'ECONNREFUSED');
    assert.deepEqual(rig.edge.stats().portProblems, { d: 'outside' });
  });

  it('that another program has takes nothing down, and is opened once it is free', async (t) => {
    const taken = createServer();
    t.after(() => taken.close());
    taken.listen(port, host);
    await once(taken, 'listening');
    t.mock.timers.enable({ apis: ['setTimeout'] });
    await using rig = await startRig([tcpTunnel(), tunnelOf('e', { type: 'tcp', hosts: [], port: second })]);
    assert.deepEqual(rig.edge.stats().portProblems, { d: 'taken' });
    assert.notEqual(await dial(second), 'ECONNREFUSED');
    taken.close();
    await once(taken, 'close');
    t.mock.timers.tick(5_000);
    t.mock.timers.reset();
    await eventually(() => rig.edge.stats().tcpPorts === 2);
    assert.deepEqual(rig.edge.stats().portProblems, {});
    assert.notEqual(await dial(port), 'ECONNREFUSED');
  });

  it('that another process has is no problem until the process before this one has ended', async (t) => {
    const taken = createServer();
    t.after(() => taken.close());
    taken.listen(port, host);
    await once(taken, 'listening');
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const legacy = { sockets: new InheritedSockets([], 0), siblingPaths: ['/nobody'] };
    await using rig = await startRig([tcpTunnel()], { legacy });
    t.mock.timers.tick(5_000);
    assert.deepEqual(rig.edge.stats().portProblems, {});
    rig.edge.elderLeft();
    t.mock.timers.tick(5_000);
    t.mock.timers.reset();
    await eventually(() => rig.edge.stats().portProblems.d === 'taken');
  });

  it('closes in a drain, and lets its visitors finish', async () => {
    await using rig = await startRig();
    await rig.client('d', echo);
    const visitor = await visit();
    visitor.write('x');
    await once(visitor, 'data');
    const drained = rig.edge.drain(5_000);
    await eventually(async () => (await dial(port)) === 'ECONNREFUSED');
    visitor.end('y');
    assert.equal(await readAll(visitor), 'y');
    await drained;
  });
});

describe('with several workers', { skip: process.platform === 'linux' ? false : 'workers need Linux' }, () => {
  it('all of them open the port, and close it again', async () => {
    await using rig = await startRig([tcpTunnel()], { workers: 2 });
    await rig.client('d', (socket) => void socket.end('d'));
    for (let visits = 0; visits < 8; visits++) assert.equal(await readAll(await visit()), 'd');
    await rig.control.change({ tunnels: [tcpTunnel({ port: second })] });
    await eventually(async () => (await dial(port)) === 'ECONNREFUSED');
    for (let visits = 0; visits < 8; visits++) assert.equal(await readAll(await visit(second)), 'd');
  });
});

it('refuses a client that is too old for the type of the tunnel, and tells control', { timeout: 20_000 }, async () => {
  await using rig = await startRig();
  const told = rig.control.next('report', ({ tunnels }) => tunnels.some(({ refused }) => refused));
  const socket = rig.connectTls(regionHost, { ALPNProtocols: ['http/1.1'] });
  await once(socket, 'secureConnect');
  const headers = { [clientIdHeader]: '0'.repeat(32), [softwareHeader]: 'underpass/0.0.1' };
  const upgrade = { host: regionHost, path: carrierPath, protocol: carrierProtocol, token: 'token-d', headers };
  await requestUpgrade(socket, { ...upgrade, timeoutMs: 60_000 });
  const hello = encodeHello({ oldest: 1, newest: 2, maxStreams: 1, windowBytes: 65_536, info: {} });
  socket.write(encodeNaive({ type: frameType.hello, stream: 0, fin: false, payload: Buffer.from(hello) }));
  const { tunnels } = await told;
  assert.equal(tunnels[0]?.refused?.code, 'version');
});
