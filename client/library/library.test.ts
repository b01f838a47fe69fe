// The library in one process, against a server and an edge of the test. deploy/release/library.test.ts runs the npm package.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { outcome, startUpstream, visit } from '../carry/fixture/carrying.ts';
import { type FakeEdgeOptions, startFakeEdge } from '../carry/fixture/edge.ts';
import { accountRoutes, startFakeApi } from '../test-kit.ts';
import { forward, listen, UnderpassError } from './library.ts';
import type * as api from './underpass.d.ts';

({ listen, forward }) satisfies Pick<typeof api, 'listen' | 'forward'>;
UnderpassError satisfies abstract new (
  ...given: never[]
) => api.UnderpassError;

// Where the lock and the key of a folder lie.
const home = mkdtempSync(join(tmpdir(), 'underpass-library-'));
Object.assign(process.env, { XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home });
after(() => rmSync(home, { recursive: true, force: true }));

const address = 'https://calm-otter-abcdefghij.tunnels.localhost';
const domain = { name: new URL(address).hostname, apexName: '', verified: true, url: address };

interface WorldOptions {
  readonly edge?: FakeEdgeOptions;
  readonly tunnel?: object;
  readonly routes?: Parameters<typeof startFakeApi>[1];
}

async function world(t: TestContext, { edge: given, tunnel, routes }: WorldOptions = {}) {
  const edge = await startFakeEdge({ info: { urls: [address], tunnel: 'otter' }, ...given });
  t.after(() => edge[Symbol.asyncDispose]());
  const made = { name: 'otter', type: 'http', status: 'Created', url: edge.url, token: 'secret', expiresAt: 'soon' };
  const server = await startFakeApi(t, {
    ...accountRoutes,
    'POST /api/quick-tunnels': { body: { ...made, ingressDomains: [domain], ...tunnel } },
    'DELETE /api/tunnels/otter': { status: 204 },
    ...routes,
  });
  const deleted = () => server.calls.filter(({ method }) => method === 'DELETE').length;
  return { edge, server, deleted, options: { server: server.origin, apiToken: 'tok' } };
}

const get = 'GET /hi?a=1 HTTP/1.1\r\nHost: app.example.com\r\nConnection: close\r\n\r\n';

/** What a visitor gets. */
async function ask(edge: Awaited<ReturnType<typeof world>>['edge'], request = get): Promise<string> {
  const stream = visit(edge.carriers[0] ?? (await edge.next()));
  const answer = outcome(stream);
  stream.write(Buffer.from(request));
  await answer;
  stream.end();
  return answer;
}

const handlers: readonly (readonly [name: string, handler: () => api.Handler])[] = [
  ['a Node handler', () => (request, response) => void response.end(`${request.url} ${request.socket.remoteAddress}`)],
  [
    'an Express-like handler',
    () => (request: { url: string }, response: { end(text: string): void }, _next: unknown) =>
      response.end(`${request.url} 192.0.2.7`),
  ] as never,
  ['a fetch handler', () => (request: Request) => new Response(`${new URL(request.url).pathname}?a=1 192.0.2.7`)],
  ['an object with fetch', () => ({ fetch: async ({ url }: Request) => new Response(`${url.slice(23)} 192.0.2.7`) })],
  ['an http.Server', () => createServer(({ url, socket }, response) => void response.end(`${url} ${socket.remoteAddress}`))],
];

for (const [name, handler] of handlers) {
  test(`${name} answers visitors, and knows their address`, async (t) => {
    const { edge, deleted, options } = await world(t);
    await using tunnel = await listen(handler(), options);
    assert.deepEqual([tunnel.url, tunnel.urls, tunnel.name], [address, [address], 'otter']);
    const answer = await ask(edge);
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
    assert.match(answer, /\/hi\?a=1 192\.0\.2\.7/);
    await tunnel.close();
    assert.equal(deleted(), 1);
  });
}

test('a fetch handler gets the body, and its answer arrives piece by piece with every cookie', async (t) => {
  const { edge, options } = await world(t);
  await using _ = await listen(async (request: Request) => {
    const body = await request.text();
    const headers = new Headers({ 'x-from': new URL(request.url).href });
    for (const cookie of ['a=1', 'b=2']) headers.append('set-cookie', cookie);
    return new Response(new Blob([body.toUpperCase()]).stream(), { status: 201, headers });
  }, options);
  const post = 'POST /hook HTTP/1.1\r\nHost: app.example.com\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello';
  const answer = await ask(edge, post);
  for (const part of [
    / 201 Created/,
    /x-from: https:\/\/app\.example\.com\/hook/i,
    /set-cookie: a=1\r\nset-cookie: b=2/i,
    /HELLO/,
  ])
    assert.match(answer, part);
  assert.match(await ask(edge, get.replace('app.example.com', 'a b')), / 400 Bad Request/);
});

test('a handler that throws gives the visitor a 500 without the reason, which the owner gets', async (t) => {
  const { edge, options } = await world(t);
  const boom = () => {
    throw new Error('secret reason');
  };
  const throwing: readonly api.Handler[] = [boom, async (_: unknown, __: unknown) => boom()];
  for (const handler of throwing) {
    await using tunnel = await listen(handler, options);
    const failed = once(tunnel, 'error');
    const answer = await ask(edge);
    assert.match(answer, /^HTTP\/1\.1 500 [\s\S]*\r\n\r\n/);
    assert.doesNotMatch(answer, /secret|at boom/);
    const [{ error }] = (await failed) as [api.TunnelEvent];
    assert.equal((error as Error).message, 'secret reason');
  }
});

test('forward() reaches a port of this machine, which gets its own Host', async (t) => {
  const { edge, options } = await world(t);
  const upstream = await startUpstream((socket) => {
    socket.once('data', (head) => socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${head.length}\r\n\r\n${head}`));
  });
  t.after(() => upstream[Symbol.asyncDispose]());
  await using _ = await forward(upstream.port, options);
  assert.match(await ask(edge), new RegExp(`Host: localhost:${upstream.port}\r\n`));
});

test('lost and back tell when the last carrier goes and the next one comes', async (t) => {
  const { edge, options } = await world(t);
  await using tunnel = await listen(() => new Response('hi'), options);
  const [lost, back] = [once(tunnel, 'lost'), once(tunnel, 'back')];
  while (edge.carriers.length < 2) await edge.next();
  for (const { socket } of [...edge.carriers]) socket.destroy();
  await lost;
  await back;
  assert.match(await ask(edge), /hi/);
});

test('close() lets an open request finish, and takes no other', async (t) => {
  const { edge, deleted, options } = await world(t);
  const called = Promise.withResolvers<{ end(text: string): void }>();
  const tunnel = await listen((_: unknown, response: { end(text: string): void }) => called.resolve(response), options);
  const closedEvent = once(tunnel, 'closed') as Promise<api.TunnelEvent[]>;
  const stream = visit(edge.carriers[0]!);
  const answer = outcome(stream);
  stream.write(Buffer.from(get));
  const response = await called.promise;
  const closing = tunnel.close();
  assert.equal(tunnel.close(), closing);
  response.end('done');
  assert.match(await answer, /done/);
  stream.end();
  await closing;
  assert.equal(deleted(), 1);
  assert.equal((await closedEvent)[0]?.error, undefined);
});

test('close() does not wait for a visitor who keeps an idle connection', async (t) => {
  const { edge, options } = await world(t);
  const tunnel = await listen(() => new Response('hi'), options);
  const stream = visit(edge.carriers[0]!);
  stream.onEnd = () => stream.end();
  const answered = new Promise<void>((resolve) => {
    stream.onData = (chunk) => {
      stream.consume(chunk.length);
      if (chunk.includes('hi')) setTimeout(resolve, 50);
    };
  });
  stream.write(Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'));
  await answered;
  const startedMs = performance.now();
  await tunnel.close();
  assert.ok(performance.now() - startedMs < 10_000, 'it waited until the end of the drain');
});

test('two tunnels in one process have two addresses, and end apart', async (t) => {
  const { server, options } = await world(t);
  const first = await listen(() => new Response('first'), options);
  const second = await listen(() => new Response('second'), options);
  const keys = server.calls.filter(({ method }) => method === 'POST').map(({ body }) => (body as { key: string }).key);
  assert.equal(new Set(keys).size, 2);
  await first.close();
  assert.equal(second.url, address);
  await second.close();
});

test('an abort rejects the opening and closes a tunnel', async (t) => {
  const { edge, deleted, options } = await world(t, { edge: { refuse: () => ({ code: 'unready' }) } });
  const opening = new AbortController();
  const waiting = listen(() => new Response(), { ...options, signal: opening.signal });
  while (edge.attempts === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  opening.abort(new Error('enough'));
  await assert.rejects(waiting, { message: 'enough' });
  while (deleted() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await assert.rejects(
    listen(() => new Response(), { ...options, signal: AbortSignal.abort() }),
    { name: 'AbortError' },
  );

  const open = await world(t);
  const running = new AbortController();
  const tunnel = await listen(() => new Response(), { ...open.options, signal: running.signal });
  const closedEvent = once(tunnel, 'closed');
  running.abort();
  await closedEvent;
  assert.equal(open.deleted(), 1);
});

test('the end at the server closes the tunnel, and says why', async (t) => {
  let isKnown = true;
  const { edge, options } = await world(t, {
    edge: { info: { urls: [address] }, refuse: () => (isKnown ? null : { code: 'token-refused' }) },
  });
  const tunnel = await listen(() => new Response(), options);
  const closedEvent = once(tunnel, 'closed');
  while (edge.carriers.length < 2) await edge.next();
  isKnown = false;
  for (const { socket } of [...edge.carriers]) socket.destroy();
  const [{ error }] = (await closedEvent) as [api.TunnelEvent];
  assert.equal((error as api.UnderpassError).code, 'tunnel-deleted');
});

test('errors have the code, the text and the fix of the command', async (t) => {
  const { edge, server, deleted, options } = await world(t, {
    routes: { 'POST /api/quick-tunnels': { status: 400, body: "There is no access policy 'nobody'." } },
  });
  const hello = () => new Response();
  const cases: readonly (readonly [options: object, code: string, message: RegExp])[] = [
    [{ server: server.origin }, 'not-signed-in', /^You are not signed in: http/],
    [{ ...options, access: 'nobody' }, 'request-refused', /There is no access policy 'nobody'/],
    [{ ...options, acess: 'team' }, 'usage', /'acess' is not an option/],
    [{ ...options, access: undefined }, 'usage', /'access' has no value/],
    [{ ...options, tunnel: 'shop', group: 'office' }, 'usage', /'group' is not for a tunnel that 'tunnel' names/],
    [{ ...options, for: 'ever' }, 'usage', /'ever' is not a time/],
    [{ ...options, keep: true, for: '2h' }, 'usage', /exclude each other/],
    [{ url: edge.url }, 'usage', /go together/],
    [{ url: edge.url, token: 'wrong' }, 'token-refused', /^The token is refused: edge\.localhost/],
  ];
  for (const [given, code, message] of cases) {
    await assert.rejects(listen(hello, given), (error: UnderpassError) => {
      assert.ok(error instanceof UnderpassError && error.fix !== '', String(error));
      assert.deepEqual([error.code, message.test(error.message)], [code, true], error.message);
      return true;
    });
  }
  await assert.rejects(listen('hello' as never, options), { code: 'usage' });
  await assert.rejects(forward('word', options), { code: 'usage', message: /'word' is not a port/ });
  assert.equal(deleted(), 0);
});

test('a tunnel of which no domain is verified is deleted, and the error says what to verify', async (t) => {
  const unverified = { ...domain, apexName: 'example.com', verified: false };
  const { deleted, options } = await world(t, { tunnel: { ingressDomains: [unverified] } });
  await assert.rejects(
    listen(() => new Response(), options),
    { code: 'tunnel-waiting', fix: /domains verify example\.com/ },
  );
  assert.equal(deleted(), 1);
});

test('a server of the user stays usable after the tunnel, and an idle visitor is closed as on a port', async (t) => {
  const { edge, options } = await world(t);
  const server: Server = createServer({ keepAliveTimeout: 20 }, (_, response) => void response.end('ok'));
  await using tunnel = await listen(server, options);
  // Without `Connection: close` the server ends the connection once it was idle.
  assert.match(await ask(edge, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'), /ok$/);
  const left = visit(edge.carriers[0]!, { visitorAddress: '2001:db8::1' });
  const seen = once(server, 'connection') as Promise<{ remoteFamily: string; destroyed: boolean }[]>;
  left.write(Buffer.from('GET '));
  const [socket] = await seen;
  assert.equal(socket?.remoteFamily, 'IPv6');
  left.reset('cancelled');
  while (!socket?.destroyed) await new Promise(setImmediate);
  await tunnel.close();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'ok');
  server.closeAllConnections();
  server.close();
});
