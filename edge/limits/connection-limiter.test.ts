import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect as connectHttp2, constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import type { ConnectionOptions } from 'node:tls';
import { eventually } from '@underpass/rules/test-kit.ts';
import { pino } from 'pino';
import { encodeProxyHeader } from '../core/proxy-protocol.ts';
import { createRig, type Rig, readAll, readUntil, tunnelOf, whenClosed } from '../fixture/rig.ts';
import { ConnectionLimiter } from './connection-limiter.ts';

const host = 't.tunnels.test';
const ingress = tunnelOf('i', { type: 'ingress', hosts: ['i.tunnels.test'] });
const plainRequest = 'GET / HTTP/1.1\r\nHost: i.tunnels.test\r\n\r\n';
const served = () => createServer((_, response) => response.end('ok'));

/** A TCP connection from a loopback address: this machine owns all of 127/8. */
async function dial(rig: Rig, port: 'https' | 'http', localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: rig.edge.ports[port], localAddress });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Dials an edge that is full: the connection closes before or just after it opens. */
function dialRefused(rig: Rig, port: 'https' | 'http', localAddress = '127.0.0.1'): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port: rig.edge.ports[port], localAddress });
  socket.on('error', () => {});
  return whenClosed(socket);
}

const dialMany = (rig: Rig, count: number, localAddress?: string): Promise<Socket[]> =>
  Promise.all(Array.from({ length: count }, () => dial(rig, 'https', localAddress)));

const isEmpty =
  ({ edge }: Rig): (() => boolean) =>
  () =>
    edge.stats().open === 0 && edge.stats().addresses === 0 && edge.stats().sockets === 0;

async function answerTo(rig: Rig, localAddress: string): Promise<string> {
  const visitor = rig.connectTls(host, { localAddress } as ConnectionOptions);
  visitor.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  return await readAll(visitor);
}

describe('a source address', () => {
  it('at its limit is refused while another is served, and served again once its connections close', async () => {
    await using rig = await createRig([tunnelOf('t')], { connectionLimits: { total: 100, perAddress: 4 } });
    await rig.client('t', served());
    const held = await dialMany(rig, 4, '127.0.0.2');
    await eventually(() => rig.edge.stats().open === 5);
    assert.equal(await answerTo(rig, '127.0.0.2'), '');
    assert.match(await answerTo(rig, '127.0.0.3'), /^HTTP\/1\.1 200 OK/);
    assert.deepEqual(rig.edge.stats().refused, { address: 1, total: 0, blocked: 0 });
    held[0]?.destroy();
    await eventually(() => rig.edge.stats().open === 4);
    assert.match(await answerTo(rig, '127.0.0.2'), /^HTTP\/1\.1 200 OK/);
  });

  it('counts on both ports together', async () => {
    await using rig = await createRig([tunnelOf('t')], { connectionLimits: { total: 100, perAddress: 2 } });
    await dial(rig, 'http', '127.0.0.2');
    await dial(rig, 'https', '127.0.0.2');
    await eventually(() => rig.edge.stats().open === 2);
    await dialRefused(rig, 'http', '127.0.0.2');
    assert.deepEqual(rig.edge.stats().refused, { address: 1, total: 0, blocked: 0 });
  });

  it('behind a balancer is the one in the header, and the balancer itself has no limit', async () => {
    await using rig = await createRig([ingress], { balancers: ['127.0.0.1'], connectionLimits: { total: 100, perAddress: 2 } });
    const from = async (sourceAddress: string): Promise<string> => {
      const ends = { sourceAddress, sourcePort: 1, destinationAddress: sourceAddress, destinationPort: 80 };
      const visitor = await dial(rig, 'http');
      visitor.write(encodeProxyHeader('v2', ends));
      visitor.write('GET / HTTP/1.1\r\nHost: nobody\r\n');
      open.push(visitor);
      return await readUntil(visitor, () => true);
    };
    const open: Socket[] = [];
    const held = ['2001:db8::1', '2001:db8::2', '192.0.2.1', '::ffff:192.0.2.1', '192.0.2.2'].map(from);
    await eventually(() => rig.edge.stats().addresses === 3 && rig.edge.stats().open === 5);
    assert.equal(await from('2001:db8::ffff'), '', 'the same /64');
    assert.equal(await from('192.0.2.1'), '', 'IPv4-mapped was IPv4');
    assert.deepEqual(rig.edge.stats().refused, { address: 2, total: 0, blocked: 0 });
    for (const visitor of open) visitor.destroy();
    await Promise.all(held);
    await eventually(isEmpty(rig));
  });
});

describe('requests beyond the first of their HTTP/2 connection', () => {
  /** Sends this many requests on one connection; a refused one fails with an error. */
  function ask(rig: Rig, count: number, localAddress: string) {
    const createConnection = () => rig.connectTls(host, { localAddress, ALPNProtocols: ['h2'] } as ConnectionOptions);
    const session = connectHttp2(`https://${host}`, { createConnection });
    const streams = Array.from({ length: count }, () => session.request({ ':path': '/', ':authority': host }));
    const refused: Promise<number>[] = streams.map((stream) =>
      whenClosed(stream.on('error', () => {})).then(() => stream.rstCode),
    );
    return { session, streams, refused };
  }

  it('of one address are limited to a quarter of the total, and other addresses are served', async () => {
    await using rig = await createRig([tunnelOf('t')], { connectionLimits: { total: 40, perAddress: 10 } });
    let waiting = 0;
    await rig.client('t', (socket) => void socket.once('data', () => waiting++));
    const crowd = ask(rig, 15, '127.0.0.2');
    await eventually(() => waiting === 11 && rig.edge.stats().refused.address === 4);
    assert.equal(await Promise.race(crowd.refused), constants.NGHTTP2_REFUSED_STREAM);
    assert.equal(ask(rig, 3, '127.0.0.3').streams.length, 3);
    await eventually(() => waiting === 14);
    for (const stream of crowd.streams.slice(0, 5)) stream.close(constants.NGHTTP2_CANCEL);
    await Promise.all(crowd.refused.slice(0, 5));
    const more = Array.from({ length: 5 }, () =>
      crowd.session.request({ ':path': '/', ':authority': host }).on('error', () => {}),
    );
    await eventually(() => waiting === 19);
    assert.equal(rig.edge.stats().refused.address, 4);
    assert.equal(more.length, 5);
  });

  it('count as connections towards the total until they end', async () => {
    await using rig = await createRig([tunnelOf('t')], { connectionLimits: { total: 8, perAddress: 8 } });
    let waiting = 0;
    await rig.client('t', (socket) => void socket.once('data', () => waiting++));
    const { session } = ask(rig, 3, '127.0.0.2');
    const second = ask(rig, 3, '127.0.0.3');
    await eventually(() => waiting === 6);
    ask(rig, 2, '127.0.0.4');
    await eventually(() => rig.edge.stats().refused.total === 1);
    session.destroy();
    second.session.destroy();
    await eventually(() => rig.edge.stats().open === 2);
    ask(rig, 3, '127.0.0.5');
    await eventually(() => waiting === 10);
    assert.deepEqual(rig.edge.stats().refused, { address: 0, total: 1, blocked: 0 });
  });
});

describe('the whole edge', () => {
  it('counts a connection before its first byte, behind a balancer too', async () => {
    await using rig = await createRig([ingress], { balancers: ['127.0.0.1'], connectionLimits: { total: 3, perAddress: 2 } });
    await dialMany(rig, 3);
    await eventually(() => rig.edge.stats().open === 3);
    await dialRefused(rig, 'https');
    assert.deepEqual(rig.edge.stats().refused, { address: 0, total: 1, blocked: 0 });
  });

  it('admits clients when visitors are refused already, and refuses both when it is full', async () => {
    await using rig = await createRig([tunnelOf('t'), ingress], { connectionLimits: { total: 20, perAddress: 20 } });
    await rig.client('t', served());
    await dialMany(rig, 17);
    await eventually(() => rig.edge.stats().open === 18);
    assert.equal(await answerTo(rig, '127.0.0.1'), '', 'an http tunnel');
    await dialRefused(rig, 'http');
    const raw = rig.connectTls('i.tunnels.test');
    await whenClosed(raw);
    assert.equal(rig.edge.stats().refused.total, 3);
    await rig.client('t', served());
    await rig.client('t', served());
    assert.equal(rig.edge.stats().open, 20);
    await assert.rejects(rig.client('t', served()));
  });

  it('logs refusals once, however many there are', async () => {
    const lines: { msg: string; refused: number }[] = [];
    const sink = new Writable({ write: (line, _, done) => done(void lines.push(JSON.parse(line))) });
    await using rig = await createRig([ingress], {
      connectionLimits: { total: 5, perAddress: 5 },
      log: pino({ level: 'warn' }, sink),
    });
    await dialMany(rig, 5);
    await Promise.all(Array.from({ length: 50 }, () => dialRefused(rig, 'https')));
    assert.equal(rig.edge.stats().refused.total, 50);
    assert.equal(lines.filter(({ msg }) => msg.startsWith('connections refused')).length, 1);
  });
});

describe('several workers', () => {
  it('count separately, with the same limits', async () => {
    const workers = 2;
    await using rig = await createRig([ingress], { workers, connectionLimits: { total: 50, perAddress: 3 } });
    const visitors = Array.from({ length: 60 }, () => connect({ host: '127.0.0.1', port: rig.edge.ports.https }));
    let closed = 0;
    for (const visitor of visitors) visitor.on('error', () => {}).on('close', () => closed++);
    await eventually(() => closed === 60 - 3 * workers);
    await eventually(() => rig.edge.stats().refused.address === closed);
    assert.equal(rig.edge.stats().open, 3 * workers);
    assert.equal(rig.edge.stats().openLimit, 50 * workers);
    for (const visitor of visitors) visitor.destroy();
    await eventually(() => rig.edge.stats().open === 0);
  });
});

describe('counts come back to zero', () => {
  const kinds: Record<string, (rig: Rig) => Promise<Socket>> = {
    'after silence': (rig) => dial(rig, 'https'),
    'after half a handshake': async (rig) => {
      const socket = await dial(rig, 'https');
      socket.write(Buffer.of(0x16, 0x03, 0x01, 0x02));
      return socket;
    },
    'after a request over HTTP/1.1': async (rig) => {
      const socket = await rig.visit(host);
      socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      await readUntil(socket, (text) => text.endsWith('ok'));
      return socket;
    },
    'after HTTP/2': (rig) => rig.visit(host, { ALPNProtocols: ['h2'] }),
    'after passthrough': async (rig) => {
      const socket = await dial(rig, 'http');
      socket.write(plainRequest);
      await readUntil(socket, (text) => text.length > 0);
      return socket;
    },
  };
  for (const [name, open] of Object.entries(kinds)) {
    for (const end of ['end', 'destroy', 'resetAndDestroy'] as const) {
      it(`${name}, by ${end}()`, async () => {
        await using rig = await createRig([tunnelOf('t'), ingress]);
        const client = await rig.client('t', served());
        const echo = await rig.client('i', (socket) => void socket.pipe(socket));
        const visitors = await Promise.all(Array.from({ length: 3 }, () => open(rig)));
        await eventually(() => rig.edge.stats().open === 5);
        for (const visitor of visitors) {
          visitor.resume();
          if (end === 'resetAndDestroy' && 'encrypted' in visitor) visitor.destroy();
          else visitor[end]();
        }
        await eventually(() => rig.edge.stats().open === 2);
        for (const { session, socket } of [client, echo]) {
          session.close();
          await whenClosed(socket);
        }
        await eventually(isEmpty(rig));
      });
    }
  }
});

it('counts the requests beyond the first of a connection among those that have ended: their memory is to be returned too', () => {
  const limiter = new ConnectionLimiter({ total: 100, perAddress: 100 }, pino({ level: 'silent' }));
  for (let i = 0; i < 3; i++) limiter.admitExtraRequest('192.0.2.1');
  assert.equal(limiter.closed, 0);
  for (let i = 0; i < 3; i++) limiter.releaseExtraRequest('192.0.2.1');
  assert.equal(limiter.closed, 3);
});
