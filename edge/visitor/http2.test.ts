import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants, type OutgoingHttpHeaders } from 'node:http2';
import { describe, it } from 'node:test';
import {
  encodeH2Frame,
  endHeaders,
  FrameReader,
  frameTypes,
  h2Preface,
  literal,
  requestFields,
  settingIds,
  visitByFrame,
} from '../fixture/h2-frames.ts';
import { createRig, type Rig, readUntil, tunnelOf } from '../fixture/rig.ts';

const host = 't.tunnels.test';

function session(rig: Rig, servername = host): ClientHttp2Session {
  return connect(`https://${servername}`, {
    createConnection: () => rig.connectTls(servername, { ALPNProtocols: ['h2'] }),
  });
}

interface Answer {
  readonly headers: Record<string, unknown>;
  readonly body: string;
  readonly trailers: Record<string, unknown>;
}

async function ask(
  h2: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body?: string | ((stream: ClientHttp2Stream) => void),
): Promise<Answer> {
  const stream = h2.request({ ':path': '/', ...headers }, { endStream: body === undefined });
  // An error that comes with the response rejects the read below, a turn later.
  stream.on('error', () => {});
  if (typeof body === 'function') body(stream);
  else if (body !== undefined) stream.end(body);
  let trailers = {};
  stream.on('trailers', (fields) => {
    trailers = { ...fields };
  });
  const [fields] = await once(stream, 'response');
  let text = '';
  for await (const chunk of stream.setEncoding('latin1')) text += chunk;
  return { headers: { ...fields }, body: text, trailers };
}

/** Closes the session before the rig is disposed. */
async function withSession(rig: Rig, use: (h2: ClientHttp2Session) => Promise<void>, servername = host): Promise<void> {
  const h2 = session(rig, servername);
  h2.on('error', () => {});
  try {
    await use(h2);
  } finally {
    h2.destroy();
  }
}

describe('HTTP/2 to visitors', () => {
  it('reaches the upstream as HTTP/1.1, with identity fields and joined cookies', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const upstream = createServer((request, response) => {
      response.setHeader('set-cookie', ['a=1', 'b=2']);
      response.setHeader('x-hop', '1');
      response.setHeader('connection', 'keep-alive, x-hop');
      response.end(JSON.stringify([request.httpVersion, request.method, request.url, request.headers]));
    });
    await rig.client('t', upstream);
    await withSession(rig, async (h2) => {
      const { headers, body } = await ask(h2, { ':path': '/a?b', cookie: 'x=1', 'x-forwarded-for': '9.9.9.9', te: 'trailers' });
      assert.equal(headers[':status'], 200);
      assert.deepEqual(headers['set-cookie'], ['a=1', 'b=2']);
      assert.equal(headers['x-hop'], undefined);
      assert.equal(headers.connection, undefined);
      const [version, method, url, fields] = JSON.parse(body);
      assert.deepEqual([version, method, url], ['1.1', 'GET', '/a?b']);
      assert.equal(fields.host, `${host}:443`);
      assert.equal(fields.cookie, 'x=1');
      assert.equal(fields['x-forwarded-for'], '127.0.0.1');
      assert.equal(fields['x-forwarded-proto'], 'https');
      assert.equal(fields.via, '2.0 underpass');
      assert.equal(fields.te, 'trailers');
    });
  });

  it('blames the upstream, not the visitor, when the upstream takes no more of a body', async () => {
    await using rig = await createRig([tunnelOf('t')], { timeouts: { responseMs: 400 } });
    await rig.client('t', (socket) => void socket.pause());
    await withSession(rig, async (h2) => {
      const pour = (stream: ClientHttp2Stream): void => {
        if (!stream.destroyed) stream.write(Buffer.alloc(65_536), () => pour(stream));
      };
      const { headers } = await ask(h2, { ':method': 'POST' }, pour);
      assert.equal(headers['underpass-error'], 'UNDERPASS_UPSTREAM_TIMEOUT');
    });
  });

  it('lets an upload rest as long as its answer, once that has begun', async () => {
    await using rig = await createRig([tunnelOf('t')], { timeouts: { responseMs: 300 } });
    const upstream = createServer((request, response) => {
      response.write('begun');
      request.on('end', () => response.end(' ended')).resume();
    });
    await rig.client('t', upstream);
    await withSession(rig, async (h2) => {
      const { body } = await ask(h2, { ':method': 'POST' }, (stream) => {
        stream.once('response', () => {
          stream.write('more');
          setTimeout(() => stream.end(), 1_000);
        });
      });
      assert.equal(body, 'begun ended');
    });
  });

  it('bodies and trailers pass both ways', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const upstream = createServer((request, response) => {
      let body = '';
      request.on('data', (piece) => {
        body += piece;
      });
      request.on('end', () => {
        response.writeHead(200, { trailer: 'x-sum' });
        response.write(`${body} `);
        response.addTrailers({ 'x-sum': String(body.length) });
        response.end(`${request.headers['content-length'] ?? 'chunked'} ${JSON.stringify(request.trailers)}`);
      });
    });
    await rig.client('t', upstream);
    await withSession(rig, async (h2) => {
      const sized = await ask(h2, { ':method': 'POST', 'content-length': '5' }, 'hello');
      assert.deepEqual([sized.body, sized.trailers['x-sum']], ['hello 5 {}', '5']);
      const chunked = await ask(h2, { ':method': 'POST' }, (stream) => {
        stream.write('he');
        stream.end('llo');
      });
      assert.equal(chunked.body, 'hello chunked {}');
    });
  });

  it('many requests at once share few upstream connections afterwards', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const upstream = createServer((request, response) => response.end(request.url));
    const client = await rig.client('t', upstream);
    await withSession(rig, async (h2) => {
      const paths = Array.from({ length: 40 }, (_, i) => `/${i}`);
      const answers = await Promise.all(paths.map((path) => ask(h2, { ':path': path })));
      assert.deepEqual(
        answers.map(({ body }) => body),
        paths,
      );
      const opened = client.opened;
      for (let i = 0; i < 10; i++) await ask(h2, {});
      assert.equal(client.opened, opened);
    });
  });

  it('a client that drains loses a busy visitor between two requests', async () => {
    await using rig = await createRig([tunnelOf('t')], { timeouts: { reuseMs: 250 } });
    const upstream = createServer((_, response) => response.end('ok'));
    const leaving = await rig.client('t', upstream);
    await withSession(rig, async (h2) => {
      // More at once than later: upstream connections that are no longer needed must not hold the client either.
      await Promise.all([ask(h2, {}), ask(h2, {}), ask(h2, {})]);
      const left = new Promise((resolve) => (leaving.session.onClose = resolve));
      leaving.session.drain();
      const next = await rig.client('t', upstream);
      while (next.opened === 0) assert.equal((await ask(h2, {})).body, 'ok');
      await left;
    });
  });

  it('an upstream that closes its kept connections costs no request that may be repeated, and none as it announced', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client('t', (socket) => {
      let served = false;
      socket.on('data', () => {
        if (served) socket.end();
        else socket.write('HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok');
        served = true;
      });
    });
    await withSession(rig, async (h2) => {
      await Promise.all([ask(h2, {}), ask(h2, {}), ask(h2, {})]);
      for (const method of ['GET', 'POST', 'POST']) assert.equal((await ask(h2, { ':method': method })).body, 'ok');
    });
  });

  it('a large body passes whole in both directions', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const upstream = createServer((request, response) => {
      response.writeHead(200);
      request.pipe(response);
    });
    await rig.client('t', upstream);
    await withSession(rig, async (h2) => {
      const body = 'abcdefgh'.repeat(1_000_000);
      const answer = await ask(h2, { ':method': 'POST' }, body);
      assert.equal(answer.body.length, body.length);
      assert.ok(answer.body === body);
    });
  });

  it('an upload over a long path is bounded by the window of its stream, not by that of the connection', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const { reader } = await visitByFrame(rig, host);
    const settings = await reader.until(({ type, flags }) => type === frameTypes.settings && flags === 0);
    const entries = settings?.payload ?? Buffer.alloc(0);
    const ids = Array.from({ length: entries.length / 6 }, (_, i) => [
      entries.readUInt16BE(6 * i),
      entries.readUInt32BE(6 * i + 2),
    ]);
    const { [settingIds.initialWindowSize]: streamWindow = 65_535 } = Object.fromEntries(ids);
    const update = await reader.until(({ type, stream }) => type === frameTypes.windowUpdate && stream === 0);
    const connectionWindow = 65_535 + (update?.payload.readUInt32BE() ?? 0);
    // Also with many uploads at once.
    assert.ok(connectionWindow >= 16 * streamWindow, `${connectionWindow} of ${streamWindow}`);
  });

  it('errors are pages with codes', async () => {
    await using rig = await createRig([tunnelOf('t'), tunnelOf('other')]);
    await withSession(rig, async (h2) => {
      const none = await ask(h2, {});
      assert.deepEqual([none.headers[':status'], none.headers['underpass-error']], [503, 'UNDERPASS_NO_CLIENT']);
      const other = await ask(h2, { ':authority': 'other.tunnels.test' });
      assert.deepEqual([other.headers[':status'], other.headers['underpass-error']], [421, 'UNDERPASS_MISDIRECTED']);
      const disagreeing = await ask(h2, { host: 'other.tunnels.test', ':authority': host });
      assert.equal(disagreeing.headers[':status'], 400);
      const trace = await ask(h2, { ':method': 'TRACE' });
      assert.equal(trace.headers[':status'], 405);
      // RFC 9113 8.5: CONNECT has no path.
      const tunnel = h2.request({ ':method': 'CONNECT', ':authority': `${host}:22` });
      const [refused] = await once(tunnel, 'response');
      assert.deepEqual([refused[':status'], refused['underpass-error']], [405, 'UNDERPASS_METHOD_NOT_ALLOWED']);
      tunnel.resume().end();
    });
    await withSession(
      rig,
      async (h2) => {
        const nobody = await ask(h2, {});
        assert.deepEqual([nobody.headers[':status'], nobody.headers['underpass-error']], [404, 'UNDERPASS_NO_SUCH_HOST']);
      },
      'nobody.tunnels.test',
    );
  });

  it('the rules of HTTP/1.1 hold: a target of 16 KiB, Max-Forwards, no Underpass-Error from upstreams', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const upstream = createServer((request, response) => {
      response.setHeader('underpass-error', 'UNDERPASS_SUSPENDED');
      response.end(request.headers['max-forwards'] ?? 'ok');
    });
    await rig.client('t', upstream);
    await withSession(rig, async (h2) => {
      const long = await ask(h2, { ':path': `/${'a'.repeat(16 * 1024)}` });
      assert.equal(long.headers['underpass-error'], 'UNDERPASS_TARGET_TOO_LONG');
      const here = await ask(h2, { ':method': 'OPTIONS', 'max-forwards': '0' });
      assert.deepEqual([here.headers[':status'], here.headers['underpass-error']], [200, 'UNDERPASS_MAX_FORWARDS']);
      const there = await ask(h2, { ':method': 'OPTIONS', 'max-forwards': '5' });
      assert.deepEqual([there.body, there.headers['underpass-error']], ['4', undefined]);
    });
  });

  it('a target that HTTP/1.1 would read as two requests is refused', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const client = await rig.client('t', () => {});
    for (const path of ['/ HTTP/1.1\r\nHost: x\r\n\r\nGET /', '/a b', '/\u0000', 'a', '*', '/#f']) {
      await withSession(rig, async (h2) => {
        const outcome = await ask(h2, { ':path': path }).then(
          ({ headers }) => headers[':status'],
          () => 'reset',
        );
        assert.ok(outcome === 400 || outcome === 'reset', `${JSON.stringify(path)}: ${outcome}`);
      });
    }
    assert.equal(client.opened, 0);
  });

  it('a body that ends early at the upstream resets the stream, not the connection', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const upstream = createServer((request, response) => {
      if (request.url === '/ok') return void response.end('ok');
      response.writeHead(200, { 'content-length': '10' });
      response.write('half', () => request.socket.destroy());
    });
    await rig.client('t', upstream);
    await withSession(rig, async (h2) => {
      await assert.rejects(ask(h2, {}));
      assert.equal((await ask(h2, { ':path': '/ok' })).body, 'ok');
    });
  });

  it('an upstream that repeats fields, or sends fields that HTTP/2 forbids, breaks no connection', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const twice = 'etag: "a"\r\netag: "b"\r\n';
    await rig.client('t', (socket) => {
      socket.on('data', () => {
        socket.write(
          `HTTP/1.1 103 Early Hints\r\n${twice}\r\nHTTP/1.1 200 OK\r\n${twice}te: gzip\r\ntransfer-encoding: chunked\r\n\r\n`,
        );
        socket.write(`2\r\nok\r\n0\r\n${twice}constructor: x\r\n\r\n`);
      });
    });
    const other = await rig.visit(host);
    await withSession(rig, async (h2) => {
      for (let i = 0; i < 2; i++) {
        const { headers, body, trailers } = await ask(h2, {});
        assert.deepEqual([headers[':status'], headers.etag, headers.te, body], [200, '"a"', undefined, 'ok']);
        assert.equal(trailers.constructor, 'x');
      }
    });
    other.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    await readUntil(other, (text) => text.includes('200 OK'));
  });

  it('a cancelled request ends at the upstream', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const cancelled = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const upstream = createServer((request) => {
      arrived.resolve();
      request.socket.on('close', () => cancelled.resolve());
    });
    await rig.client('t', upstream);
    await withSession(rig, async (h2) => {
      const stream = h2.request({ ':path': '/' });
      stream.on('error', () => {});
      await arrived.promise;
      stream.close(constants.NGHTTP2_CANCEL);
      await cancelled.promise;
    });
  });

  it('a drain ends the connection after the last byte of an answer', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const size = 8_000_000;
    await rig.client(
      't',
      createServer((_, response) => response.end(Buffer.alloc(size, 'x'))),
    );
    const visitor = rig.connectTls(host, { ALPNProtocols: ['h2'] });
    const h2 = connect(`https://${host}`, { createConnection: () => visitor });
    const stream = h2.request({ ':path': '/' });
    await once(stream, 'response');
    const drained = rig.edge.drain(10_000);
    let received = 0;
    for await (const chunk of stream) {
      received += chunk.length;
      visitor.pause();
      setImmediate(() => visitor.resume());
    }
    assert.equal(received, size);
    await once(h2, 'close');
    await drained;
  });

  it('a WebSocket uses HTTP/1.1: extended CONNECT is not offered, and is refused', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const upstream = createServer((_, response) => response.end('page'));
    upstream.on('upgrade', (_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      socket.pipe(socket);
    });
    await rig.client('t', upstream);
    await withSession(rig, async (h2) => {
      assert.equal((await ask(h2, {})).body, 'page');
      assert.ok(!h2.remoteSettings.enableConnectProtocol);
      const visitor = await rig.visit(host);
      const upgrade =
        'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==';
      visitor.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n${upgrade}\r\n\r\n`);
      await readUntil(visitor, (text) => text.includes('101 Switching Protocols'));
      visitor.write('over the socket');
      await readUntil(visitor, (text) => text.endsWith('over the socket'));
      assert.equal((await ask(h2, {})).body, 'page');
    });
    const attacker = await rig.visit(host, { ALPNProtocols: ['h2'] });
    const reader = new FrameReader(attacker);
    attacker.write(h2Preface());
    const fields = Buffer.concat([requestFields(host, 'CONNECT'), literal(':protocol', 'websocket')]);
    attacker.write(encodeH2Frame(frameTypes.headers, endHeaders, 1, fields));
    const answer = await reader.until(
      ({ type, stream }) => stream === 1 && (type === frameTypes.rstStream || type === frameTypes.headers),
    );
    assert.equal(answer?.type, frameTypes.rstStream);
  });

  it('a changed allow-list also cuts HTTP/2 visitors', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client(
      't',
      createServer((_, response) => response.end('ok')),
    );
    await withSession(rig, async (h2) => {
      await ask(h2, {});
      const closed = once(h2, 'close');
      await rig.control.change({ tunnels: [tunnelOf('t', { allowList: [] })] });
      await closed;
    });
  });
});
