import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Upstream } from '@underpass/rules/tunnel/upstream.ts';
import { parseUpstreams } from '../config/tunnel-config.ts';
import { createOpenUpstream } from './open-upstream.ts';
import { compileUpstreamMap } from './upstream-map.ts';

const none = new Uint8Array(0);

async function listen(t: TestContext, server: Server): Promise<Upstream> {
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return { scheme: 'http', host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

const named =
  (name: string): RequestListener =>
  ({ method, url, headers }, response) => {
    response.sendDate = false;
    response.end(`${name} ${method} ${url} ${headers.host}`);
  };

/** `texts`: --upstream values. Returns what the client answers to requests of one connection. */
function connection(texts: readonly string[], sentHost?: string) {
  const parsed = parseUpstreams('http', texts);
  assert.ok(parsed.ok, JSON.stringify(parsed));
  const list = parsed.value.type === 'http' ? parsed.value.list : [];
  const upstreams = { type: 'http', list: sentHost === undefined ? list : list.map((one) => ({ ...one, sentHost })) } as const;
  const found = compileUpstreamMap(upstreams)({ kind: 'http', host: 'app.example.com' });
  const duplex = createOpenUpstream({ caPem: undefined, insecure: false })(found!, none);
  let text = '';
  duplex.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  duplex.on('error', () => {});
  const ask = async (target: string, method = 'GET', fields = ''): Promise<string> => {
    text = '';
    duplex.write(`${method} ${target} HTTP/1.1\r\nHost: app.example.com\r\n${fields}\r\n`);
    while (!/\r\n\r\n./.test(text)) await once(duplex, 'data');
    return text;
  };
  return { duplex, ask };
}

const bodyOf = (answer: string): string =>
  answer.slice(answer.indexOf('\r\n\r\n') + 4).replace(/^[0-9a-f]+\r\n|\r\n0\r\n\r\n$/g, '');

describe('upstreams by path', () => {
  it('serve the requests of one connection, each those below its path', async (t) => {
    const [root, api] = [await listen(t, createServer(named('root'))), await listen(t, createServer(named('api')))];
    const { ask } = connection([
      `app.example.com=http://127.0.0.1:${root.port}`,
      `app.example.com/api=http://127.0.0.1:${api.port}`,
    ]);
    for (const [target, expected] of [
      ['/', 'root'],
      ['/api', 'api'],
      ['/api/x?y', 'api'],
      ['/apix', 'root'],
      ['/x', 'root'],
      ['/api/z', 'api'],
    ] as const)
      assert.equal(bodyOf(await ask(target)), `${expected} GET ${target} app.example.com`);
  });

  for (const target of ['/api/../x', '/api/%2e%2e/x', '/api%2fx', '//api/x', '/%61pi']) {
    it(`refuse ${target}, which servers read differently`, async (t) => {
      let asked = 0;
      const one = await listen(
        t,
        createServer((_, response) => response.end(`${++asked}`)),
      );
      const { ask, duplex } = connection([`http://127.0.0.1:${one.port}`, `/api=http://127.0.0.1:${one.port}`]);
      // A refusal says nothing about the health of an upstream.
      duplex.on('connect', (served) => assert.equal(served, null));
      assert.match(await ask(target), /^HTTP\/1\.1 400 /);
      if (!duplex.readableEnded) await once(duplex, 'end');
      assert.equal(asked, 0);
    });
  }

  it('say 404 for a path that none serves', async (t) => {
    const api = await listen(t, createServer(named('api')));
    assert.match(await connection([`/api=http://127.0.0.1:${api.port}`]).ask('/x'), /^HTTP\/1\.1 404 /);
  });

  it('may speak different versions of HTTP', async (t) => {
    const root = await listen(t, createServer(named('root')));
    const server = createHttp2Server();
    server.on('stream', (stream: ServerHttp2Stream, fields) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
      stream.end(`grpc ${fields[':path']}`);
    });
    const grpc = await listen(t, server as unknown as Server);
    const { ask, duplex } = connection([`http://127.0.0.1:${root.port}`, `/pkg.Echo=h2c://127.0.0.1:${grpc.port}`]);
    assert.equal(bodyOf(await ask('/')), 'root GET / app.example.com');
    assert.match(await ask('/pkg.Echo/Say'), /grpc \/pkg\.Echo\/Say/);
    duplex.destroy();
  });

  it('break the connection off if the one that is asked refuses', async (t) => {
    const root = await listen(t, createServer(named('root')));
    const { ask, duplex } = connection([`http://127.0.0.1:${root.port}`, '/api=http://127.0.0.1:1']);
    await ask('/');
    duplex.write('GET /api HTTP/1.1\r\nHost: app.example.com\r\n\r\n');
    const [error] = await once(duplex, 'error');
    assert.deepEqual([error.code, error.upstream.port], ['ECONNREFUSED', 1]);
  });
});

describe('an upstream below a path', () => {
  it('gets each path below it, and the rest of the request as it came', async (t) => {
    const one = await listen(t, createServer(named('one')));
    const { ask } = connection([`http://127.0.0.1:${one.port}/base`]);
    assert.equal(bodyOf(await ask('/')), 'one GET /base/ app.example.com');
    assert.equal(bodyOf(await ask('/x?y=/../z')), 'one GET /base/x?y=/../z app.example.com');
    assert.equal(bodyOf(await ask('/x', 'POST', 'Content-Length: 0\r\n')), 'one POST /base/x app.example.com');
  });

  for (const target of ['/../x', '/..', '/%2e%2e/x', '/..%2fx', '/..\\x', '/x/..;/../y', '/../base/x']) {
    it(`never gets ${target}`, async (t) => {
      const one = await listen(
        t,
        createServer(() => assert.fail()),
      );
      assert.match(await connection([`http://127.0.0.1:${one.port}/base`]).ask(target), /^HTTP\/1\.1 400 /);
    });
  }

  it('gets no method that may name a second path', async (t) => {
    const one = await listen(
      t,
      createServer(() => assert.fail()),
    );
    const { ask } = connection([`http://127.0.0.1:${one.port}/base`]);
    assert.match(await ask('/x', 'MOVE', 'Destination: https://app.example.com/y\r\n'), /^HTTP\/1\.1 403 /);
    const other = connection([`http://127.0.0.1:${one.port}/base`]);
    assert.match(await other.ask('/x', 'POST', 'X-HTTP-Method-Override: MOVE\r\nContent-Length: 0\r\n'), /^HTTP\/1\.1 403 /);
  });

  const answers: readonly (readonly [string, string, string])[] = [
    ['location', '/base/x?y', '/x?y'],
    ['location', '/base', '/'],
    ['location', '/basex', '/basex'],
    ['location', '/other', '/other'],
    ['location', 'https://app.example.com/base/x', 'https://app.example.com/x'],
    ['location', 'https://other.example/base/x', 'https://other.example/base/x'],
    ['location', 'x', 'x'],
    // Without the base these would lead to evil.example.
    ['location', '/base//evil.example/', '/base//evil.example/'],
    ['location', '/base/\\evil.example/', '/base/\\evil.example/'],
    ['location', '/base/\t/evil.example/', '/base/\t/evil.example/'],
    ['location', '/base/x//y', '/x//y'],
    ['set-cookie', 'a=1; Path=/base; Secure', 'a=1; Path=/; Secure'],
    ['set-cookie', 'a=1; path=/base/x', 'a=1; path=/x'],
    ['set-cookie', 'a=1; Path=/basex', 'a=1; Path=/basex'],
    ['set-cookie', 'a=1; Path=/', 'a=1; Path=/'],
  ];
  for (const [name, sent, expected] of answers) {
    it(`answers with ${name}: ${sent} as ${expected}`, async (t) => {
      const one = await listen(
        t,
        createServer((_, response) => response.setHeader(name, sent).end('x')),
      );
      assert.ok((await connection([`http://127.0.0.1:${one.port}/base`]).ask('/')).includes(`\r\n${name}: ${expected}\r\n`));
    });
  }

  it('may upgrade, and its last bytes reach a slow reader', async (t) => {
    const server = createServer();
    server.on('upgrade', (_, socket) => {
      socket.write('HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      socket.on('error', () => {}).on('data', () => socket.end(Buffer.alloc(500_000, 'b')));
    });
    const one = await listen(t, server);
    const { duplex } = connection([`http://127.0.0.1:${one.port}/base`]);
    let bytes = 0;
    duplex.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      duplex.pause();
      setImmediate(() => duplex.resume());
    });
    duplex.write('GET /x HTTP/1.1\r\nHost: app.example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    await once(duplex, 'data');
    bytes = 0;
    duplex.write('hello');
    await once(duplex, 'end');
    assert.equal(bytes, 500_000);
    duplex.destroy();
  });

  it('may have a Host of its own, and its redirects lead to the public name without the base', async (t) => {
    const one = await listen(
      t,
      createServer(({ headers }, response) => response.setHeader('location', 'http://intern.example/base/x').end(headers.host)),
    );
    const answer = await connection([`http://127.0.0.1:${one.port}/base`], 'intern.example').ask('/');
    assert.match(answer, /\r\nlocation: https:\/\/app\.example\.com\/x\r\n/);
    assert.equal(bodyOf(answer), 'intern.example');
  });
});

it('an upstream may listen on a Unix socket', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-socket-'));
  const server = createServer(named('socket')).listen(join(folder, 'app.sock'));
  t.after(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await once(server, 'listening');
  const { ask } = connection([`unix:${join(folder, 'app.sock')}`]);
  assert.equal(bodyOf(await ask('/x')), 'socket GET /x app.example.com');
  const gone = connection([`unix:${join(folder, 'gone.sock')}`]);
  const [error] = await once(gone.duplex, 'error');
  assert.equal(error.code, 'ENOENT');
});
