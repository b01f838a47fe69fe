import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Http2Server, type Http2Session, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Upstream } from '@underpass/rules/tunnel/upstream.ts';
import { answerHead, createRawUpstream, endHeaders, endStream, fieldBlock, frame, number } from './fixture/raw-http2.ts';
import { Http2Pool } from './http2-pool.ts';
import { createOpenUpstream, type OpenUpstream } from './open-upstream.ts';

const none = new Uint8Array(0);
const trust = { caPem: undefined, insecure: false };

async function listen(t: TestContext, server: Server | Http2Server): Promise<Upstream> {
  const sockets = new Set<Socket>();
  (server as Server).on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await once(server, 'listening');
  return { scheme: 'h2c', host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

function serve(t: TestContext, answer: (stream: ServerHttp2Stream, fields: Record<string, unknown>) => void): Promise<Upstream> {
  const server = createServer();
  server.on('stream', (stream: ServerHttp2Stream, fields) => {
    stream.on('error', () => {});
    answer(stream, fields);
  });
  return listen(t, server);
}

interface Connection {
  readonly duplex: Duplex;
  /** All bytes so far. */
  readonly text: () => string;
  /** Resolves with all bytes once they match. */
  readonly matches: (pattern: RegExp) => Promise<string>;
  /** The message of the error that broke it. */
  readonly broken: Promise<string>;
}

function open(upstream: Upstream, by: OpenUpstream = createOpenUpstream(trust), preface: Uint8Array = none): Connection {
  const duplex = by({ upstream }, preface);
  let text = '';
  const matches = async (pattern: RegExp): Promise<string> => {
    while (!pattern.test(text)) await once(duplex, 'data');
    return text;
  };
  duplex.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  const broken = new Promise<string>((resolve) => {
    duplex.on('error', (error) => resolve(error.message)).on('close', () => resolve('closed'));
  });
  return { duplex, text: () => text, matches, broken };
}

const get = (path = '/', fields = ''): string => `GET ${path} HTTP/1.1\r\nHost: app.example.com\r\n${fields}\r\n`;
const post = (fields = ''): string => `POST /x HTTP/1.1\r\nHost: app.example.com\r\nTransfer-Encoding: chunked\r\n${fields}\r\n`;
const lastChunk = '0\r\n\r\n';
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

describe('an upstream that speaks HTTP/2', () => {
  it('gets each request as a call, and answers as HTTP/1.1 would', async (t) => {
    const seen: Record<string, unknown>[] = [];
    const upstream = await serve(t, (stream, fields) => {
      seen.push(fields);
      stream.respond({ ':status': 200, 'x-a': 'b', 'set-cookie': ['c=1', 'd=2'], 'content-length': '5' });
      stream.end('hello');
    });
    const { duplex, matches } = open(upstream);
    duplex.write(get('/a?b', 'TE: trailers\r\nConnection: TE\r\nX-Twice: 1\r\nX-Twice: 2\r\nCookie: a=1; b=2\r\n'));
    const first = await matches(/hello$/);
    assert.match(first, /^HTTP\/1\.1 200 \r\nx-a: b\r\nset-cookie: c=1\r\nset-cookie: d=2\r\n/);
    assert.match(first, /\r\ncontent-length: 5\r\n\r\nhello$/);
    duplex.write(get('/second'));
    await matches(/hello[\s\S]*hello$/);
    const [asked, second] = seen;
    assert.deepEqual(
      [
        asked?.[':method'],
        asked?.[':path'],
        asked?.[':authority'],
        asked?.[':scheme'],
        asked?.te,
        asked?.['x-twice'],
        asked?.cookie,
      ],
      ['GET', '/a?b', 'app.example.com', 'http', 'trailers', '1, 2', 'a=1; b=2'],
    );
    assert.equal(second?.[':path'], '/second');
    assert.equal('connection' in (asked ?? {}), false);
  });

  it('takes and sends a body while the other is under way, and trailers both ways', async (t) => {
    const got: string[] = [];
    const upstream = await serve(t, (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('data', (piece: Buffer) => {
        got.push(piece.toString());
        stream.write(`<${piece}>`);
      });
      stream.on('trailers', (fields) => got.push(String(fields['x-sum'])));
      stream.on('end', () => stream.end());
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'grpc-message': 'fine' }));
    });
    const { duplex, matches } = open(upstream);
    duplex.write(post('Trailer: x-sum\r\n') + chunk('one'));
    await matches(/5\r\n<one>\r\n$/);
    duplex.write(chunk('two'));
    await matches(/5\r\n<two>\r\n$/);
    duplex.write('0\r\nX-Sum: 6\r\n\r\n');
    await matches(/\r\n0\r\ngrpc-status: 0\r\ngrpc-message: fine\r\n\r\n$/);
    assert.deepEqual(got, ['one', 'two', '6']);
    // The connection is ready for the next request.
    duplex.write(`${post()}${chunk('more')}${lastChunk}`);
    await matches(/<more>\r\n0\r\ngrpc-status: 0\r\n/);
  });

  it('answers with a head alone', async (t) => {
    const upstream = await serve(t, (stream) =>
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' }, { endStream: true }),
    );
    const { duplex, matches } = open(upstream);
    duplex.write(`${post()}${lastChunk}`);
    const text = await matches(/\r\n\r\n$/);
    assert.match(text, /grpc-status: 12\r\n[\s\S]*content-length: 0\r\n\r\n$/);
  });

  const bodiless: readonly (readonly [string, number, Record<string, string>, RegExp])[] = [
    ['HEAD', 200, { 'content-length': '7' }, /content-length: 7\r\n\r\n$/],
    ['GET', 204, {}, /^HTTP\/1\.1 204 \r\ndate: [^\r]*\r\n\r\n$/],
    ['GET', 304, { etag: '"a"' }, /^HTTP\/1\.1 304 \r\netag: "a"\r\ndate: [^\r]*\r\n\r\n$/],
  ];
  for (const [method, status, fields, expected] of bodiless) {
    it(`has no body for ${method} with status ${status}`, async (t) => {
      const upstream = await serve(t, (stream) => stream.respond({ ':status': status, ...fields }, { endStream: true }));
      const { duplex, matches } = open(upstream);
      duplex.write(get().replace('GET', method));
      assert.match(await matches(/\r\n\r\n$/), expected);
      duplex.write(get().replace('GET', method));
      await matches(/\r\n\r\nHTTP[\s\S]*\r\n\r\n$/);
    });
  }

  it('may send interim answers first', async (t) => {
    const upstream = await serve(t, (stream) => {
      stream.additionalHeaders({ ':status': 103, link: '</a.css>' });
      stream.respond({ ':status': 200 });
      stream.end('x');
    });
    const { duplex, matches } = open(upstream);
    duplex.write(get());
    assert.match(await matches(/0\r\n\r\n$/), /^HTTP\/1\.1 103 \r\nlink: <\/a\.css>\r\n\r\nHTTP\/1\.1 200 \r\n/);
  });

  it('hears that a visitor left', async (t) => {
    let began: ServerHttp2Stream | undefined;
    const upstream = await serve(t, (stream) => {
      began = stream;
      stream.respond({ ':status': 200 });
      stream.write('x');
    });
    const { duplex, matches } = open(upstream);
    duplex.write(get());
    await matches(/x\r\n$/);
    duplex.destroy();
    await once(began!, 'close');
    assert.equal(began?.rstCode, 8);
  });

  for (const code of [0, 1, 2, 8]) {
    it(`breaks the answer off if the upstream resets the call with ${code}`, async (t) => {
      const arrived = Promise.withResolvers<void>();
      const upstream = await listen(
        t,
        createRawUpstream((socket, stream) => {
          socket.write(Buffer.concat([answerHead(stream), frame('data', 0, stream, Buffer.from('x'))]));
          void arrived.promise.then(() => socket.write(frame('reset', 0, stream, number(code))));
        }),
      );
      const { duplex, matches, broken, text } = open(upstream);
      duplex.write(get());
      await matches(/x\r\n$/);
      arrived.resolve();
      assert.equal(await Promise.race([broken, matches(/\r\n0\r\n/)]), `the upstream ended the call (${code})`);
      assert.doesNotMatch(text(), /\r\n0\r\n/);
    });
  }

  it('breaks the answer off if the connection is lost', async (t) => {
    const upstream = await serve(t, (stream) => {
      stream.respond({ ':status': 200 });
      stream.write('x', () => setImmediate(() => stream.session?.socket.destroy()));
    });
    const { duplex, matches, broken, text } = open(upstream);
    duplex.write(get());
    await matches(/x\r\n$/);
    assert.match(await broken, /the upstream ended the call/);
    assert.doesNotMatch(text(), /\r\n0\r\n/);
  });

  for (const [what, lose] of [
    ['is reset', (session) => (session.socket as Socket).resetAndDestroy()],
    ['ends with an error', (session) => session.destroy(new Error('x'), 2)],
  ] satisfies readonly (readonly [string, (session: Http2Session) => void])[]) {
    it(`breaks the answer off if the connection ${what} while its visitor reads slowly`, async (t) => {
      let session: Http2Session | undefined;
      const upstream = await serve(t, (stream) => {
        session = stream.session!;
        stream.respond({ ':status': 200 });
        session.on('error', () => {});
        stream.end(Buffer.alloc(200_000, 'a'));
      });
      const { duplex, broken, text, matches } = open(upstream);
      duplex.write(get());
      await matches(/a/);
      duplex.pause();
      for (let n = 0; n < 500; n++) await turn();
      lose(session!);
      for (let n = 0; n < 500; n++) await turn();
      duplex.resume();
      assert.match(await Promise.race([broken, matches(/\r\n0\r\n/)]), /^the upstream ended the call/);
      assert.doesNotMatch(text(), /\r\n0\r\n/);
    });
  }

  it('answers before the request is whole', async (t) => {
    const head = (stream: number): Buffer => frame('headers', endHeaders | endStream, stream, fieldBlock({ 'grpc-status': '8' }));
    const upstream = await listen(
      t,
      createRawUpstream((socket, stream) => socket.write(Buffer.concat([head(stream), frame('reset', 0, stream, number(0))]))),
    );
    const { duplex, matches } = open(upstream);
    duplex.write(post() + chunk('one'));
    await matches(/content-length: 0\r\n\r\n$/);
    duplex.write(chunk('two'));
    await turn();
    assert.equal(duplex.destroyed, false);
  });

  it('holds back a visitor while it reads nothing, and an upstream whose visitor reads nothing', async (t) => {
    let paused: ServerHttp2Stream | undefined;
    let answeredBytes = 0;
    const upstream = await serve(t, (stream) => {
      paused = stream.pause();
      stream.respond({ ':status': 200 });
      const more = (): void => {
        while (answeredBytes < 64 * 1024 * 1024 && stream.write(Buffer.alloc(16_384))) answeredBytes += 16_384;
      };
      stream.on('drain', more);
      more();
    });
    const duplex = createOpenUpstream(trust)({ upstream }, none);
    duplex.on('error', () => {});
    let taken = 0;
    duplex.write(post());
    const piece = chunk('x'.repeat(60_000));
    for (let n = 0; n < 200; n++) duplex.write(piece, () => taken++);
    const quiet = async (): Promise<string> => {
      for (let seen = ''; ; ) {
        for (let n = 0; n < 200; n++) await turn();
        const now = `${taken} ${answeredBytes}`;
        if (now === seen) return now;
        seen = now;
      }
    };
    await quiet();
    assert.ok(taken < 20, `${taken} pieces`);
    assert.ok(answeredBytes < 2 * 1024 * 1024, `${answeredBytes} bytes`);
    paused?.resume();
    duplex.resume();
    while (taken < 200) await turn();
    duplex.destroy();
  });
});

describe('connections to an upstream', () => {
  const quick = (stream: ServerHttp2Stream): void => {
    stream.respond({ ':status': 200 });
    stream.end('x');
  };

  it('are shared by visitors, and not by those with different PROXY headers', async (t) => {
    const server = createServer();
    let connections = 0;
    server.on('stream', quick).on('session', () => connections++);
    const upstream = await listen(t, server);
    const by = createOpenUpstream(trust);
    const ask = async (): Promise<void> => {
      const { duplex, matches } = open(upstream, by);
      duplex.write(get());
      await matches(/0\r\n\r\n$/);
    };
    await Promise.all(Array.from({ length: 20 }, ask));
    await ask();
    assert.equal(connections, 1);
  });

  it('are as many as the upstream allows calls', async (t) => {
    const server = createServer({ settings: { maxConcurrentStreams: 2 } });
    const held: ServerHttp2Stream[] = [];
    let connections = 0;
    server.on('stream', (stream: ServerHttp2Stream) => held.push(stream)).on('session', () => connections++);
    const upstream = await listen(t, server);
    const by = createOpenUpstream(trust);
    const all = Array.from({ length: 7 }, () => {
      const one = open(upstream, by);
      one.duplex.write(get());
      return one;
    });
    while (held.length < 7) await turn();
    assert.ok(connections >= 4, `${connections}`);
    held.forEach(quick);
    for (const { matches } of all) await matches(/0\r\n\r\n$/);
  });

  it('lose no call when the upstream leaves with GOAWAY', async (t) => {
    const server = createServer();
    let [calls, connections] = [0, 0];
    server.on('session', (session) => {
      connections++;
      // The first leaves while calls arrive: those after the last stream that it names were not begun.
      session.on('stream', (stream) => {
        stream.on('error', () => {});
        if (++calls === 5) session.goaway(0, stream.id);
        if (calls !== 6 || connections !== 1) quick(stream);
        else stream.close(7);
      });
    });
    const upstream = await listen(t, server);
    const by = createOpenUpstream(trust);
    const ask = async (body: string): Promise<string> => {
      const { duplex, matches } = open(upstream, by);
      duplex.write(`${post()}${chunk(body)}${lastChunk}`);
      return matches(/0\r\n\r\n$/);
    };
    for (const answer of await Promise.all(Array.from({ length: 30 }, (_, n) => ask(`body ${n}`))))
      assert.match(answer, /^HTTP\/1\.1 200/);
    assert.ok(connections > 1);
  });

  const refused: readonly (readonly [string, Upstream['scheme'], (socket: Socket) => void])[] = [
    ['answers in HTTP/1.1', 'h2c', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n')],
    ['closes', 'h2c', (socket) => socket.end()],
    ['resets', 'h2c', (socket) => socket.resetAndDestroy()],
    ['sends a TLS alert', 'h2c', (socket) => socket.end(Buffer.from('15030100020228', 'hex'))],
  ];
  for (const [what, scheme, on] of refused) {
    it(`say that it does not speak HTTP/2 if it ${what}`, async (t) => {
      const upstream = await listen(
        t,
        createTcpServer((socket) => socket.once('data', () => on(socket))),
      );
      const duplex = createOpenUpstream(trust)({ upstream: { ...upstream, scheme } }, none);
      const [error] = await once(duplex, 'error');
      assert.equal(error.code, 'ERR_UPSTREAM_NOT_HTTP2');
    });
  }

  it('take no further call after one that was given up in silence', async (t) => {
    let connections = 0;
    const server = createServer();
    server.on('session', () => connections++);
    server.on('stream', (stream: ServerHttp2Stream) => stream.on('error', () => {}));
    const caller = new Http2Pool(trust, 0).for(await listen(t, server), none);
    for (let n = 1; n <= 3; n++) {
      const call = await caller.call({ ':path': '/' }, { endStream: true, waitForTrailers: false });
      // Its acknowledgement of our SETTINGS is no silence.
      if (n === 1) await once(server, 'stream');
      for (let turns = 0; turns < 50; turns++) await turn();
      const later = await caller.call({ ':path': '/' }, { endStream: true, waitForTrailers: false });
      later.close(8);
      await once(later, 'close');
      call.close(8);
      assert.equal(connections, n);
    }
  });

  it('take no further call after several with short deadlines that were all given up in silence', async (t) => {
    let connections = 0;
    const server = createServer();
    server.on('session', () => connections++);
    server.on('stream', (stream: ServerHttp2Stream) => stream.on('error', () => {}));
    const caller = new Http2Pool(trust, 300).for(await listen(t, server), none);
    const first = await caller.call({ ':path': '/' }, { endStream: true, waitForTrailers: false });
    await once(server, 'stream');
    first.close(8);
    for (const startMs = performance.now(); performance.now() - startMs < 10_000 && connections === 1; ) {
      const call = await caller.call({ ':path': '/' }, { endStream: true, waitForTrailers: false });
      setTimeout(() => call.close(8), 50);
      await once(call, 'close');
    }
    assert.equal(connections, 2);
  });

  it('end soon after their calls if they began with a PROXY header, which nobody else may use', async (t) => {
    const preface = Buffer.from('PROXY UNKNOWN\r\n');
    const server = createServer().on('stream', quick);
    // Takes the header off.
    const upstream = await listen(
      t,
      createTcpServer((socket) =>
        socket.once('readable', () => {
          socket.read(preface.length);
          server.emit('connection', socket);
        }),
      ),
    );
    const ended = once(server, 'session').then(([session]) => once(session, 'close', { signal: AbortSignal.timeout(5000) }));
    const { duplex, matches } = open(upstream, createOpenUpstream(trust), preface);
    duplex.write(get());
    await matches(/0\r\n\r\n$/);
    duplex.destroy();
    await ended;
  });

  it('say that nothing listens', async (t) => {
    const server = createTcpServer();
    const upstream = await listen(t, server);
    server.close();
    await once(server, 'close');
    const [error] = await once(createOpenUpstream(trust)({ upstream }, none), 'error');
    assert.equal(error.code, 'ECONNREFUSED');
  });
});

describe('a hostile upstream breaks its own call at most', () => {
  it('with many interim answers, while other calls of the connection go on', async (t) => {
    let sessions = 0;
    let other: ServerHttp2Stream | undefined;
    const server = createServer().on('session', () => sessions++);
    server.on('stream', (stream: ServerHttp2Stream, fields) => {
      stream.on('error', () => {});
      if (fields[':path'] === '/other') other = stream;
      if (fields[':path'] === '/') stream.respond({ ':status': 200 }, { endStream: true });
      for (let n = 0; n < 40 && fields[':path'] === '/many'; n++) stream.additionalHeaders({ ':status': 103 });
    });
    const upstream = await listen(t, server);
    const by = createOpenUpstream(trust);
    const [waiting, many] = [open(upstream, by), open(upstream, by)];
    waiting.duplex.write(get('/other'));
    while (other === undefined) await turn();
    many.duplex.write(get('/many'));
    assert.equal(await many.broken, 'the upstream ended the call (8)');
    other.respond({ ':status': 200 });
    other.end('x');
    await Promise.race([waiting.matches(/0\r\n\r\n$/), waiting.broken.then((why) => assert.fail(why))]);
    // The next call goes to another connection.
    const next = open(upstream, by);
    next.duplex.write(get());
    await next.matches(/\r\n\r\n$/);
    assert.equal(sessions, 2);
  });

  const settings = (id: number, value: number): Buffer =>
    frame('settings', 0, 0, Buffer.concat([Buffer.of(0, id), number(value)]));
  const overflow = (stream: number): Buffer => frame('window', 0, stream, number(0x7fffffff));
  const endless = (socket: Socket, piece: Buffer): void => {
    const more = (): void => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('drain', more);
    more();
  };
  const long = Buffer.from('v'.repeat(100)).toString();
  const attacks: readonly (readonly [string, (socket: Socket, stream: number) => void, Buffer?])[] = [
    ['SETTINGS_MAX_FRAME_SIZE below the least', (socket) => socket.write(settings(5, 1))],
    ['SETTINGS_MAX_FRAME_SIZE above the most', () => {}, settings(5, 0xffffff + 1)],
    ['SETTINGS_INITIAL_WINDOW_SIZE above the most', (socket) => socket.write(settings(4, 0x80000000))],
    [
      'endless CONTINUATION',
      (socket, stream) => {
        socket.write(frame('headers', 0, stream, fieldBlock({})));
        endless(socket, frame('continuation', 0, stream, fieldBlock({ 'x-a': long }, false)));
      },
    ],
    [
      'a head without an end',
      (socket, stream) => {
        const fields = Object.fromEntries(Array.from({ length: 140 }, (_, n) => [`x-${n}`, long]));
        endless(socket, frame('headers', 0, stream, fieldBlock(fields)));
      },
    ],
    [
      'endless interim answers',
      (socket, stream) => endless(socket, frame('headers', endHeaders, stream, Buffer.from('4803313033', 'hex'))),
    ],
    [
      'huge trailers',
      (socket, stream) => {
        socket.write(answerHead(stream));
        const fields = Object.fromEntries(Array.from({ length: 130 }, (_, n) => [`x-${n}`, long]));
        const block = fieldBlock(fields, false);
        socket.write(frame('headers', endStream, stream, block.subarray(0, 16_000)));
        for (let at = 16_000; at < block.length; at += 16_000)
          socket.write(frame('continuation', 0, stream, block.subarray(at, at + 16_000)));
        endless(socket, frame('continuation', 0, stream, Buffer.alloc(0)));
      },
    ],
    [
      'more DATA than its window',
      (socket, stream) => {
        socket.write(answerHead(stream));
        endless(socket, frame('data', 0, stream, Buffer.alloc(16_384)));
      },
    ],
    ['a window that overflows', (socket) => socket.write(Buffer.concat([overflow(0), overflow(0)]))],
    [
      'a window of a stream that overflows',
      (socket, stream) => socket.write(Buffer.concat([overflow(stream), overflow(stream)])),
    ],
    ['DATA before a head', (socket, stream) => socket.write(frame('data', 0, stream, Buffer.from('x')))],
    ['a push', (socket, stream) => socket.write(frame('push', endHeaders, stream, Buffer.concat([number(2), fieldBlock({})])))],
    ['frames of a stream that was never opened', (socket) => socket.write(answerHead(99))],
    ['a GOAWAY with an error', (socket) => socket.write(frame('goaway', 0, 0, Buffer.concat([number(0), number(11)])))],
    ['resets of each call', (socket, stream) => socket.write(frame('reset', 0, stream, number(7)))],
    [
      'a status that HTTP/1.1 has not',
      (socket, stream) => socket.write(frame('headers', endHeaders, stream, Buffer.from('4803363030', 'hex'))),
    ],
    ['an upgrade', (socket, stream) => socket.write(frame('headers', endHeaders, stream, Buffer.from('4803313031', 'hex')))],
  ];
  for (const [what, onCall, first] of attacks) {
    it(`with ${what}`, async (t) => {
      const upstream = await listen(t, first === undefined ? createRawUpstream(onCall) : createRawUpstream(onCall, first));
      const before = process.memoryUsage.rss();
      const by = createOpenUpstream(trust);
      const { duplex, broken } = open(upstream, by);
      // Its visitor reads nothing.
      duplex.pause();
      duplex.write(post() + chunk('body'));
      const timer = setTimeout(() => duplex.destroy(), 300);
      await broken;
      clearTimeout(timer);
      for (let n = 0; n < 20; n++) await turn();
      const grownBytes = process.memoryUsage.rss() - before;
      assert.ok(grownBytes < 96 * 1024 * 1024, `${grownBytes} bytes`);
      // The process and other tunnels go on.
      const kind = await serve(t, (stream) => {
        stream.respond({ ':status': 200 });
        stream.end('x');
      });
      const other = open(kind, by);
      other.duplex.write(get());
      await other.matches(/0\r\n\r\n$/);
    });
  }
});
