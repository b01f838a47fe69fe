import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { eventually } from '@underpass/rules/test-kit.ts';
import type { Stream } from '@underpass/wire/api.ts';
import type { GoawayCode } from '@underpass/wire/core/code.ts';
import { frameType } from '@underpass/wire/core/frame.ts';
import { encodeHello, type Info } from '@underpass/wire/core/hello.ts';
import { carrierPath, carrierProtocol, clientIdHeader, softwareHeader } from '@underpass/wire/core/upgrade.ts';
import type { FeedTunnel } from '@underpass/wire/feed/feed.ts';
import { encodeNaive } from '@underpass/wire/fixture/naive-codec.ts';
import { HandshakeError, requestUpgrade } from '@underpass/wire/handshake.ts';
import { createRig, hashOf, type Rig, readUntil, regionHost, type TestClient, tunnelOf } from '../fixture/rig.ts';
import { ProjectWindows } from './project-windows.ts';

async function refusal(attempt: Promise<unknown>): Promise<string> {
  const error = await attempt.then(
    () => null,
    (reason) => reason,
  );
  assert.ok(error instanceof HandshakeError, String(error));
  return error.code;
}

const goaway = (client: TestClient): Promise<GoawayCode> =>
  new Promise((resolve) => {
    client.session.onGoaway = resolve;
  });

const clientsOf = (rig: Rig, count: number) => rig.control.next('report', ({ tunnels }) => tunnels[0]?.clients.length === count);

describe('a client at the gate', () => {
  it('refuses an unknown token, one of a suspended tunnel and an expired one, each with its reason', async () => {
    const expired = [{ hash: hashOf('token-old'), expiresAtMs: 1 }];
    await using rig = await createRig([tunnelOf('t'), tunnelOf('s', { suspended: true }), tunnelOf('old', { tokens: expired })]);
    assert.equal(await refusal(rig.client('t', 1, { token: 'wrong' })), 'token-refused');
    assert.equal(await refusal(rig.client('old', 1)), 'token-refused');
    assert.equal(await refusal(rig.client('s', 1)), 'tunnel-suspended');
  });

  it('reads the token only from its header', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const socket = await rig.visit(regionHost);
    socket.write(
      `GET /underpass?token=token-t HTTP/1.1\r\nHost: ${regionHost}\r\nConnection: Upgrade\r\nUpgrade: underpass\r\n\r\n`,
    );
    assert.match(await readUntil(socket, (text) => text.endsWith('request.\n')), /^HTTP\/1\.1 400 /);
  });

  it('answers a browser on the region’s host, over HTTP/1.1 and HTTP/2', async () => {
    await using rig = await createRig([]);
    const plain = await rig.visit(regionHost);
    plain.write(`GET / HTTP/1.1\r\nHost: ${regionHost}\r\n\r\n`);
    assert.match(await readUntil(plain, (text) => text.endsWith('request.\n')), /^HTTP\/1\.1 400 /);
    const { connect } = await import('node:http2');
    const h2 = connect(`https://${regionHost}`, {
      createConnection: () => rig.connectTls(regionHost, { ALPNProtocols: ['h2'] }),
    });
    const [headers] = await once(h2.request({ ':path': '/' }), 'response');
    assert.equal(headers[':status'], 404);
    h2.destroy();
  });

  it('takes 64 clients of a tunnel, and lets those reconnect', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const ids = Array.from({ length: 64 }, (_, i) => i.toString(16).padStart(32, '0'));
    for (const clientId of ids) await rig.client('t', 1, { clientId });
    assert.equal(await refusal(rig.client('t', 1)), 'too-many-clients');
    await rig.client('t', 1, { clientId: ids[0] as string });
  });
});

describe('a refusal is reported to control', () => {
  it('of a token that the tunnel had before, and of a suspended tunnel', async () => {
    await using rig = await createRig([tunnelOf('t'), tunnelOf('s', { suspended: true })]);
    await rig.control.change({ tunnels: [tunnelOf('t', { tokens: [{ hash: hashOf('new'), expiresAtMs: null }] })] });
    const both = rig.control.next('report', ({ tunnels }) => tunnels.filter(({ refused }) => refused).length === 2);
    assert.equal(await refusal(rig.client('t', 1)), 'token-refused');
    assert.equal(await refusal(rig.client('s', 1)), 'tunnel-suspended');
    const { tunnels } = await both;
    assert.deepEqual(tunnels.map(({ tunnelId, refused }) => [tunnelId, refused?.code, refused?.address]).sort(), [
      ['s', 'tunnel-suspended', '127.0.0.1'],
      ['t', 'token-refused', '127.0.0.1'],
    ]);
  });

  it('of a client without a protocol version in common, which says its versions after the upgrade', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const told = rig.control.next('report', ({ tunnels }) => tunnels.some(({ refused }) => refused));
    const socket = rig.connectTls(regionHost, { ALPNProtocols: ['http/1.1'] });
    await once(socket, 'secureConnect');
    const headers = { [clientIdHeader]: '0'.repeat(32), [softwareHeader]: 'underpass/9.0.0' };
    const upgrade = { host: regionHost, path: carrierPath, protocol: carrierProtocol, token: 'token-t', headers };
    await requestUpgrade(socket, { ...upgrade, timeoutMs: 60_000 });
    const hello = encodeHello({ oldest: 9, newest: 9, maxStreams: 1, windowBytes: 65_536, info: {} });
    socket.write(encodeNaive({ type: frameType.hello, stream: 0, fin: false, payload: Buffer.from(hello) }));
    const { tunnels } = await told;
    assert.deepEqual(
      tunnels.map(({ refused }) => [refused?.code, refused?.address]),
      [['version', '127.0.0.1']],
    );
  });

  it('but not of the fifth token before, of a token that no tunnel had, and of a deleted tunnel', async () => {
    await using rig = await createRig([tunnelOf('t'), tunnelOf('d')]);
    for (const token of ['1', '2', '3', '4', '5'])
      await rig.control.change({ tunnels: [tunnelOf('t', { tokens: [{ hash: hashOf(token), expiresAtMs: null }] })] });
    await rig.control.change({}, { tunnels: ['d'] });
    assert.equal(await refusal(rig.client('t', 1)), 'token-refused', 'the fifth before');
    assert.equal(await refusal(rig.client('t', 1, { token: 'wrong' })), 'token-refused');
    assert.equal(await refusal(rig.client('d', 1)), 'token-refused');
    await rig.client('t', 1, { token: '5' });
    const { tunnels } = await clientsOf(rig, 1);
    assert.deepEqual(
      tunnels.map(({ tunnelId, refused }) => ({ tunnelId, refused })),
      [{ tunnelId: 't', refused: undefined }],
    );
  });
});

describe('the last client that leaves is reported to control', () => {
  it('with its goodbye, or without one', async () => {
    await using rig = await createRig([tunnelOf('t'), tunnelOf('u')]);
    const [stopped, lost] = [await rig.client('t', 1), await rig.client('u', 1)];
    const left = (tunnelId: string) =>
      rig.control.next('report', ({ tunnels }) => tunnels.some((each) => each.tunnelId === tunnelId && each.left !== undefined));
    const first = left('t');
    stopped.session.drain();
    assert.equal((await first).tunnels.find(({ tunnelId }) => tunnelId === 't')?.left?.onPurpose, true);
    const second = left('u');
    lost.socket.destroy();
    assert.equal((await second).tunnels.find(({ tunnelId }) => tunnelId === 'u')?.left?.onPurpose, false);
  });
});

describe('disconnects', () => {
  it('a client whose token was rotated, at once or when it expires', async (t) => {
    const hourMs = 3_600_000;
    const now = Date.now;
    let laterMs = 0;
    t.mock.method(Date, 'now', () => now() + laterMs);
    await using rig = await createRig([tunnelOf('t')]);
    const client = await rig.client('t', 1);
    const old = { hash: hashOf('token-t'), expiresAtMs: Date.now() + hourMs };
    const fresh = { hash: hashOf('new'), expiresAtMs: null };
    const told = goaway(client);
    await rig.control.change({ tunnels: [tunnelOf('t', { tokens: [fresh, old] })] });
    assert.equal(client.session.closed, false, 'the overlap');
    laterMs = hourMs;
    assert.equal(await told, 'token-refused');
    assert.equal(await refusal(rig.client('t', 1)), 'token-refused');
    const next = await rig.client('t', 1, { token: 'new' });
    const revoked = goaway(next);
    await rig.control.change({ tunnels: [tunnelOf('t', { tokens: [] })] });
    assert.equal(await revoked, 'token-refused');
  });

  it('clients of a suspended and of a deleted tunnel', async () => {
    await using rig = await createRig([tunnelOf('s'), tunnelOf('d')]);
    const [suspended, deleted] = [goaway(await rig.client('s', 1)), goaway(await rig.client('d', 1))];
    await rig.control.change({ tunnels: [tunnelOf('s', { suspended: true })] }, { tunnels: ['d'] });
    assert.deepEqual(await Promise.all([suspended, deleted]), ['tunnel-suspended', 'token-refused']);
  });

  it('the oldest carrier of a client that has more than ten', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const clientId = 'a'.repeat(32);
    const oldest = await rig.client('t', 1, { clientId });
    const first = goaway(oldest);
    for (let more = 1; more < 10; more++) await rig.client('t', 1, { clientId });
    assert.equal(oldest.session.closed, false);
    await rig.client('t', 1, { clientId });
    assert.equal(await first, 'duplicate');
  });

  it('no serving carrier because of draining ones, but the oldest draining one past ten', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const upstreams: Socket[] = [];
    const join = () => rig.client('t', (socket) => void upstreams.push(socket), { clientId: 'a'.repeat(32) });
    /** Visits until a stream arrives on this carrier, which the edge may not know yet. */
    const askBy = async (client: TestClient): Promise<TLSSocket> => {
      const { length } = upstreams;
      const visitor = await rig.visit('t.tunnels.test');
      visitor.write('GET / HTTP/1.1\r\nHost: t.tunnels.test\r\n\r\n');
      await eventually(() => upstreams.length !== length);
      return client.opened > 0 ? visitor : askBy(client);
    };
    const answer = readUntil(await askBy(await join()), (text) => text.endsWith('ok'));
    const ends: Promise<unknown>[] = [];
    for (let left = 0; left < 11; left++) {
      const client = await join();
      ends.push(new Promise((resolve) => (client.session.onClose = resolve)));
      await askBy(client);
      client.session.drain();
    }
    await join();
    await ends[0];
    upstreams[0]?.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    assert.match(await answer, /ok$/);
  });

  it('a client that opens streams', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const client = await rig.client('t', 1);
    const told = goaway(client);
    client.session.open({
      kind: 'http',
      host: 'x',
      visitorAddress: '',
      visitorPort: 0,
      preface: new Uint8Array(0),
      tunnelId: '',
      clientId: '',
    });
    assert.equal(await told, 'protocol');
  });
});

describe('INFO tells a client', () => {
  it('how many edges the region has, every change of it, and how many carriers it may have', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const { session } = await rig.client('t', () => {});
    const { edges, carriers, tunnel } = session.peerInfo;
    assert.deepEqual([edges, carriers, tunnel], [1, 8, 't']);
    const informed = async (edges: number): Promise<void> => {
      await eventually(() => session.peerInfo.edges === edges);
      assert.equal(session.peerInfo.tunnel, 't', 'the rest is sent again');
    };
    const self = { edgeId: 'edge-1', address: '127.0.0.1:1' };
    await rig.control.change({ peers: [self, { edgeId: 'edge-2', address: '127.0.0.1:2' }] });
    await informed(2);
    assert.equal((await rig.client('t', () => {})).session.peerInfo.edges, 2);
    await rig.control.change({}, { peers: ['edge-2'] });
    await informed(1);
  });

  it("its tunnel's addresses when they change, and nothing when something else does", async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const { session } = await rig.client('t', () => {});
    const told: Info[] = [];
    session.onInfo = (info) => void told.push(info);
    const change = (changed: Partial<FeedTunnel>) => rig.control.change({ tunnels: [tunnelOf('t', changed)] });
    await change({ allowList: [] });
    await change({ hosts: ['t.tunnels.test', 'shop.example.com'] });
    await eventually(() => told.length > 0);
    assert.deepEqual(
      told.map(({ urls }) => urls?.map((url) => new URL(url).hostname)),
      [['t.tunnels.test', 'shop.example.com']],
    );
  });
});

describe('reports to control', () => {
  it('say within a moment that a client connects or leaves, and count its carriers as one client', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const clientId = 'b'.repeat(32);
    const came = clientsOf(rig, 1);
    const first = await rig.client('t', 1, { clientId });
    const second = await rig.client('t', 1, { clientId });
    const report = (await came).tunnels[0];
    assert.deepEqual(
      report?.clients.map(({ id, address, version }) => [id, address, version]),
      [[clientId, '127.0.0.1', 'underpass/0.0.0']],
    );
    const proven = rig.control.next('report', ({ tunnels }) => tunnels[0]?.clients[0]?.provenAtMs !== null);
    await proven;
    const gone = clientsOf(rig, 0);
    first.socket.destroy();
    second.socket.destroy();
    await gone;
  });

  it('count what was sent, to the byte', async () => {
    await using rig = await createRig([tunnelOf('t'), tunnelOf('i', { type: 'ingress', proxyProtocol: 'v1' })]);
    const upstream = (answer: string) => {
      const counted = { received: 0, sent: 0 };
      const handler = (socket: import('node:net').Socket) =>
        void socket.on('data', (chunk: Buffer) => {
          // The edge adds this header.
          counted.received += chunk.length - (/^PROXY [^\n]*\n/.exec(chunk.toString('latin1'))?.[0].length ?? 0);
          counted.sent += answer.length;
          socket.write(answer);
        });
      return Object.assign(handler, { counted });
    };
    const http = upstream('HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello');
    const ingress = upstream('raw hello');
    // Bytes that are sent again, because one client refuses the stream, count once.
    await rig.client('t', 1);
    await rig.client('t', http);
    await rig.client('i', ingress);
    const request = 'GET / HTTP/1.1\r\nHost: i.tunnels.test\r\nConnection: keep-alive\r\n\r\n';
    const passed = await rig.visitRaw('http');
    passed.write(request);
    await readUntil(passed, (text) => text.endsWith('hello'));
    passed.write('more');
    await readUntil(passed, (text) => text.endsWith('hello'));
    const visitor = await rig.visit('t.tunnels.test');
    for (let i = 0; i < 3; i++) {
      visitor.write(request.replace('i.', 't.'));
      await readUntil(visitor, (text) => text.endsWith('hello'));
    }
    const { tunnels } = await rig.control.next('report', (report) => report.tunnels.some(({ requests }) => requests === 3));
    const reportOf = (id: string) => {
      const { rxBytes, txBytes, connections, requests } = tunnels.find(({ tunnelId }) => tunnelId === id)!;
      return { rxBytes, txBytes, connections, requests };
    };
    const figures = ({ counted: { received, sent } }: typeof http) => ({ rxBytes: received, txBytes: sent });
    assert.deepEqual(reportOf('t'), { ...figures(http), connections: 1, requests: 3 });
    assert.deepEqual(reportOf('i'), { ...figures(ingress), connections: 1, requests: 0 });
    assert.equal(ingress.counted.sent, 2 * 'raw hello'.length);
  });
});

/** The first window of a client's stream: writes 16 KiB at a time until it must wait. */
function firstWindow(stream: Stream): number {
  let sent = 0;
  stream.accept();
  while (stream.write(Buffer.alloc(16_384))) sent += 16_384;
  return sent;
}

describe('what the edge holds for visitors that do not read', () => {
  it('is bounded for a project, however many tunnels and clients it has', async () => {
    const other = tunnelOf('c', { projectId: 'q' });
    await using rig = await createRig([tunnelOf('a'), tunnelOf('b'), other], { connectionLimits: { total: 10_000 } });
    const clients = await Promise.all(['a', 'a', 'a', 'b', 'c'].map((id) => rig.client(id, 1)));
    let opened = 0;
    for (const { session } of clients) session.onStream = () => void opened++;
    const sessions = Array.from({ length: 6 }, () => {
      const createConnection = () => rig.connectTls('a.tunnels.test', { ALPNProtocols: ['h2'] });
      return connectHttp2('https://a.tunnels.test', { createConnection }).on('error', () => {});
    });
    // 512 windows of 256 KiB are half of what the project has.
    const reached = (count: number): Promise<void> =>
      new Promise((resolve) => {
        const looking = setInterval(() => {
          if (opened < count) return;
          clearInterval(looking);
          resolve();
        }, 5);
      });
    for (let asked = 0; asked < 512; asked++) sessions[asked % 6]?.request({ ':path': '/' }).on('error', () => {});
    await reached(512);
    const windowOf = async (client: TestClient, host: string): Promise<number> => {
      const window = new Promise<number>((resolve) => (client.session.onStream = (stream) => resolve(firstWindow(stream))));
      (await rig.visit(host)).write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      return await window;
    };
    assert.equal(await windowOf(clients[3] as TestClient, 'b.tunnels.test'), 65_536);
    assert.equal(await windowOf(clients[4] as TestClient, 'c.tunnels.test'), 262_144, 'another project');
    for (const session of sessions) session.destroy();
  });

  it('is forgotten with the last carrier of the project', () => {
    const windows = new ProjectWindows();
    const budget = windows.take('p');
    assert.equal(windows.take('p'), budget);
    assert.notEqual(windows.take('q'), budget);
    windows.give('p');
    assert.equal(windows.projects, 2);
    windows.give('p');
    assert.equal(windows.projects, 1);
  });

  it('is given back by each carrier that closes', async (t) => {
    const take = t.mock.method(ProjectWindows.prototype, 'take');
    await using rig = await createRig([tunnelOf('t')]);
    const carriers = [await rig.client('t', 1), await rig.client('t', 1)];
    const windows = take.mock.calls[0]?.this as ProjectWindows;
    assert.equal(windows.projects, 1);
    const gone = clientsOf(rig, 0);
    for (const { socket } of carriers) socket.destroy();
    await gone;
    assert.equal(windows.projects, 0);
  });
});
