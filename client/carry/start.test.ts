import assert from 'node:assert/strict';
import dns from 'node:dns';
import { createServer as createHttpServer } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import type { HttpUpstream } from '@underpass/rules/tunnel/upstream.ts';
import { goawayCodes } from '@underpass/wire/core/code.ts';
import { finFlag, frameType } from '@underpass/wire/core/frame.ts';
import { encodeOpen } from '@underpass/wire/core/open.ts';
import { createTestAuthority } from '@underpass/wire/fixture/certificate.ts';
import { encodeFrame } from '@underpass/wire/fixture/frames.ts';
import { carry, listen, nowhere, outcome, startUpstream, visit, visitor } from './fixture/carrying.ts';
import { type FakeCarrier, startFakeEdge } from './fixture/edge.ts';

const http = (upstream: HttpUpstream['upstream'], domain: string | null = null) =>
  ({ type: 'http', list: [{ domain, upstream }] }) as const;

const none = new Uint8Array(0);
const ping = (n: number): Uint8Array => encodeFrame(frameType.ping, 0, Uint8Array.of(0, 0, 0, 0, 0, 0, 0, n));
const pong = (n: number): Uint8Array => encodeFrame(frameType.pong, 0, Uint8Array.of(0, 0, 0, 0, 0, 0, 0, n));
const goaway = (code: keyof typeof goawayCodes): Uint8Array =>
  encodeFrame(frameType.goaway, 0, Uint8Array.of(goawayCodes[code] >> 8, goawayCodes[code] & 0xff));

/** Rejects if the other side closes before the text arrives. */
function heard(socket: Socket, words: Uint8Array): Promise<void> {
  let all = Buffer.alloc(0);
  return new Promise((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => {
      all = Buffer.concat([all, chunk]);
      if (all.includes(words)) resolve();
    });
    socket.once('close', () => reject(new Error(`not heard: ${Buffer.from(words)}`)));
  });
}

const happens = <Value>(assign: (resolve: (value: Value) => void) => void): Promise<Value> => new Promise(assign);

describe('an upstream with a Host of its own', () => {
  const request = (fields: string) => Buffer.from(`GET / HTTP/1.1\r\nHost: app.example.com\r\n${fields}\r\n`);

  it('sees that Host in every request of a connection, and its redirects lead to the public name', async () => {
    await using edge = await startFakeEdge();
    const server = createHttpServer((asked, response) => {
      const location = `http://localhost:${asked.socket.localPort}/x`;
      response.writeHead(302, { location, 'content-length': 14 }).end(asked.headers.host);
    });
    await using upstream = await listen(server, 'http');
    const list = [{ domain: null, upstream: upstream.upstream, sentHost: 'intern.example' }];
    using _client = carry({ url: edge.url, upstreams: { type: 'http', list } });
    const stream = visit(await edge.next());
    const got = outcome(stream);
    const { onData } = stream;
    let seen = '';
    stream.onData = (chunk) => {
      onData(chunk);
      const complete = seen.match(/intern\.example/g)?.length ?? 0;
      seen += chunk.toString('latin1');
      if (complete === 0 && seen.endsWith('intern.example')) stream.write(request('Connection: close\r\n'));
    };
    stream.write(request(''));
    const answers = await got;
    assert.equal(answers.match(/intern\.example/g)?.length, 2);
    assert.equal(answers.match(/location: https:\/\/app\.example\.com\/x\r\n/gi)?.length, 2);
  });

  it('gets no request that comes before the answer to the last one', async () => {
    await using edge = await startFakeEdge();
    const asked: string[] = [];
    const server = createHttpServer((incoming) => asked.push(incoming.url ?? ''));
    await using upstream = await listen(server, 'http');
    const list = [{ domain: null, upstream: upstream.upstream, sentHost: 'intern.example' }];
    using _client = carry({ url: edge.url, upstreams: { type: 'http', list } });
    const stream = visit(await edge.next());
    const got = outcome(stream);
    stream.write(request(''));
    stream.write(request(''));
    assert.equal(await got, 'reset protocol');
    assert.ok(asked.length <= 1);
  });
});

describe('carriers', () => {
  it('number two to a single edge, share one client id, and both appear in the status', async () => {
    await using edge = await startFakeEdge({ info: { tunnel: 'shop', urls: ['https://shop.example'] } });
    using client = carry({ url: edge.url });
    const [first, second] = [await edge.next(), await edge.next()];
    assert.equal(first.clientId, second.clientId);
    await client.event('connected');
    await client.event('connected');
    const status = client.carrying.status();
    assert.equal(status.state, 'connected');
    assert.deepEqual(
      status.carriers.map(({ edge: id, region }) => [id, region]),
      [
        ['edge-1', 'test'],
        ['edge-1', 'test'],
      ],
    );
    assert.equal(status.tunnel, 'shop');
    assert.deepEqual(status.urls, ['https://shop.example']);
  });

  it('share one bound on what streams may make the client hold', async () => {
    await using upstream = await startUpstream(() => {});
    await using edge = await startFakeEdge();
    using _client = carry({ url: edge.url, upstreams: http(upstream.upstream) });
    const [first, second] = [await edge.next(), await edge.next()];
    /** What the client lets a new stream send at once. */
    const windowOf = async (carrier: FakeCarrier): Promise<number> => {
      const stream = visit(carrier);
      await happens<void>((resolve) => (stream.onOpened = resolve));
      let sent = 0;
      while (stream.write(Buffer.alloc(16_384))) sent += 16_384;
      return sent;
    };
    assert.equal(await windowOf(second), 262_144);
    // With these, 256 windows of 256 KiB are half of what the client has.
    const opened = Array.from({ length: 255 }, () => happens<void>((resolve) => (visit(first).onOpened = resolve)));
    await Promise.all(opened);
    assert.equal(await windowOf(second), 65_536);
  });

  for (const [how, gone] of [
    ['are lost', 'connecting'],
    ['have drained', 'stopped'],
    ['are closed', 'stopped'],
  ] as const) {
    it(`keep the name and the addresses of the tunnel in the status when they ${how}`, async () => {
      await using edge = await startFakeEdge({ info: { tunnel: 'shop', urls: ['https://shop.example'] } });
      using client = carry({ url: edge.url });
      const held = [await edge.next(), await edge.next()];
      for (const _ of held) await client.event('connected');
      if (how === 'are lost') for (const { socket } of held) socket.destroy();
      if (how === 'have drained') void client.carrying.drain();
      if (how === 'are closed') client.carrying.close();
      for (const _ of held) await client.event('disconnected');
      while (client.carrying.status().state !== gone) await new Promise(setImmediate);
      const { carriers, tunnel, urls } = client.carrying.status();
      assert.deepEqual([carriers, tunnel, urls], [[], 'shop', ['https://shop.example']]);
    });
  }

  it('count as connected when the edge has answered the first PING, not at its HELLO', async () => {
    let words: Uint8Array | null = new Uint8Array(0);
    await using edge = await startFakeEdge({ mute: () => words });
    using client = carry({ url: edge.url });
    await edge.pinged;
    client.clock.advance(9_000);
    assert.equal(client.carrying.status().state, 'connecting');
    words = null;
    client.clock.advance(1_000);
    assert.equal((await client.event('failed')).problem.code, 'connection-lost');
    client.clock.advance(1_000);
    await client.event('connected');
  });

  it('are dialled again if the edge drains before it has answered', async () => {
    let words: Uint8Array | null = goaway('drain');
    await using edge = await startFakeEdge({ mute: () => words });
    using client = carry({ url: edge.url });
    assert.equal((await client.event('failed')).problem.code, 'edge-busy');
    words = null;
    client.clock.advance(1_000);
    await client.event('connected');
  });

  it('are dialled again if the edge answers and drains in one read', async () => {
    const opened = encodeFrame(frameType.open, 2, encodeOpen(visitor, 65_536));
    let words: Uint8Array | null = Buffer.concat([opened, pong(1), goaway('drain')]);
    await using upstream = await startUpstream(() => {});
    await using edge = await startFakeEdge({ mute: () => words });
    using client = carry({ url: edge.url, upstreams: http(upstream.upstream) });
    assert.equal((await client.event('failed')).problem.code, 'edge-busy');
    assert.equal(client.carrying.status().state, 'connecting');
    words = null;
    client.clock.advance(1_000);
    await client.event('connected');
  });

  it('to the first edge stay if the second edge answers and drains', async () => {
    let words: Uint8Array | null = null;
    await using edge = await startFakeEdge({ edges: ['edge-1', 'edge-1', 'edge-2'], info: { edges: 2 }, mute: () => words });
    using client = carry({ url: edge.url });
    const held = [await edge.next(), await edge.next()];
    for (const _ of held) await client.event('connected');
    words = Buffer.concat([pong(1), goaway('drain')]);
    client.clock.advance(5_000);
    const taken = await edge.pinged;
    while (!taken.closed) await new Promise(setImmediate);
    assert.deepEqual(
      client.carrying.status().carriers.map((carrier) => carrier.edge),
      ['edge-1', 'edge-1'],
    );
    assert.deepEqual(
      client.events.filter(({ kind }) => kind === 'disconnected'),
      [],
    );
  });

  it('are dialled again after a loss and after a refusal', async () => {
    let refusing = false;
    await using edge = await startFakeEdge({ refuse: () => (refusing ? { code: 'unready' } : null) });
    using client = carry({ url: edge.url });
    await edge.next();
    await edge.next();
    await client.event('connected');
    await client.event('connected');
    refusing = true;
    for (const { socket } of [...edge.carriers]) socket.destroy();
    await client.event('disconnected');
    await client.event('disconnected');
    client.clock.advance(1_000);
    assert.deepEqual((await client.event('failed')).problem.code, 'edge-busy');
    refusing = false;
    client.clock.advance(30_000);
    await edge.next();
    await client.event('connected');
    assert.equal(client.carrying.status().state, 'connected');
  });

  it('are dialled at growing intervals if each is lost right after it connects', async () => {
    await using edge = await startFakeEdge();
    using client = carry({ url: edge.url });
    const loseBoth = async (): Promise<void> => {
      for (const _ of [await edge.next(), await edge.next()]) await client.event('connected');
      for (const { socket } of [...edge.carriers]) socket.destroy();
      for (const _ of ['one', 'other']) await client.event('disconnected');
    };
    const [probe, waits] = [1, 2];
    for (const delayMs of [1_000, 2_000, 4_000]) {
      await loseBoth();
      while (client.clock.timers > probe + waits) await new Promise(setImmediate);
      client.clock.advance(delayMs - 1);
      assert.equal(client.clock.timers, probe + waits, `before ${delayMs} ms are over`);
      client.clock.advance(1);
    }
    await client.event('connected');
    await client.event('connected');
    client.clock.advance(10_000);
    for (const { socket } of [...edge.carriers]) socket.destroy();
    for (const _ of ['one', 'other']) await client.event('disconnected');
    client.clock.advance(1_000);
    await client.event('connected');
  });

  it('keep trying slowly with a refused token, and report it again after two minutes', async () => {
    await using edge = await startFakeEdge();
    using client = carry({ url: edge.url, token: 'old' });
    const { problem, retryMs } = await client.event('failed');
    assert.equal(problem.code, 'token-refused');
    assert.equal(retryMs, 5_000);
    assert.equal(client.carrying.status().problem?.code, 'token-refused');
    const reports = () => client.events.filter(({ kind }) => kind === 'failed').length;
    for (const seconds of [5, 10, 20, 40, 60]) {
      assert.equal(reports(), 1);
      const [before, timers] = [edge.attempts, client.clock.timers];
      client.clock.advance(seconds * 1_000);
      while (edge.attempts === before || client.clock.timers < timers) await new Promise(setImmediate);
    }
    assert.equal(reports(), 2);
  });

  for (const [type, other] of [
    ['http', 'ingress'],
    ['ingress', 'http'],
  ] as const) {
    it(`with upstreams for ${type} are closed if the token belongs to an ${other} tunnel, and the problem says so`, async () => {
      await using edge = await startFakeEdge({ info: { tunnel: 'shop', type: other } });
      const upstreams = type === 'http' ? http(nowhere) : ({ type, list: [{ port: 80, upstream: nowhere }] } as const);
      using client = carry({ url: edge.url, upstreams });
      const { problem, retryMs } = await client.event('failed');
      assert.deepEqual(problem, { code: 'wrong-type', detail: `shop is an ${other} tunnel` });
      assert.equal(retryMs, 5_000);
      assert.equal(client.carrying.status().state, 'connecting');
      while (edge.carriers.length > 0) await new Promise(setImmediate);
    });
  }

  it('stay if the edge sends the same type, or none', async () => {
    await using edge = await startFakeEdge({ info: { type: 'http' } });
    using client = carry({ url: edge.url });
    await client.event('connected');
  });

  it('wait as long as the edge asks', async () => {
    await using edge = await startFakeEdge({ refuse: () => ({ code: 'too-many-clients', retryAfterSeconds: 7 }) });
    using client = carry({ url: edge.url });
    assert.equal((await client.event('failed')).retryMs, 8_000);
  });

  it('move to a second edge if the region has one', async () => {
    await using edge = await startFakeEdge({ edges: ['edge-1', 'edge-1', 'edge-2'], info: { edges: 2 } });
    using client = carry({ url: edge.url });
    await edge.next();
    const double = await edge.next();
    await client.event('connected');
    await client.event('connected');
    const gone = happens((resolve) => (double.session.onClose = resolve));
    client.clock.advance(5_000);
    await gone;
    assert.deepEqual(
      client.carrying
        .status()
        .carriers.map((carrier) => carrier.edge)
        .sort(),
      ['edge-1', 'edge-2'],
    );
  });

  it('are three while the region has three edges, one at each', async () => {
    const info = { edges: 3 };
    await using edge = await startFakeEdge({ edges: ['edge-1', 'edge-2', 'edge-3', 'edge-3'], info });
    using client = carry({ url: edge.url });
    const edgesNow = (): readonly string[] =>
      client.carrying
        .status()
        .carriers.map((carrier) => carrier.edge)
        .sort();
    const held = [await edge.next(), await edge.next(), await edge.next()];
    for (const _ of held) await client.event('connected');
    assert.deepEqual(edgesNow(), ['edge-1', 'edge-2', 'edge-3']);
    held[0]!.session.inform({ ...info, edges: 2 });
    for (const each of held.slice(1)) each.session.inform({ ...info, edges: 2 });
    await client.event('disconnected');
    assert.equal(edgesNow().length, 2);
    held[0]!.session.inform(info);
    await client.event('connected');
    assert.equal(edgesNow().length, 3);
  });

  it('start one search for a second edge at a time, and end it when closed', async () => {
    let words: Uint8Array | null = null;
    await using edge = await startFakeEdge({
      edges: ['edge-1', 'edge-1', 'edge-2', 'edge-1'],
      info: { edges: 2 },
      mute: () => words,
    });
    using client = carry({ url: edge.url });
    const held = [await edge.next(), await edge.next()];
    for (const _ of held) await client.event('connected');
    words = none;
    client.clock.advance(5_000);
    const looking = await edge.pinged;
    words = null;
    held[1]!.socket.destroy();
    await client.event('disconnected');
    client.clock.advance(1_000);
    await client.event('connected');
    looking.destroy();
    const [probe, pulses, look] = [1, 2, 1];
    while (client.clock.timers > probe + pulses + look) await new Promise(setImmediate);
    client.carrying.close();
    while (client.clock.timers > 0) await new Promise(setImmediate);
  });

  it('to an edge that is already in use get no HELLO, so that the edge sends no visitor over them', async () => {
    await using edge = await startFakeEdge({ edges: ['edge-1', 'edge-1', 'edge-1', 'edge-2'], info: { edges: 2 } });
    using client = carry({ url: edge.url });
    for (const _ of [await edge.next(), await edge.next()]) await client.event('connected');
    client.clock.advance(5_000);
    const [probe, pulses, look] = [1, 2, 1];
    while (edge.attempts < 3 || client.clock.timers < probe + pulses + look) await new Promise(setImmediate);
    client.clock.advance(10_000);
    assert.equal((await edge.next()).edge, 'edge-2');
  });

  it('that turn out to be duplicates finish the streams that the edge has opened', async () => {
    await using upstream = await startUpstream((socket) => socket.on('data', (chunk) => socket.end(chunk)));
    await using edge = await startFakeEdge({ info: { edges: 2 }, nameless: true });
    using client = carry({ url: edge.url, upstreams: http(upstream.upstream) });
    for (const _ of [await edge.next(), await edge.next()]) await client.event('connected');
    client.clock.advance(5_000);
    const stream = visit(await edge.next());
    const got = outcome(stream);
    await happens<void>((resolve) => (stream.onOpened = resolve));
    stream.write(Buffer.from('not cut'));
    stream.end();
    assert.equal(await got, 'not cut');
  });

  it('are replaced when an edge drains, and its open streams finish', async () => {
    await using upstream = await startUpstream((socket) => socket.on('data', (chunk) => socket.end(chunk)));
    await using edge = await startFakeEdge();
    using client = carry({ url: edge.url, upstreams: http(upstream.upstream) });
    const leaving = await edge.next();
    await edge.next();
    await client.event('connected');
    await client.event('connected');
    const stream = visit(leaving);
    await happens<void>((resolve) => (stream.onOpened = resolve));
    leaving.session.drain();
    await client.event('disconnected');
    client.clock.advance(1_000);
    await edge.next();
    const got = outcome(stream);
    stream.write(Buffer.from('still here'));
    stream.end();
    assert.equal(await got, 'still here');
  });
});

describe('the certificate of the edge', () => {
  it('is refused if its CA is not the pinned one, and no token is sent', async () => {
    await using edge = await startFakeEdge();
    using client = carry({ url: edge.url.replace(/.{4}$/, '0000') });
    assert.equal((await client.event('failed')).problem.code, 'certificate-unknown');
    assert.equal(edge.attempts, 0);
  });

  it('is refused without a pin if no public CA signed it', async () => {
    await using edge = await startFakeEdge();
    using client = carry({ url: edge.url.replace(/#.*/, '') });
    assert.equal((await client.event('failed')).problem.code, 'certificate-unknown');
    assert.equal(edge.attempts, 0);
  });

  it('is accepted if a CA given by the user signed it', async () => {
    await using edge = await startFakeEdge();
    using _client = carry({ url: edge.url.replace(/#.*/, ''), caPem: edge.authority.certificatePem });
    await edge.next();
  });

  it('is refused for another name, pinned or not', async () => {
    await using edge = await startFakeEdge({ names: ['other.localhost'] });
    using client = carry({ url: edge.url });
    assert.equal((await client.event('failed')).problem.code, 'certificate-name');
    assert.equal(edge.attempts, 0);
  });

  it('is refused if it has expired', async () => {
    await using edge = await startFakeEdge({ validity: { from: new Date('2020-01-01'), to: new Date('2020-02-01') } });
    using client = carry({ url: edge.url });
    assert.equal((await client.event('failed')).problem.code, 'certificate-expired');
  });
});

describe('a visitor', () => {
  it('reaches the upstream with bytes, half-close and preface kept', async () => {
    await using upstream = await startUpstream((socket) => {
      const chunks: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => socket.end(`got ${Buffer.concat(chunks)}`));
    });
    await using edge = await startFakeEdge();
    using client = carry({ url: edge.url, upstreams: http(upstream.upstream) });
    const stream = visit(await edge.next(), { preface: Buffer.from('PROXY ') });
    const got = outcome(stream);
    stream.write(Buffer.from('hello'));
    stream.end();
    assert.equal(await got, 'got PROXY hello');
    const { totalStreams, rxBytes, txBytes } = client.carrying.status();
    assert.deepEqual({ totalStreams, rxBytes, txBytes }, { totalStreams: 1, rxBytes: 5, txBytes: 15 });
  });

  it('reaches the upstream of its host, else the one for all domains, and never another', async () => {
    await using one = await startUpstream((socket) => socket.end('one'), 'http');
    await using other = await startUpstream((socket) => socket.end('other'), 'http');
    await using edge = await startFakeEdge();
    const list = [
      { domain: 'a.example.com', upstream: one.upstream },
      { domain: 'b.example.com', upstream: other.upstream },
    ];
    using client = carry({ url: edge.url, upstreams: { type: 'http', list } });
    const carrier = await edge.next();
    assert.equal(await outcome(visit(carrier, { host: 'a.example.com' })), 'one');
    assert.equal(await outcome(visit(carrier, { host: 'b.example.com' })), 'other');
    assert.equal(await outcome(visit(carrier, { host: '127.0.0.1' })), 'reset no-upstream');
    assert.equal(await outcome(visit(carrier, { host: 'a.example.com', kind: 'ingress-443' })), 'reset no-upstream');
    assert.equal((await client.event('stream-failed')).problem.code, 'no-upstream');
  });

  it('of an ingress tunnel reaches the upstream of its port', async () => {
    await using plain = await startUpstream((socket) => socket.end('plain'), 'tcp');
    await using edge = await startFakeEdge();
    using _client = carry({ url: edge.url, upstreams: { type: 'ingress', list: [{ port: 80, upstream: plain.upstream }] } });
    const carrier = await edge.next();
    assert.equal(await outcome(visit(carrier, { kind: 'ingress-80' })), 'plain');
    assert.equal(await outcome(visit(carrier, { kind: 'ingress-443' })), 'reset no-upstream');
    assert.equal(await outcome(visit(carrier, { kind: 'http' })), 'reset no-upstream');
  });

  it('reaches nothing that the edge asks for beyond what the user configured', async () => {
    await using _secret = await startUpstream((socket) => socket.end('internal'));
    await using upstream = await startUpstream((socket) => socket.end('public'));
    await using edge = await startFakeEdge();
    using _client = carry({ url: edge.url, upstreams: http(upstream.upstream) });
    const carrier = await edge.next();
    for (const host of ['169.254.169.254', 'localhost', `127.0.0.1:${_secret.port}`, '', '\u0000', '*', ':80']) {
      assert.equal(await outcome(visit(carrier, { host })), 'public');
    }
    assert.equal(_secret.sockets.size, 0);
  });

  it('gets a reset code that says whether the upstream refuses, does not resolve, or resets', async () => {
    await using resetting = await startUpstream((socket) => socket.on('data', () => socket.resetAndDestroy()));
    await using edge = await startFakeEdge();
    const closed = await startUpstream(() => {});
    await closed[Symbol.asyncDispose]();
    const list = [
      { domain: 'refuses.example', upstream: closed.upstream },
      { domain: 'unnamed.example', upstream: { ...nowhere, host: 'no-such-name.invalid' } },
      { domain: 'resets.example', upstream: resetting.upstream },
    ];
    using _client = carry({ url: edge.url, upstreams: { type: 'http', list } });
    const carrier = await edge.next();
    assert.equal(await outcome(visit(carrier, { host: 'refuses.example' })), 'reset upstream-refused');
    assert.equal(await outcome(visit(carrier, { host: 'unnamed.example' })), 'reset upstream-unresolved');
    const stream = visit(carrier, { host: 'resets.example' });
    const got = outcome(stream);
    stream.write(Buffer.from('x'));
    assert.equal(await got, 'reset upstream-reset');
  });

  it('whose later request goes to an upstream that refuses lets the user know', async () => {
    await using serving = await startUpstream((socket) =>
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx')),
    );
    await using edge = await startFakeEdge();
    const closed = await startUpstream(() => {});
    await closed[Symbol.asyncDispose]();
    const list = [
      { domain: null, upstream: serving.upstream },
      { domain: null, path: '/api', upstream: closed.upstream },
    ];
    using client = carry({ url: edge.url, upstreams: { type: 'http', list } });
    const stream = visit(await edge.next());
    const answered = Promise.withResolvers<void>();
    const got = outcome(stream);
    const { onData } = stream;
    stream.onData = (chunk) => {
      answered.resolve();
      return onData(chunk);
    };
    stream.write(Buffer.from('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'));
    await answered.promise;
    stream.write(Buffer.from('GET /api HTTP/1.1\r\nHost: a.example\r\n\r\n'));
    const { problem } = await client.event('stream-failed');
    assert.deepEqual(
      [problem.code, problem.detail.includes(`:${closed.upstream.port} (ECONNREFUSED)`)],
      ['upstream-refused', true],
    );
    assert.equal(await got, 'reset upstream-reset');
  });

  it('that resets makes the upstream see a reset, not an end', async () => {
    let seeing = (_how: string): void => {};
    const seen = happens<string>((resolve) => {
      seeing = resolve;
    });
    // The client's probe of its upstream sends nothing and ends.
    await using upstream = await startUpstream((socket) => {
      socket.once('data', () => {
        socket.on('end', () => seeing('end')).on('error', (error: NodeJS.ErrnoException) => seeing(error.code ?? ''));
        socket.write('ready');
      });
    });
    await using edge = await startFakeEdge();
    using _client = carry({ url: edge.url, upstreams: http(upstream.upstream) });
    const stream = visit(await edge.next());
    stream.write(Buffer.from('x'));
    await happens((resolve) => (stream.onData = resolve));
    stream.reset('cancelled');
    assert.equal(await seen, 'ECONNRESET');
  });

  it('reaches an upstream under localhost without a DNS query', async () => {
    await using upstream = await startUpstream((socket) => socket.end('home'));
    await using edge = await startFakeEdge();
    using _client = carry({ url: edge.url, upstreams: http({ ...upstream.upstream, host: 'app.localhost' }) });
    assert.equal(await outcome(visit(await edge.next())), 'home');
  });
});

describe('an https upstream', () => {
  const startTls = async () => {
    const authority = await createTestAuthority('Upstream CA');
    const leaf = await authority.issue(['127.0.0.1']);
    const server = createTlsServer({ key: leaf.keyPem, cert: leaf.chainPem, allowHalfOpen: true }, (socket) => {
      socket.on('error', () => {}).on('data', (chunk) => socket.end(`tls ${chunk}`));
    });
    return { authority, upstream: await listen(server, 'https') };
  };

  for (const [name, trust, expected] of [
    ['is refused if no known CA signed its certificate', () => ({}), 'reset upstream-tls'],
    ['is accepted if the user gave its CA', (pem: string) => ({ upstreamCaPem: pem }), 'tls hello'],
    ['is accepted unchecked if the user says so', () => ({ upstreamInsecure: true }), 'tls hello'],
  ] as const) {
    it(name, async () => {
      const { authority, upstream } = await startTls();
      await using _upstream = upstream;
      await using edge = await startFakeEdge();
      using _client = carry({ url: edge.url, upstreams: http(upstream.upstream), ...trust(authority.certificatePem) });
      const stream = visit(await edge.next());
      const got = outcome(stream);
      stream.write(Buffer.from('hello'));
      assert.equal(await got, expected);
    });
  }

  it('without TLS is reported as a TLS problem, not as a network failure', async () => {
    await using upstream = await listen(createHttpServer(), 'https');
    await using edge = await startFakeEdge();
    using client = carry({ url: edge.url, upstreams: http(upstream.upstream) });
    const stream = visit(await edge.next());
    const got = outcome(stream);
    stream.write(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
    assert.equal(await got, 'reset upstream-tls');
    assert.equal((await client.event('stream-failed')).problem.code, 'upstream-tls');
  });

  it('gets the preface in the clear, before the handshake', async () => {
    await using upstream = await startUpstream((socket) => {
      socket.on('data', (chunk: Buffer) => {
        seen += chunk.toString('latin1');
        if (seen.length >= 10) socket.end('no TLS here');
      });
    }, 'https');
    let seen = '';
    await using edge = await startFakeEdge();
    using _client = carry({ url: edge.url, upstreams: http(upstream.upstream) });
    const stream = visit(await edge.next(), { preface: Buffer.from('PROXY v1\n') });
    assert.equal(await outcome(stream), 'reset upstream-tls');
    assert.equal(seen.slice(0, 10), 'PROXY v1\n\u0016');
  });
});

describe('an http upstream that speaks TLS', () => {
  /** What TLS servers answer to plain HTTP, by their kind. */
  const answers = [
    ['an alert, as GnuTLS does', (socket: Socket) => socket.end(Buffer.from('15030100020246', 'hex')), 'reset'],
    ['nothing, as OpenSSL does', (socket: Socket) => socket.end(), 'reset'],
    ['a TCP reset', (socket: Socket) => socket.resetAndDestroy(), 'reset'],
    ['its own page, as nginx and Go do', (socket: Socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'), 'page'],
  ] as const;

  const startTls = async (toPlain: (socket: Socket) => void) => {
    const leaf = await (await createTestAuthority()).issue(['127.0.0.1']);
    const tls = createTlsServer({ key: leaf.keyPem, cert: leaf.chainPem });
    const plainClosed = Promise.withResolvers<void>();
    const upstream = await startUpstream((socket) => {
      socket.once('data', (first: Buffer) => {
        if (first[0] !== 0x16) {
          socket.once('close', () => plainClosed.resolve());
          return void toPlain(socket);
        }
        socket.pause();
        socket.unshift(first);
        tls.emit('connection', socket);
      });
    });
    return Object.assign(upstream, { plainClosed: plainClosed.promise });
  };

  for (const [what, toPlain, expected] of answers) {
    it(`is reported and left when it answers with ${what}`, async () => {
      await using upstream = await startTls(toPlain);
      await using edge = await startFakeEdge();
      using client = carry({ url: edge.url, upstreams: http(upstream.upstream) });
      const stream = visit(await edge.next());
      const got = outcome(stream);
      stream.write(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
      const answer = await got;
      if (expected === 'page') assert.match(answer, /^HTTP\/1\.1 400 /);
      else assert.equal(answer, 'reset upstream-speaks-tls');
      assert.equal((await client.event('stream-failed')).problem.code, 'upstream-speaks-tls');
      assert.equal(client.carrying.status().problem?.code, 'upstream-speaks-tls');
      if (expected === 'page') stream.reset('cancelled');
      await upstream.plainClosed;
    });
  }

  it('is left at once when it ends without an answer and speaks no TLS', async () => {
    const closed = Promise.withResolvers<void>();
    await using upstream = await startUpstream((socket) => {
      socket.once('close', () => closed.resolve());
      socket.once('data', (first: Buffer) => first[0] === 0x16 || socket.end());
    });
    await using edge = await startFakeEdge();
    using _client = carry({ url: edge.url, upstreams: http(upstream.upstream) });
    const stream = visit(await edge.next());
    stream.write(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
    await closed.promise;
  });

  it('is not suspected after it has answered in plain HTTP', async () => {
    let greetings = 0;
    await using upstream = await startUpstream((socket) => {
      socket.once('data', (first: Buffer) => {
        if (first[0] === 0x16) greetings++;
        socket.end(first.includes('/fine') ? 'HTTP/1.1 204 No Content\r\n\r\n' : '');
      });
    });
    await using edge = await startFakeEdge();
    using _client = carry({ url: edge.url, upstreams: http(upstream.upstream) });
    const carrier = await edge.next();
    for (const path of ['/fine', '/silent']) {
      const stream = visit(carrier);
      const got = outcome(stream);
      stream.write(Buffer.from(`GET ${path} HTTP/1.1\r\n\r\n`));
      assert.match(await got, path === '/fine' ? /204/ : /^$/);
    }
    assert.equal(greetings, 0);
  });
});

it('an upstream whose answer the edge cannot read is reported', async () => {
  await using upstream = await startUpstream((socket) => void socket.once('data', () => socket.write('\0\0\0\x04\0\0\0\0\0')));
  await using edge = await startFakeEdge();
  using client = carry({ url: edge.url, upstreams: http(upstream.upstream) });
  const stream = visit(await edge.next());
  stream.onData = () => stream.reset('protocol');
  stream.write(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
  assert.equal((await client.event('stream-failed')).problem.code, 'upstream-not-http');
  assert.equal(client.carrying.status().problem?.code, 'upstream-not-http');
});

describe('health', () => {
  it('goes to the edge and into an event when an upstream fails and recovers', async () => {
    const first = await startUpstream((socket) => socket.end());
    await using edge = await startFakeEdge();
    using client = carry({ url: edge.url, upstreams: http(first.upstream) });
    const { session } = await edge.next();
    const healthy = happens((resolve) => (session.onOffers = resolve));
    assert.deepEqual(session.peerOffers ?? (await healthy), [{ key: '*', healthy: true }]);
    await first[Symbol.asyncDispose]();
    const fallen = happens((resolve) => (session.onOffers = resolve));
    const event = client.event('upstream');
    client.clock.advance(5_000);
    assert.deepEqual(await fallen, [{ key: '*', healthy: false }]);
    assert.equal((await event).problem?.code, 'upstream-refused');
    assert.equal(client.carrying.status().problem?.code, 'upstream-refused');
  });
});

describe('several clients of one tunnel', () => {
  it('have different ids, and killing one does not touch the streams of the other', async () => {
    await using upstream = await startUpstream((socket) => socket.on('data', (chunk) => socket.end(chunk)));
    await using edge = await startFakeEdge();
    using one = carry({ url: edge.url, upstreams: http(upstream.upstream) });
    const [ofOne] = [await edge.next(), await edge.next()];
    using _other = carry({ url: edge.url, upstreams: http(upstream.upstream) });
    const ofOther = await edge.next();
    assert.notEqual(ofOne.clientId, ofOther.clientId);
    const [lost, kept] = [visit(ofOne), visit(ofOther)];
    const outcomes = Promise.all([outcome(lost), outcome(kept)]);
    one.carrying.close();
    kept.write(Buffer.from('alive'));
    kept.end();
    const [first, second] = await outcomes;
    assert.match(first, /^reset /);
    assert.equal(second, 'alive');
  });
});

describe('drain', () => {
  it('accepts no new streams, lets open ones finish, and then resolves', async () => {
    await using upstream = await startUpstream((socket) => socket.on('data', (chunk) => socket.end(chunk)));
    await using edge = await startFakeEdge();
    using client = carry({ url: edge.url, upstreams: http(upstream.upstream) });
    const carrier = await edge.next();
    await edge.next();
    const stream = visit(carrier);
    await happens<void>((resolve) => (stream.onOpened = resolve));
    const drained = client.carrying.drain();
    assert.equal(client.carrying.status().state, 'draining');
    await happens((resolve) => (carrier.session.onGoaway = resolve));
    assert.equal(carrier.session.canOpen, false);
    const got = outcome(stream);
    stream.write(Buffer.from('last'));
    stream.end();
    assert.equal(await got, 'last');
    await drained;
    assert.equal(client.carrying.status().state, 'stopped');
    while (client.clock.timers > 0) await new Promise(setImmediate);
  });

  it('resolves for each of two callers', async () => {
    await using edge = await startFakeEdge();
    using client = carry({ url: edge.url });
    await client.event('connected');
    await Promise.all([client.carrying.drain(), client.carrying.drain()]);
  });

  it("lets streams finish that arrived before the edge's answer", async () => {
    let answer = (): void => {};
    const visited = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await using upstream = await startUpstream((socket) => void visited.then(() => socket.end('not cut')));
    const opened = [encodeFrame(frameType.open, 2, encodeOpen(visitor, 65_536)), encodeFrame(frameType.data | finFlag, 2, none)];
    await using edge = await startFakeEdge({ mute: () => Buffer.concat(opened) });
    using client = carry({ url: edge.url, upstreams: http(upstream.upstream) });
    const socket = await edge.pinged;
    while (upstream.sockets.size === 0) await new Promise(setImmediate);
    const drained = client.carrying.drain();
    socket.write(Buffer.concat([pong(1), ping(7), goaway('drain')]));
    await heard(socket, pong(7));
    answer();
    await heard(socket, Buffer.from('not cut'));
    await drained;
  });

  it('cuts streams that are still open after the timeout', async () => {
    await using upstream = await startUpstream(() => {});
    await using edge = await startFakeEdge();
    using client = carry({ url: edge.url, upstreams: http(upstream.upstream) });
    const stream = visit(await edge.next());
    await happens<void>((resolve) => (stream.onOpened = resolve));
    const cut = outcome(stream);
    const drained = client.carrying.drain();
    client.clock.advance(30_000);
    await drained;
    assert.equal(await cut, 'reset carrier-lost');
  });
});

describe('a proxy', () => {
  const startProxy = async (answer: string | null) => {
    const heads: string[] = [];
    const { connect } = await import('node:net');
    const upstream = await startUpstream((socket) => {
      socket.once('data', (head) => {
        heads.push(String(head));
        if (answer !== null) return void socket.end(answer);
        const [, target] = /^CONNECT \S+:(\d+) /.exec(String(head))!;
        const onward = connect({ port: Number(target), host: '127.0.0.1' });
        socket.write('HTTP/1.1 200 Connection established\r\nVia: x\r\nVia: y\r\n\r\n');
        socket.pipe(onward).pipe(socket);
        onward.on('error', () => socket.destroy());
      });
    });
    return { heads, upstream };
  };

  it('of HTTPS_PROXY gets a CONNECT with its credentials', async () => {
    const { heads, upstream } = await startProxy(null);
    await using _upstream = upstream;
    await using edge = await startFakeEdge({ names: ['edge.example'] });
    const url = edge.url.replace('edge.localhost', 'edge.example');
    using _client = carry({ url, env: { HTTPS_PROXY: `http://ann:p%40ss@127.0.0.1:${upstream.port}` } });
    await edge.next();
    assert.match(heads[0]!, new RegExp(`^CONNECT edge\\.example:${edge.port} HTTP/1\\.1\r\n`));
    assert.match(heads[0]!, new RegExp(`\r\nProxy-Authorization: Basic ${Buffer.from('ann:p@ss').toString('base64')}\r\n`));
  });

  it('is found at the second of its addresses', async (t) => {
    const { upstream } = await startProxy(null);
    await using _upstream = upstream;
    const found = [
      { address: '127.0.0.2', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ]; // the proxy listens only at the second
    const resolver = t.mock.method(dns.promises, 'lookup', async () => found);
    syncBuiltinESMExports();
    t.after(() => {
      resolver.mock.restore();
      syncBuiltinESMExports();
    });
    await using edge = await startFakeEdge({ names: ['edge.example'] });
    const url = edge.url.replace('edge.localhost', 'edge.example');
    using _client = carry({ url, env: { HTTPS_PROXY: `http://proxy.example:${upstream.port}` } });
    await edge.next();
  });

  it('over TLS may be an address, and its certificate is checked', async () => {
    const leaf = await (await createTestAuthority('Proxy CA')).issue(['127.0.0.1']);
    const server = createTlsServer({ key: leaf.keyPem, cert: leaf.chainPem }, (socket) => socket.on('error', () => {}));
    await using proxy = await listen(server, 'https');
    using client = carry({ url: 'https://edge.example', env: { HTTPS_PROXY: `https://127.0.0.1:${proxy.port}` } });
    const { problem } = await client.event('failed');
    assert.deepEqual(problem, { code: 'proxy-unreachable', detail: `127.0.0.1:${proxy.port} (SELF_SIGNED_CERT_IN_CHAIN)` });
  });

  it('that refuses is the reported problem', async () => {
    const { upstream } = await startProxy('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    await using _upstream = upstream;
    using client = carry({ url: 'https://edge.example', env: { https_proxy: `127.0.0.1:${upstream.port}` } });
    const { problem } = await client.event('failed');
    assert.deepEqual(problem, { code: 'proxy-refused', detail: `127.0.0.1:${upstream.port} answers 407` });
  });

  it('is not used for hosts in NO_PROXY', async () => {
    const { heads, upstream } = await startProxy(null);
    await using _upstream = upstream;
    await using edge = await startFakeEdge();
    using _client = carry({ url: edge.url, env: { HTTPS_PROXY: `http://127.0.0.1:${upstream.port}`, NO_PROXY: '*' } });
    await edge.next();
    assert.deepEqual(heads, []);
  });
});

describe('a region', () => {
  it('that does not resolve, refuses, or is not Underpass gives a different problem for each', async () => {
    await using web = await startUpstream((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
    const gone = await startUpstream(() => {});
    await gone[Symbol.asyncDispose]();
    for (const [url, code] of [
      ['https://no-such-name.invalid', 'name-unresolved'],
      [`https://127.0.0.1:${gone.port}`, 'edge-unreachable'],
      [`https://127.0.0.1:${web.port}`, 'not-underpass'],
    ]) {
      using client = carry({ url: url! });
      assert.equal((await client.event('failed')).problem.code, code);
    }
  });

  it('that answers as a web server over TLS is reported as not Underpass', async () => {
    const authority = await createTestAuthority();
    const leaf = await authority.issue(['web.localhost']);
    const server = createTlsServer({ key: leaf.keyPem, cert: leaf.chainPem }, (socket) => {
      socket.on('error', () => {}).once('data', () => socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'));
    });
    await using web = await listen(server, 'https');
    using client = carry({ url: `https://web.localhost:${web.port}#ca=${authority.pin}` });
    assert.equal((await client.event('failed')).problem.code, 'not-underpass');
  });
});
