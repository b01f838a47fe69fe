import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { eventually } from '@underpass/rules/test-kit.ts';
import { createRig, type Handler, type Rig, readAll, readUntil, tunnelOf, whenClosed } from '../fixture/rig.ts';
import { refusedHeads } from '../fixture/smuggling.ts';

const host = 't.tunnels.test';
const get = (path = '/', fields = '') => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n`;
const endsWith = (end: string) => (text: string) => text.endsWith(end);
const statusOf = (text: string) => Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]);
const codeOf = (text: string) => /\r\nunderpass-error: (\w+)\r\n/.exec(text)?.[1];

/** An upstream that answers each request head with the next of the texts, and records what it receives. */
function scripted(...answers: readonly string[]): Handler & { received: string; connections: number } {
  const left = [...answers];
  const handler = Object.assign(
    (socket: Socket): void => {
      handler.connections++;
      socket.on('data', (chunk: Buffer) => {
        handler.received += chunk.toString('latin1');
        if (/\r\n\r\n/.test(chunk.toString('latin1')) && left.length > 0) socket.write(left.shift() as string);
      });
      socket.on('end', () => socket.end());
    },
    { received: '', connections: 0 },
  );
  return handler;
}

const date = 'Date: Sun, 22 Nov 2026 08:49:37 GMT\r\n';
const ok = `HTTP/1.1 200 OK\r\n${date}Content-Length: 2\r\n\r\nok`;

describe('requests and responses', () => {
  it('several requests share one upstream connection', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const upstream = scripted(ok, ok, ok);
    const client = await rig.client('t', upstream);
    const visitor = await rig.visit(host);
    for (let i = 0; i < 3; i++) {
      visitor.write(get(`/${i}`));
      assert.equal(await readUntil(visitor, endsWith('ok')), ok);
    }
    assert.equal(client.opened, 1);
    assert.equal(upstream.connections, 1);
    assert.deepEqual(upstream.received.match(/GET \/\d/g), ['GET /0', 'GET /1', 'GET /2']);
  });

  it('bodies arrive as they were sent: by length, chunked with trailers', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const seen: string[] = [];
    const upstream = createServer((request, response) => {
      let body = '';
      request.on('data', (piece) => {
        body += piece;
      });
      request.on('end', () => {
        seen.push(`${body} ${JSON.stringify(request.trailers)}`);
        response.end('ok');
      });
    });
    await rig.client('t', upstream);
    const visitor = await rig.visit(host);
    visitor.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 10\r\n\r\nhello`);
    visitor.write('world');
    await readUntil(visitor, endsWith('ok'));
    visitor.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5;ext=1\r\nhel`);
    visitor.write('lo\r\n5\r\nworld\r\n0\r\nX-Sum: 42\r\n\r\n');
    await readUntil(visitor, endsWith('ok'));
    assert.deepEqual(seen, ['helloworld {}', 'helloworld {"x-sum":"42"}']);
  });

  it('requests sent ahead are served one after the other, in order', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const upstream = createServer((request, response) => {
      setImmediate(() => response.end(`[${request.url}]`));
    });
    await rig.client('t', upstream);
    const visitor = await rig.visit(host);
    visitor.write(Array.from({ length: 20 }, (_, i) => get(`/${i}`)).join(''));
    const text = await readUntil(visitor, (all) => all.includes('[/19]'));
    assert.deepEqual(
      text.match(/\[\/\d+\]/g),
      Array.from({ length: 20 }, (_, i) => `[/${i}]`),
    );
  });

  for (const [what, rest, answers] of [
    ['are all answered when the visitor ends its side behind them', '', 4],
    ['are answered, and half a request behind them is not', 'GET /late HTTP/1.1\r\nHost: t', 4],
    ['are answered up to one whose body is missing', `POST /4 HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 9\r\n\r\nhalf`, 4],
  ] as const) {
    it(`requests sent ahead ${what}`, async () => {
      await using rig = await createRig([tunnelOf('t')]);
      const upstream = scripted(ok, ok, ok, ok, ok);
      await rig.client('t', upstream);
      const visitor = await rig.visit(host, { allowHalfOpen: true } as ConnectionOptions);
      visitor.end(
        `${get('/0')}${get('/1')}POST /2 HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 4\r\n\r\nbody${get('/3')}${rest}`,
      );
      const heard = await readAll(visitor);
      assert.equal(heard.match(/HTTP\/1\.1 200 OK/g)?.length, answers, heard);
      assert.match(upstream.received, /body[\s\S]*GET \/3/);
    });
  }

  it('requests sent ahead after errors are all answered', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const visitor = await rig.visit(host);
    visitor.write(get().repeat(50) + get('/', 'Connection: close\r\n'));
    const text = await readAll(visitor);
    assert.equal(text.match(/underpass-error: UNDERPASS_NO_CLIENT/g)?.length, 51);
  });

  it('a request is answered after an upload that its upstream refused', { timeout: 10_000 }, async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const { session } = await rig.client('t', scripted());
    // Later, so that the whole body has arrived: the last bytes wait for a window.
    session.onStream = (stream) => void setTimeout(() => stream.reset('upstream-refused'), 300);
    const visitor = await rig.visit(host);
    const head = `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 70000\r\n\r\n`;
    visitor.write(Buffer.concat([Buffer.from(head), Buffer.alloc(70_000)]));
    assert.equal(codeOf(await readUntil(visitor, endsWith('</html>\n'))), 'UNDERPASS_UPSTREAM_REFUSED');
    visitor.write(get());
    assert.equal(codeOf(await readUntil(visitor, endsWith('</html>\n'))), 'UNDERPASS_UPSTREAM_REFUSED');
  });

  it('an interim response arrives before the body is sent', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const upstream = createServer((request, response) => {
      request.on('data', () => {});
      request.on('end', () => response.end('ok'));
    });
    await rig.client('t', upstream);
    const visitor = await rig.visit(host);
    visitor.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`);
    const interim = await readUntil(visitor, endsWith('\r\n\r\n'));
    assert.equal(interim, 'HTTP/1.1 100 Continue\r\n\r\n');
    visitor.write('hello');
    assert.match(await readUntil(visitor, endsWith('ok')), /^HTTP\/1\.1 200 OK/);
  });

  it('each server-sent event is delivered when it is sent', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    let send = (_: string): void => {};
    const upstream = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      send = (event) => void response.write(`data: ${event}\n\n`);
    });
    await rig.client('t', upstream);
    const visitor = await rig.visit(host);
    visitor.write(get());
    await readUntil(visitor, endsWith('\r\n\r\n'));
    for (const event of ['one', 'two', 'three']) {
      const delivered = readUntil(visitor, (text) => text.includes(event));
      send(event);
      await delivered;
    }
  });

  it('HEAD, 204 and 304 have no body, whatever length they give', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const head = `HTTP/1.1 200 OK\r\n${date}Content-Length: 100\r\n\r\n`;
    const unchanged = `HTTP/1.1 304 Not Modified\r\n${date}Content-Length: 100\r\n\r\n`;
    const empty = `HTTP/1.1 204 No Content\r\n${date}\r\n`;
    await rig.client('t', scripted(head, unchanged, empty, ok));
    const visitor = await rig.visit(host);
    for (const [request, answer] of [
      [get().replace('GET', 'HEAD'), head],
      [get(), unchanged],
      [get(), empty],
      [get(), ok],
    ] as const) {
      visitor.write(request);
      assert.equal(await readUntil(visitor, endsWith(answer)), answer);
    }
  });

  it('hop-by-hop fields of the response stay on their hop', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client(
      't',
      scripted(
        `HTTP/1.1 200 OK\r\n${date}Connection: keep-alive, X-Hop\r\nKeep-Alive: timeout=5\r\nX-Hop: 1\r\nUpgrade: h2\r\nContent-Length: 2\r\n\r\nok`,
      ),
    );
    const visitor = await rig.visit(host);
    visitor.write(get());
    assert.equal(await readUntil(visitor, endsWith('ok')), ok);
  });

  it('a response without a Date gets the time of its arrival, and an interim one gets none', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const short = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
    const long = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2710\r\n${'b'.repeat(10_000)}\r\n0\r\nDate: x\r\n\r\n`;
    const hinted = `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${short}`;
    await rig.client('t', scripted(short, long, hinted, ok));
    const visitor = await rig.visit(host);
    for (const answer of [short, long, hinted]) {
      const askedMs = Date.now();
      visitor.write(get());
      const text = await readUntil(visitor, endsWith(answer.slice(-6)));
      const [line = '', day = ''] = /\nDate: (.*)\r\n(?=\r\n)/.exec(text) ?? [];
      assert.equal(text.replace(line, '\n'), answer);
      assert.equal(new Date(day).toUTCString(), day);
      assert.ok(Date.parse(day) > askedMs - 1_000 && Date.parse(day) <= Date.now(), day);
    }
    visitor.write(get());
    assert.equal(await readUntil(visitor, endsWith('ok')), ok);
  });

  it('a response whose end is that of its upstream connection ends the visitor connection', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client('t', (socket) => {
      socket.once('data', () => socket.end(`HTTP/1.0 200 OK\r\n${date}\r\nall there is`));
    });
    const visitor = await rig.visit(host);
    visitor.write(get());
    assert.equal(await readAll(visitor), `HTTP/1.1 200 OK\r\n${date}Connection: close\r\n\r\nall there is`);
  });

  it('HTTP/1.0 is answered and closed; without Host it is refused', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const upstream = createServer((_, response) => response.end('ok'));
    await rig.client('t', upstream);
    const visitor = await rig.visit(host);
    visitor.write(`GET / HTTP/1.0\r\nHost: ${host}\r\n\r\n`);
    assert.match(await readAll(visitor), /^HTTP\/1\.1 200 OK\r\n[\s\S]*Connection: close\r\n\r\nok$/);
    const nameless = await rig.visit(host);
    nameless.write('GET / HTTP/1.0\r\n\r\n');
    assert.equal(statusOf(await readAll(nameless)), 400);
  });

  it('an upstream that closes kept connections costs no request', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const upstream: Handler = (socket) => {
      let served = false;
      socket.on('data', () => {
        // Ends the connection at its second request, as an upstream does whose keep-alive time runs out just then.
        if (served) socket.end();
        else socket.write(ok);
        served = true;
      });
    };
    await rig.client('t', upstream);
    const visitor = await rig.visit(host);
    for (let i = 0; i < 5; i++) {
      visitor.write(get());
      assert.equal(await readUntil(visitor, endsWith('ok')), ok);
    }
    visitor.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`);
    assert.equal(codeOf(await readUntil(visitor, endsWith('</html>\n'))), 'UNDERPASS_UPSTREAM_BROKE');
  });

  it('an upstream that closes as it announced costs no request that must not be repeated', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const announced = ok.replace('\r\n', '\r\nKeep-Alive: timeout=1\r\n');
    await rig.client('t', (socket) => {
      let served = false;
      socket.on('data', () => {
        if (served) socket.end();
        else socket.write(announced);
        served = true;
      });
    });
    const visitor = await rig.visit(host);
    for (let i = 0; i < 3; i++) {
      visitor.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`);
      assert.equal(statusOf(await readUntil(visitor, endsWith('ok'))), 200);
    }
  });

  it('an answer before the end of the request is delivered, and the connection ends', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client('t', (socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno'));
    });
    const visitor = await rig.visit(host);
    visitor.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 70000000\r\n\r\n`);
    visitor.write(Buffer.alloc(70_000));
    assert.match(await readAll(visitor), /^HTTP\/1\.1 413 Too Large\r\n[\s\S]*Connection: close\r\n\r\nno$/);
  });
});

describe('upgrades', () => {
  const upgrade = get('/ws', 'Connection: Upgrade\r\nUpgrade: websocket\r\n');
  const switched = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';

  it('after 101 bytes go both ways untouched, early ones too', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client('t', (socket) => {
      socket.once('data', () => {
        socket.write(`${switched}first`);
        socket.on('data', (chunk: Buffer) => socket.write(`<${chunk.toString('latin1')}>`, 'latin1'));
        socket.on('end', () => socket.end('last'));
      });
    });
    const visitor = await rig.visit(host, { allowHalfOpen: true } as object);
    visitor.write(`${upgrade}\x00\xff early`, 'latin1');
    assert.equal(
      await readUntil(visitor, (text) => text.includes('early>')),
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nfirst<\x00\xff early>',
    );
    visitor.end();
    assert.equal(await readAll(visitor), 'last');
  });

  it('bytes after an upgrade wait until the upstream agrees', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const upstream = scripted('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno', ok);
    await rig.client('t', upstream);
    const visitor = await rig.visit(host);
    visitor.write(`${upgrade}GET /smuggled HTTP/1.1\r\nHost: ${host}\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n`);
    await readUntil(visitor, endsWith('ok'));
    assert.match(upstream.received, /GET \/smuggled/);
    assert.ok(!upstream.received.includes('9.9.9.9'), 'bytes after a refused upgrade are read as a request');
  });

  it('an upgrade without a request for it is a bad response', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client('t', scripted(switched));
    const visitor = await rig.visit(host);
    visitor.write(get());
    assert.equal(codeOf(await readUntil(visitor, endsWith('</html>\n'))), 'UNDERPASS_BAD_RESPONSE');
  });
});

describe('what only the edge may say', () => {
  it('Underpass-Error of an upstream is removed, also under an alias', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const own = 'Underpass-Error: UNDERPASS_SUSPENDED\r\nunderpass_error: X\r\n';
    await rig.client('t', scripted(`HTTP/1.1 503 Odd\r\n${date}${own}Content-Length: 2\r\n\r\nok`));
    const visitor = await rig.visit(host);
    visitor.write(get());
    assert.doesNotMatch(await readUntil(visitor, endsWith('ok')), /underpass.error/i);
  });

  it('Underpass-Error in a trailer of an upstream breaks the response off', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const chunked = `HTTP/1.1 200 OK\r\n${date}Transfer-Encoding: chunked\r\n\r\n`;
    const upstreams: Socket[] = [];
    await rig.client('t', (socket) => {
      upstreams.push(socket);
      socket.once('data', () => socket.write(`${chunked}2\r\nok\r\n`));
    });
    const visitor = await rig.visit(host);
    visitor.write(get());
    await readUntil(visitor, endsWith('ok\r\n'));
    upstreams[0]?.write('0\r\nUnderpass-Error: UNDERPASS_SUSPENDED\r\n\r\n');
    assert.equal(await readAll(visitor), '');
  });

  it('a client that says that a visitor is not allowed counts as broken', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const client = await rig.client('t', scripted());
    client.session.onStream = (stream) => stream.reset('denied');
    const visitor = await rig.visit(host);
    visitor.write(get());
    assert.equal(codeOf(await readUntil(visitor, endsWith('</html>\n'))), 'UNDERPASS_UPSTREAM_BROKE');
  });
});

it('OPTIONS with Max-Forwards: 0 is answered here, for visitors that are allowed', async () => {
  await using rig = await createRig([tunnelOf('t'), tunnelOf('shut', { allowList: [] })]);
  const upstream = scripted(ok);
  await rig.client('t', upstream);
  for (const [name, status] of [
    ['t.tunnels.test', 200],
    ['shut.tunnels.test', 403],
  ] as const) {
    const visitor = await rig.visit(name);
    visitor.write(`OPTIONS / HTTP/1.1\r\nHost: ${name}\r\nMax-Forwards: 0\r\n\r\n`);
    const text = await readUntil(visitor, endsWith('</html>\n'));
    assert.equal(statusOf(text), status);
    assert.equal(/\r\nallow: GET, HEAD, POST/i.test(text), status === 200);
  }
  assert.equal(upstream.connections, 0);
});

describe('malformed responses', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['both lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok'],
    ['bare LF', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
    ['folded field', 'HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\n\r\n'],
    ['no status', 'HTTP/1.1 OK\r\n\r\n'],
    ['HTTP/2', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['not HTTP', 'SSH-2.0-OpenSSH\r\n'],
    ['not HTTP, shorter than a status line', '220 hi\r\n'],
    ['the alert of a TLS server', '\x15\x03\x01\0\x02\x02\x46'],
    ['interim without end', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(40)],
    ['head without end', `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(40_000)}`],
    ['204 with a body', 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello'],
  ];
  for (const [why, answer] of cases) {
    it(`${why}: 502 without any of its bytes`, async () => {
      await using rig = await createRig([tunnelOf('t')]);
      await rig.client('t', scripted(answer));
      const visitor = await rig.visit(host);
      visitor.write(get());
      const text = await readUntil(visitor, endsWith('</html>\n'));
      assert.equal(codeOf(text), 'UNDERPASS_BAD_RESPONSE');
    });
  }

  const hints: readonly (readonly [string, string, string, string])[] = [
    ['HTTP/2 alone, as gRPC does', get(), '\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64', 'UNDERPASS_UPSTREAM_SPEAKS_HTTP2'],
    [
      'a word and the end to a WebSocket, as Next.js does',
      get('/_next/webpack-hmr', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'),
      'Unauthorized',
      'UNDERPASS_UPGRADE_REFUSED',
    ],
  ];
  for (const [why, request, answer, code] of hints) {
    it(`${why}: 502 with a hint`, async () => {
      await using rig = await createRig([tunnelOf('t')]);
      await rig.client('t', (socket) => void socket.once('data', () => socket.end(Buffer.from(answer, 'latin1'))));
      const visitor = await rig.visit(host);
      visitor.write(request);
      assert.equal(codeOf(await readUntil(visitor, endsWith('</html>\n'))), code);
    });
  }

  it('an end before the head is a 502', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client('t', (socket) => socket.once('data', () => socket.end('HTTP/1.1 200')));
    const visitor = await rig.visit(host);
    visitor.write(get());
    assert.equal(codeOf(await readUntil(visitor, endsWith('</html>\n'))), 'UNDERPASS_UPSTREAM_BROKE');
  });

  it('an end inside the body resets the connection', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client('t', (socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf')));
    const visitor = await rig.visit(host);
    visitor.write(get());
    assert.match(await readAll(visitor), /half$/);
  });

  it('bytes after a response never reach the visitor', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    let connections = 0;
    await rig.client('t', (socket) => {
      const extra = connections++ === 0 ? 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison' : '';
      socket.on('data', () => socket.write(ok + extra));
    });
    const visitor = await rig.visit(host);
    visitor.write(get());
    assert.equal(await readUntil(visitor, endsWith('ok')), ok);
    visitor.write(get());
    assert.equal(await readUntil(visitor, endsWith('ok')), ok);
    assert.equal(connections, 2);
  });
});

describe('a refused request never reaches a client', () => {
  it('the smuggling corpus, shape by shape', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const client = await rig.client('t', scripted(ok));
    for (const { bytes, status, why } of refusedHeads) {
      const visitor = await rig.visit(host);
      visitor.write(Buffer.from(bytes.replaceAll('a.example', host), 'latin1'));
      assert.equal(statusOf(await readAll(visitor)), status, why);
      visitor.destroy();
    }
    assert.equal(client.opened, 0);
  });

  it('a refusal has a page, except for HEAD, whatever the earlier requests were', async () => {
    await using rig = await createRig([tunnelOf('t')], { timeouts: { headMs: 300 } });
    await rig.client('t', scripted(ok, 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n'));
    const head = get().replace('GET', 'HEAD');
    for (const [before, request, hasPage] of [
      [get(), `HEAD http://elsewhere.test/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`, false],
      [head, `GET http://elsewhere.test/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`, true],
      // Too slow: the method has arrived, the rest never does.
      [null, 'HEAD / HTTP/1.1\r\nHost', false],
    ] as const) {
      const visitor = await rig.visit(host);
      if (before !== null) {
        visitor.write(before);
        await readUntil(visitor, endsWith(before === head ? '\r\n\r\n' : 'ok'));
      }
      visitor.write(request);
      assert.equal((await readAll(visitor)).endsWith('</html>\n'), hasPage, request);
    }
  });

  it('broken chunks end the request at the upstream too', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const upstream = scripted();
    await rig.client('t', upstream);
    const visitor = await rig.visit(host);
    visitor.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`);
    await new Promise((resolve) => setImmediate(resolve));
    visitor.write('5\nsmuggled');
    assert.equal(statusOf(await readAll(visitor)), 400);
    assert.ok(!upstream.received.includes('smuggled'));
  });

  it('an error page never repeats what the visitor sent', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const visitor = await rig.visit(host);
    visitor.write(`GET /needle<script> HTTP/1.1\r\nHost: ${host}\r\nX-Needle: needle\r\nneedle\r\n\r\n`);
    const text = await readAll(visitor);
    assert.equal(statusOf(text), 400);
    assert.ok(!text.includes('needle'));
  });
});

describe('admission', () => {
  const page = endsWith('</html>\n');

  it('each refusal has its status and code', async () => {
    await using rig = await createRig([
      tunnelOf('t'),
      tunnelOf('denied', { allowList: ['10.0.0.0/8'] }),
      tunnelOf('empty', { allowList: [] }),
      tunnelOf('suspended', { suspended: true }),
      tunnelOf('other'),
    ]);
    const client = await rig.client('denied', scripted(ok));
    const cases: readonly (readonly [string, string, number, string])[] = [
      ['t', 't', 503, 'UNDERPASS_NO_CLIENT'],
      ['denied', 'denied', 403, 'UNDERPASS_SOURCE_DENIED'],
      ['empty', 'empty', 403, 'UNDERPASS_SOURCE_DENIED'],
      ['suspended', 'suspended', 503, 'UNDERPASS_SUSPENDED'],
      ['nobody', 'nobody', 404, 'UNDERPASS_NO_SUCH_HOST'],
      ['t', 'other', 421, 'UNDERPASS_MISDIRECTED'],
      ['t', 'nobody', 421, 'UNDERPASS_MISDIRECTED'],
      ['nobody', 't', 421, 'UNDERPASS_MISDIRECTED'],
    ];
    for (const [sni, name, status, code] of cases) {
      const visitor = await rig.visit(`${sni}.tunnels.test`);
      visitor.write(`GET / HTTP/1.1\r\nHost: ${name}.tunnels.test\r\n\r\n`);
      const text = await readUntil(visitor, page);
      assert.deepEqual([statusOf(text), codeOf(text)], [status, code], `${sni} ${name}`);
      visitor.destroy();
    }
    assert.equal(client.opened, 0);
  });

  it('a refusing upstream and a silent one have different codes', async () => {
    await using rig = await createRig([tunnelOf('t'), tunnelOf('slow')], { timeouts: { responseMs: 300 } });
    await rig.client('t', 1);
    await rig.client('slow', () => {});
    const visitor = await rig.visit(host);
    visitor.write(get());
    assert.equal(codeOf(await readUntil(visitor, page)), 'UNDERPASS_UPSTREAM_REFUSED');
    const patient = await rig.visit('slow.tunnels.test');
    patient.write('GET / HTTP/1.1\r\nHost: slow.tunnels.test\r\n\r\n');
    const text = await readAll(patient);
    assert.deepEqual([statusOf(text), codeOf(text)], [504, 'UNDERPASS_UPSTREAM_TIMEOUT']);
  });

  it('a changed allow-list cuts visitors that it no longer permits, and admits those it does', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client('t', scripted(ok, ok));
    const visitor = await rig.visit(host);
    visitor.write(get());
    await readUntil(visitor, endsWith('ok'));
    const closed = whenClosed(visitor);
    await rig.control.change({ tunnels: [tunnelOf('t', { allowList: ['192.0.2.0/24'] })] });
    await closed;
    const denied = await rig.visit(host);
    denied.write(get());
    assert.equal(codeOf(await readUntil(denied, page)), 'UNDERPASS_SOURCE_DENIED');
    await rig.control.change({ tunnels: [tunnelOf('t', { allowList: ['127.0.0.1'] })] });
    const again = await rig.visit(host);
    again.write(get());
    assert.equal(await readUntil(again, endsWith('ok')), ok);
  });

  it('a host that moves to another tunnel is not served by the old one', async () => {
    await using rig = await createRig([tunnelOf('t'), tunnelOf('u')]);
    await rig.client('t', scripted(ok));
    const visitor = await rig.visit(host);
    visitor.write(get());
    await readUntil(visitor, endsWith('ok'));
    const closed = whenClosed(visitor);
    await rig.control.change({ tunnels: [tunnelOf('t', { hosts: [] }), tunnelOf('u', { hosts: [host] })] });
    await closed;
    const again = await rig.visit(host);
    again.write(get());
    assert.equal(codeOf(await readUntil(again, page)), 'UNDERPASS_NO_CLIENT');
  });
});

describe('time', () => {
  it('a head that trickles in is answered 408 and closed, however often a byte comes', async () => {
    await using rig = await createRig([tunnelOf('t')], { timeouts: { headMs: 600 } });
    const visitor = await rig.visit(host);
    const trickle = setInterval(() => visitor.write('a'), 50);
    visitor.write('GET /');
    const text = await readAll(visitor);
    clearInterval(trickle);
    assert.equal(codeOf(text), 'UNDERPASS_SLOW_REQUEST');
  });

  it('blames the upstream, not the visitor, when the upstream takes no more of a body', async () => {
    await using rig = await createRig([tunnelOf('t')], { timeouts: { responseMs: 400 } });
    await rig.client('t', (socket) => void socket.pause());
    const visitor = await rig.visit(host);
    const answer = readUntil(visitor, endsWith('</html>\n'));
    visitor.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 70000000\r\n\r\n`);
    visitor.write(Buffer.alloc(100_000_000));
    assert.equal(codeOf(await answer), 'UNDERPASS_UPSTREAM_TIMEOUT');
  });

  it('a body that stops is answered 408', async () => {
    await using rig = await createRig([tunnelOf('t')], { timeouts: { responseMs: 300 } });
    await rig.client('t', scripted());
    const visitor = await rig.visit(host);
    visitor.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 10\r\n\r\nhalf`);
    assert.equal(codeOf(await readAll(visitor)), 'UNDERPASS_SLOW_REQUEST');
  });

  it('closes a kept connection that stays silent for too long after an answer', { timeout: 30_000 }, async () => {
    await using rig = await createRig([tunnelOf('t')], { timeouts: { keepAliveMs: 300 } });
    const { session } = await rig.client('t', scripted(ok));
    const visitor = await rig.visit(host);
    visitor.write(get());
    assert.equal(await readAll(visitor), ok);
    await eventually(() => session.openStreams === 0);
  });

  it('answers 408 to a slow head after a large answer', { timeout: 30_000 }, async () => {
    await using rig = await createRig([tunnelOf('t')], { timeouts: { headMs: 300 } });
    const large = `HTTP/1.1 200 OK\r\n${date}Content-Length: 4000000\r\n\r\n${'x'.repeat(4_000_000)}`;
    await rig.client('t', scripted(large));
    const visitor = await rig.visit(host);
    visitor.write(`${get()}GET / HTTP/1.1\r\nHost:`);
    const text = await readAll(visitor);
    assert.ok(text.startsWith(large));
    assert.equal(codeOf(text.slice(large.length)), 'UNDERPASS_SLOW_REQUEST');
  });

  it('lets an upload rest as long as its answer, once that has begun', async () => {
    await using rig = await createRig([tunnelOf('t')], { timeouts: { responseMs: 300 } });
    await rig.client('t', (socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nbegun'));
      socket.on('data', (chunk: Buffer) => {
        if (chunk.includes('more')) setTimeout(() => socket.end('ended'), 1_000);
      });
    });
    const visitor = await rig.visit(host);
    visitor.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 10\r\n\r\nfirst`);
    await readUntil(visitor, endsWith('begun'));
    visitor.write('more');
    assert.match(await readAll(visitor), /ended$/);
  });

  it('silence between requests ends the connection; bytes in either direction keep it', async () => {
    await using rig = await createRig([tunnelOf('t')], { timeouts: { keepAliveMs: 300 } });
    await rig.client('t', (socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n');
        let left = 20;
        const drip = setInterval(() => {
          socket.write('x');
          if (--left === 0) clearInterval(drip);
        }, 100);
      });
    });
    const visitor = await rig.visit(host);
    visitor.write(get());
    assert.match(await readUntil(visitor, endsWith('x'.repeat(20))), /x{20}$/);
    await readAll(visitor);
  });
});

describe('a visitor that ends its side after a request', () => {
  const begun = 'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n';
  const halfClosed = async (rig: Rig): Promise<TLSSocket> => {
    const visitor = await rig.visit(host, { allowHalfOpen: true } as ConnectionOptions);
    visitor.end(get());
    return visitor;
  };

  it('is served to the end while bytes come', async () => {
    await using rig = await createRig([tunnelOf('t')], { timeouts: { visitorEndedMs: 750 } });
    await rig.client('t', (socket) => {
      socket.once('data', () => {
        socket.write(begun);
        let left = 20;
        const drip = setInterval(() => {
          socket.write('x');
          if (--left === 0) clearInterval(drip);
        }, 60);
      });
    });
    assert.match(await readAll(await halfClosed(rig)), /x{20}$/);
  });

  it('is closed soon when the upstream falls silent, because the visitor may be gone', async () => {
    await using rig = await createRig([tunnelOf('t')], { timeouts: { visitorEndedMs: 300 } });
    const { session } = await rig.client('t', (socket) => void socket.once('data', () => socket.write(`${begun}begun`)));
    assert.match(await readAll(await halfClosed(rig)), /begun$/);
    await eventually(() => session.openStreams === 0);
    assert.equal(rig.edge.stats().sockets, 1);
  });
});

describe('several clients', () => {
  it('share the load, least in flight first', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const clients = [await rig.client('t', scripted(ok, ok)), await rig.client('t', scripted(ok, ok))];
    for (let i = 0; i < 4; i++) {
      const visitor = await rig.visit(host);
      visitor.write(get());
      assert.equal(await readUntil(visitor, endsWith('ok')), ok);
    }
    assert.deepEqual(
      clients.map(({ opened }) => opened),
      [2, 2],
    );
  });

  it('one that refuses a stream is skipped, and another serves the request', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const refusing = await rig.client('t', 1);
    const working = await rig.client('t', scripted(ok, ok, ok, ok));
    for (let i = 0; i < 4; i++) {
      const visitor = await rig.visit(host);
      visitor.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 2\r\n\r\nhi`);
      assert.equal(await readUntil(visitor, endsWith('ok')), ok);
    }
    assert.equal(working.opened, 4);
    assert.ok(refusing.opened > 0);
  });

  it('one whose probe fails is not used while another is healthy', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const sick = await rig.client('t', scripted(ok), { offers: [{ key: '*', healthy: false }] });
    const healthy = await rig.client('t', scripted(ok, ok), { offers: [{ key: '*', healthy: true }] });
    for (let i = 0; i < 2; i++) {
      const visitor = await rig.visit(host);
      visitor.write(get());
      assert.equal(await readUntil(visitor, endsWith('ok')), ok);
    }
    assert.deepEqual([sick.opened, healthy.opened], [0, 2]);
  });

  it('one at its limit of streams gives UNDERPASS_BUSY until a stream ends', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const asked = Promise.withResolvers<Socket>();
    await rig.client('t', (socket) => void socket.once('data', () => asked.resolve(socket)), { maxStreams: 1 });
    const first = await rig.visit(host);
    first.write(get());
    const upstream = await asked.promise;
    const second = await rig.visit(host);
    second.write(get());
    assert.equal(codeOf(await readUntil(second, endsWith('</html>\n'))), 'UNDERPASS_BUSY');
    upstream.end(ok);
    assert.equal(await readUntil(first, endsWith('ok')), ok);
  });

  it('one that drains loses a busy visitor between two requests', async () => {
    await using rig = await createRig([tunnelOf('t')], { timeouts: { reuseMs: 250 } });
    const upstream = createServer((_, response) => response.end('ok'));
    const leaving = await rig.client('t', upstream);
    const visitor = await rig.visit(host);
    const ask = async (): Promise<void> => {
      visitor.write(get());
      assert.equal(statusOf(await readUntil(visitor, endsWith('ok'))), 200);
    };
    await ask();
    const left = new Promise((resolve) => (leaving.session.onClose = resolve));
    leaving.session.drain();
    const next = await rig.client('t', upstream);
    while (next.opened === 0) await ask();
    await left;
    await ask();
    assert.equal(leaving.opened, 1);
  });

  it('the loss of one loses only its requests in flight that may have effects', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const doomed = await rig.client('t', scripted());
    const visitor = await rig.visit(host);
    visitor.write(get().replace('GET', 'POST'));
    await rig.control.next('report', ({ tunnels }) => tunnels[0]?.requests === 1);
    await rig.client('t', scripted(ok, ok));
    doomed.socket.destroy();
    assert.equal(codeOf(await readUntil(visitor, endsWith('</html>\n'))), 'UNDERPASS_CLIENT_LOST');
    visitor.write(get());
    assert.equal(await readUntil(visitor, endsWith('ok')), ok, 'the same visitor goes on with the other client');
  });

  it('the loss of one in the middle of an answer is counted, although no page can tell it', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const doomed = await rig.client('t', scripted('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'));
    const visitor = await rig.visit(host);
    visitor.write(get());
    await readUntil(visitor, endsWith('half'));
    doomed.socket.destroy();
    await whenClosed(visitor);
    assert.deepEqual(rig.edge.stats().errors, { UNDERPASS_CLIENT_LOST: 1 });
  });
});
