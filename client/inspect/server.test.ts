// Attacks on the inspector's port: pages of other sites, other names for loopback, other users of the machine, and what visitors
// and upstreams send. Then replay.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { isBrowserPort } from '@underpass/rules/address/browser-port.ts';
import type { Comparison, Exchange, InspectEvent } from '@underpass/rules/inspect/exchange.ts';
import { bytesOf, type KeptExchange, type Route } from './exchange-log.ts';
import { createTestLog, requestOf, testRoute } from './fixture/exchanges.ts';
import { createReplays } from './replay.ts';
import { startInspectServer } from './server.ts';

async function world(t: TestContext) {
  const made = createTestLog();
  const replays = createReplays(made.log);
  const state = () => ({
    version: '0.1.0',
    tunnels: [],
    keptBytes: made.log.keptBytes,
    maxBytes: 1,
    dropped: 0,
  });
  const server = await startInspectServer({ log: made.log, replays, check: () => null, state, version: '0.1.0' });
  t.after(() => {
    replays.close();
    server.close();
  });
  const own = { host: `127.0.0.1:${server.port}`, authorization: `Bearer ${server.token}` };
  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET', body = ''): Promise<Answer> =>
    askRaw(server.port, path, { ...own, ...headers }, method, body);
  const post = (path: string, body: unknown) => ask(path, { 'content-type': 'application/json' }, 'POST', JSON.stringify(body));
  return { ...made, server, ask, post, own };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** fetch would not let a test set Host, Origin and Sec-Fetch-Site. */
async function askRaw(
  port: number,
  path: string,
  headers: Record<string, string>,
  method: string,
  body: string,
): Promise<Answer> {
  const request = httpRequest({ host: '127.0.0.1', port, path, method, headers, setHost: false, agent: false });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode!, headers: response.headers, text: Buffer.concat(chunks).toString('utf8') };
}

async function upstreamOf(t: TestContext, answer: (request: IncomingMessage, body: string) => { status: number; body: string }) {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { status, body: text } = answer(request, body);
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const route: Route = { ...testRoute, upstream: { scheme: 'http', host: '127.0.0.1', port } };
  return { port, route };
}

describe('the port refuses', () => {
  it('everything without the token, with a wrong one, with one in the query or in a cookie', async (t) => {
    const { server, ask, exchange } = await world(t);
    exchange(requestOf({}));
    const host = `127.0.0.1:${server.port}`;
    const paths = [
      '/api/exchanges',
      '/api/exchanges/1',
      '/api/events',
      '/api/har',
      '/api/search?text=x',
      '/api/exchanges/1/curl',
      '/api/exchanges/1/body/request',
    ];
    for (const path of paths) assert.equal((await askRaw(server.port, path, { host }, 'GET', '')).status, 401, path);
    const wrong = ['Bearer x', `Bearer ${server.token}x`, `Bearer ${server.token.slice(1)}`, `Basic ${server.token}`, 'Bearer '];
    for (const authorization of wrong) assert.equal((await ask('/api/exchanges', { authorization })).status, 401, authorization);
    const elsewhere = await askRaw(
      server.port,
      `/api/exchanges?token=${server.token}`,
      { host, cookie: `token=${server.token}` },
      'GET',
      '',
    );
    assert.equal(elsewhere.status, 401);
  });

  it('another Host, as DNS rebinding sends, on the page too', async (t) => {
    const { server, ask } = await world(t);
    const hosts = [
      'evil.example',
      `evil.example:${server.port}`,
      '127.0.0.1',
      `127.0.0.1:${server.port + 1}`,
      `127.0.0.1.evil.example:${server.port}`,
      `[::1]:${server.port}`,
      `0.0.0.0:${server.port}`,
    ];
    for (const host of hosts) {
      assert.equal((await ask('/api/exchanges', { host })).status, 403, host);
      assert.equal((await ask('/', { host })).status, 403, host);
    }
    assert.equal((await ask('/api/exchanges', { host: `localhost:${server.port}` })).status, 200);
  });

  it('a request without Host', async (t) => {
    const { server } = await world(t);
    const socket = connect(server.port, '127.0.0.1');
    socket.end('GET / HTTP/1.0\r\n\r\n');
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    assert.match(text, /^HTTP\/1\.1 40[03] /);
  });

  it('other origins and sites, even with the token', async (t) => {
    const { server, ask } = await world(t);
    const origins = [
      'https://evil.example',
      'null',
      `http://127.0.0.1:${server.port + 1}`,
      `https://127.0.0.1:${server.port}`,
      `http://localhost:${server.port}`,
    ];
    for (const origin of origins) assert.equal((await ask('/api/exchanges', { origin })).status, 403, origin);
    for (const site of ['cross-site', 'same-site', 'none'])
      assert.equal((await ask('/api/exchanges', { 'sec-fetch-site': site })).status, 403, site);
    assert.equal((await ask('/assets/page.js', { 'sec-fetch-site': 'cross-site' })).status, 403);
    assert.equal((await ask('/', { 'sec-fetch-site': 'cross-site' })).status, 200, 'a link in another program opens the page');
  });

  it('a form of another site: changes need JSON, POST and the token', async (t) => {
    const { ask, log, exchange } = await world(t);
    exchange(requestOf({}));
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data', ''])
      assert.equal((await ask('/api/clear', type === '' ? {} : { 'content-type': type }, 'POST', '{}')).status, 403, type);
    for (const method of ['PUT', 'DELETE', 'OPTIONS', 'TRACE', 'HEAD'])
      assert.equal((await ask('/api/clear', { 'content-type': 'application/json' }, method)).status, 405, method);
    assert.equal((await ask('/api/clear')).status, 404);
    assert.equal(log.size, 1);
  });

  it('a preflight, with no header that would allow one', async (t) => {
    const { ask } = await world(t);
    const { status, headers } = await ask('/api/exchanges', { origin: 'https://evil.example' }, 'OPTIONS');
    assert.equal(status, 403);
    assert.equal(
      Object.keys(headers).some((name) => name.startsWith('access-control')),
      false,
    );
  });

  it('paths that lead elsewhere', async (t) => {
    const { ask } = await world(t);
    for (const path of [
      '/../../etc/passwd',
      '/assets/..%2f..%2fetc/passwd',
      '//evil.example/',
      '/api',
      '/api/exchanges/1e3',
      '/api/exchanges/-1',
      '/api/exchanges/99999999999999999999',
      '/constructor',
      '/__proto__',
    ])
      assert.equal((await ask(path)).status, 404, path);
  });

  it('a body that is too large, and JSON that is no replay', async (t) => {
    const { ask, post, exchange } = await world(t);
    exchange(requestOf({}));
    const large = `{"body":{"text":"${'x'.repeat(2_200_000)}"}}`;
    assert.equal((await ask('/api/exchanges/1/replay', { 'content-type': 'application/json' }, 'POST', large)).status, 413);
    const wrong = [
      [],
      1,
      null,
      { method: 1 },
      { headers: [['a']] },
      { headers: [['a', 1]] },
      { body: {} },
      { body: { text: 'a', base64: 'b' } },
    ];
    for (const value of wrong) assert.equal((await post('/api/exchanges/1/replay', value)).status, 400, JSON.stringify(value));
  });
});

describe('the link', () => {
  it('has a port that browsers open, also in the eleventh inspector of a machine', async (t) => {
    const ports = [];
    for (let count = 0; count < 11; count++) ports.push((await world(t)).server.port);
    assert.deepEqual(
      ports.filter((port) => !isBrowserPort(port)),
      [],
    );
  });

  it('fits into a line of the live status in a terminal of 80 columns', async (t) => {
    const { server } = await world(t);
    assert.ok(`inspector: ${server.link}`.length < 79);
    assert.ok(Buffer.from(server.token, 'base64url').length >= 24);
  });
});

describe('every answer', () => {
  it('forbids frames, sniffing, storing and scripts from elsewhere', async (t) => {
    const { ask, exchange } = await world(t);
    exchange(requestOf({}));
    for (const path of ['/', '/api/exchanges', '/api/exchanges/1', '/missing']) {
      const { headers } = await ask(path);
      assert.match(headers['content-security-policy'] as string, /default-src 'none'.*frame-ancestors 'none'/);
      assert.doesNotMatch(headers['content-security-policy'] as string, /unsafe|data:|\*/);
      assert.deepEqual(
        [
          headers['x-frame-options'],
          headers['x-content-type-options'],
          headers['cache-control'],
          headers['referrer-policy'],
          headers['set-cookie'],
        ],
        ['DENY', 'nosniff', 'no-store', 'no-referrer', undefined],
      );
    }
  });

  it('gives a captured page as bytes to save, never as a page', async (t) => {
    const { ask, exchange } = await world(t);
    exchange(requestOf({}), 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 25\r\n\r\n<script>alert(1)</script>');
    const { headers, text } = await ask('/api/exchanges/1/body/response');
    assert.equal(text, '<script>alert(1)</script>');
    assert.equal(headers['content-type'], 'application/octet-stream');
    assert.match(headers['content-disposition']!, /^attachment; filename="response-1"$/);
  });

  it('hides secrets until they are revealed, in list, exchange, comparison and exports', async (t) => {
    const { ask, exchange } = await world(t);
    const answer = 'HTTP/1.1 200 OK\r\nSet-Cookie: sid=very-secret-2\r\nContent-Length: 0\r\n\r\n';
    exchange(requestOf({ Authorization: 'Bearer very-secret-1', Cookie: 'a=very-secret-3' }), answer);
    exchange(requestOf({}));
    const paths = ['/api/exchanges', '/api/exchanges/1', '/api/exchanges/1/curl', '/api/har', '/api/compare?left=1&right=2'];
    for (const path of paths) assert.doesNotMatch((await ask(path)).text, /very-secret/, path);
    assert.match((await ask('/api/exchanges/1?reveal=1')).text, /very-secret-1.*very-secret-3.*very-secret-2/);
    assert.match((await ask('/api/exchanges/1/curl?secrets=1')).text, /very-secret-1/);
  });
});

describe('live events', () => {
  it('tell new rows, changes and removals', async (t) => {
    const { server, own, exchange, log } = await world(t);
    const request = httpRequest({ host: '127.0.0.1', port: server.port, path: '/api/events', headers: own, agent: false });
    request.on('error', () => {}).end();
    t.after(() => request.destroy());
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const events: InspectEvent[] = [];
    let seen = () => {};
    response
      .setEncoding('utf8')
      .on('error', () => {})
      .on('data', (text: string) => {
        for (const line of text.split('\n'))
          if (line.startsWith('data: ')) events.push(JSON.parse(line.slice(6)) as InspectEvent);
        seen();
      });
    const until = (kind: InspectEvent['kind']) =>
      new Promise<void>((resolve) => {
        seen = () => events.some((event) => event.kind === kind) && resolve();
        seen();
      });
    exchange(requestOf({}, 'x'));
    await until('exchanges');
    const rows = events.flatMap((event) => (event.kind === 'exchanges' ? event.exchanges : []));
    assert.deepEqual(
      rows.map(({ id, state, status }) => [id, state, status]),
      [[1, 'done', 204]],
    );
    log.clear();
    await until('removed');
    await until('state');
  });

  it('are bounded in number', async (t) => {
    const { server, own, ask } = await world(t);
    for (let count = 0; count < 8; count++) {
      const request = httpRequest({ host: '127.0.0.1', port: server.port, path: '/api/events', headers: own, agent: false });
      request.on('error', () => {}).end();
      t.after(() => request.destroy());
      await once(request, 'response');
    }
    assert.equal((await ask('/api/events')).status, 429);
  });
});

describe('a comparison', () => {
  it('stops after 10,000 lines and says so, and shows JSON as it is that would be huge with its lines indented', async (t) => {
    const { exchange, ask } = await world(t);
    const answer = (type: string, body: string) =>
      exchange(requestOf({}), `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    answer('text/plain', 'a\n'.repeat(500_000));
    answer('text/plain', 'a\nb\n');
    answer('application/json', `[${`${'['.repeat(2_000)}${']'.repeat(2_000)},`.repeat(200)}0]`);
    const compare = async (left: number, right: number) =>
      JSON.parse((await ask(`/api/compare?left=${left}&right=${right}`)).text) as Comparison;
    const long = await compare(1, 2);
    assert.deepEqual([long.comparedLines, long.lines?.filter(({ side }) => side !== 'right').length], [10_000, 10_000]);
    const deep = await compare(3, 2);
    assert.deepEqual([deep.comparedLines, deep.lines?.filter(({ side }) => side === 'left').length], [null, 1]);
  });
});

describe('a replay', () => {
  const over = async (log: { get(id: number): KeptExchange | undefined }, id: number): Promise<KeptExchange> => {
    while (log.get(id)?.state === 'open') await new Promise(setImmediate);
    return log.get(id)!;
  };
  const started = ({ text }: Answer): number => (JSON.parse(text) as { id: number }).id;

  it('sends the request again as it was, and is marked', async (t) => {
    const { open, post, log, ask } = await world(t);
    const got: unknown[] = [];
    const { route } = await upstreamOf(t, ({ method, url, headers }, body) => {
      got.push([method, url, headers.host, headers.authorization, headers['x-a'], body]);
      return { status: 200, body: '{"ok":true}' };
    });
    const capture = open({ route });
    const chunked =
      'POST /hook HTTP/1.1\r\nHost: shop.example.com\r\nAuthorization: Bearer s\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n';
    capture.rx(Buffer.from(`${chunked}2\r\nhi\r\n0\r\n\r\n`));
    capture.failed({ code: 'upstream-refused', detail: '' });
    const id = started(await post('/api/exchanges/1/replay', {}));
    const kept = await over(log, id);
    assert.deepEqual(got, [['POST', '/hook', 'shop.example.com', 'Bearer s', '1', 'hi']]);
    assert.deepEqual([kept.replayOf, kept.state, kept.visitorAddress], [1, 'done', '']);
    const view = JSON.parse((await ask(`/api/exchanges/${id}`)).text) as Exchange;
    assert.equal(view.response?.body.text, '{"ok":true}');
    const comparison = await ask(`/api/compare?left=1&right=${id}`);
    assert.match(comparison.text, /"side":"right","text":" {2}\\"ok\\": true"/);
  });

  it('may be edited; a hidden header keeps its value', async (t) => {
    const { open, post, log } = await world(t);
    const got: unknown[] = [];
    const { route } = await upstreamOf(t, ({ method, url, rawHeaders }, body) => {
      got.push(method, url, rawHeaders, body);
      return { status: 201, body: '' };
    });
    open({ route }).rx(Buffer.from(requestOf({ Cookie: 'a=1', 'X-A': '1' }, 'old')));
    const headers = [
      ['Host', null],
      ['Cookie', null],
      ['X-B', 'two'],
    ];
    const id = started(
      await post('/api/exchanges/1/replay', { method: 'PUT', target: '/new?x', headers, body: { text: 'née' } }),
    );
    await over(log, id);
    assert.deepEqual(got, [
      'PUT',
      '/new?x',
      ['Host', 'shop.example.com', 'Cookie', 'a=1', 'X-B', 'two', 'Content-Length', '4'],
      'née',
    ]);
  });

  it('with an edited text says no longer that the body is compressed', async (t) => {
    const { open, post, log } = await world(t);
    const got: unknown[] = [];
    const { route } = await upstreamOf(t, ({ headers }, body) => {
      got.push([headers['content-encoding'], body]);
      return { status: 200, body: '' };
    });
    open({ route }).rx(Buffer.from(requestOf({ 'Content-Encoding': 'gzip' }, 'packed')));
    await over(log, started(await post('/api/exchanges/1/replay', {})));
    await over(log, started(await post('/api/exchanges/1/replay', { body: { text: 'plain' } })));
    assert.deepEqual(got, [
      ['gzip', 'packed'],
      [undefined, 'plain'],
    ]);
  });

  it('to another machine does not send hidden secrets, and to loopback it does', async (t) => {
    const { open, post, log } = await world(t);
    const { port } = await upstreamOf(t, ({ headers }) => ({ status: 200, body: String(headers.cookie) }));
    open({ route: { ...testRoute, upstream: { scheme: 'http', host: '127.0.0.1', port: 9 } } }).rx(
      Buffer.from(requestOf({ Cookie: 'a=1' })),
    );
    const id = started(await post('/api/exchanges/1/replay', { to: `http://127.0.0.1:${port}` }));
    assert.equal((await over(log, id)).response.chunks.join(''), 'a=1');
    // A name that is not loopback, though it leads there.
    const away = started(await post('/api/exchanges/1/replay', { to: 'http://192.0.2.1:9' }));
    assert.doesNotMatch(log.get(away)!.requestHead, /cookie/i);
  });

  it('to another address has that address as Host, and a Host that was typed as it is', async (t) => {
    const { open, post, log } = await world(t);
    const { port } = await upstreamOf(t, ({ headers }) => ({ status: 200, body: String(headers.host) }));
    const upstream = { scheme: 'http', host: '127.0.0.1', port } as const;
    open({ route: { ...testRoute, upstream, sentHost: 'dev.local' } }).rx(Buffer.from(requestOf({})));
    const hostOf = async (edit: object) =>
      bytesOf((await over(log, started(await post('/api/exchanges/1/replay', edit)))).response).toString();
    const to = `http://127.0.0.1:${port}`;
    const typed = { headers: [['Host', 'typed.example']] };
    assert.equal(await hostOf({}), 'dev.local');
    assert.equal(await hostOf({ to }), `localhost:${port}`);
    assert.equal(await hostOf({ to, headers: [['Host', 'shop.example.com']] }), `localhost:${port}`);
    assert.equal(await hostOf({ to, ...typed }), 'typed.example');
    assert.equal(await hostOf(typed), 'typed.example');
  });

  it('of a tunnel with upstreams by path has a Host that was typed as it is', async (t) => {
    const { open, post, log } = await world(t);
    const { port } = await upstreamOf(t, ({ headers }) => ({ status: 200, body: String(headers.host) }));
    const route = { upstream: { scheme: 'http', host: '127.0.0.1', port }, sentHost: 'dev.local' } as const;
    open({ route: { ...testRoute, ...route, routes: [{ ...route, path: '/x' }, route] } }).rx(Buffer.from(requestOf({})));
    const hostOf = async (edit: object) =>
      bytesOf((await over(log, started(await post('/api/exchanges/1/replay', edit)))).response).toString();
    assert.equal(await hostOf({}), 'dev.local');
    assert.equal(await hostOf({ headers: [['Host', 'typed.example']] }), 'typed.example');
  });

  it('refuses what would be another request: line ends, spaces, two framings, other schemes', async (t) => {
    const { post, exchange, log } = await world(t);
    exchange(requestOf({}));
    const wrong = [
      { method: 'GET / HTTP/1.1\r\nX: y' },
      { target: '/a b' },
      { target: '/a\r\nHost: evil' },
      { target: 'http://evil.example/' },
      { headers: [['X', 'a\r\nY: b']] },
      { headers: [['X\r\nY', 'b']] },
      { headers: [['X', 'a\0b']] },
      { headers: [['X', 'ünï\u2028code']] },
      { to: 'file:///etc/passwd' },
      { to: 'http://user:pass@127.0.0.1:1' },
      { to: 'http://127.0.0.1:1/path' },
      { to: '127.0.0.1:1' },
    ];
    for (const edit of wrong) assert.equal((await post('/api/exchanges/1/replay', edit)).status, 400, JSON.stringify(edit));
    assert.equal(log.size, 1);
  });

  it('frames the body itself, whatever the edited headers say', async (t) => {
    const { open, post, log } = await world(t);
    const got: string[][] = [];
    const { route } = await upstreamOf(t, ({ rawHeaders }) => {
      got.push(rawHeaders);
      return { status: 200, body: '' };
    });
    open({ route }).rx(Buffer.from(requestOf({}, 'x')));
    const headers = [
      ['Host', 'a.example'],
      ['Content-Length', '500'],
      ['Transfer-Encoding', 'chunked'],
      ['Connection', 'upgrade'],
    ];
    await over(log, started(await post('/api/exchanges/1/replay', { headers })));
    assert.deepEqual(got, [['Host', 'a.example', 'Content-Length', '1']]);
  });

  it('does not follow a redirect', async (t) => {
    const { open, post, log } = await world(t);
    let asked = 0;
    const server = createServer((_, response) => {
      asked++;
      response.writeHead(302, { location: '/again' }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    open({ route: { ...testRoute, upstream: { scheme: 'http', host: '127.0.0.1', port } } }).rx(Buffer.from(requestOf({})));
    await over(log, started(await post('/api/exchanges/1/replay', {})));
    assert.equal(asked, 1);
  });

  it('says why it failed', async (t) => {
    const { post, log, exchange } = await world(t);
    exchange(requestOf({}));
    const kept = await over(log, started(await post('/api/exchanges/1/replay', { to: 'http://127.0.0.1:9' })));
    assert.deepEqual([kept.state, kept.error?.code], ['failed', 'upstream-refused']);
  });

  it('needs the whole body, and is bounded in number', async (t) => {
    const { post, exchange, open } = await world(t);
    exchange(requestOf({}, 'x'.repeat(1_100_000)));
    assert.equal((await post('/api/exchanges/1/replay', {})).status, 409);
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    t.after(() => silent.closeAllConnections());
    t.after(() => silent.close());
    const { port } = silent.address() as AddressInfo;
    open({ route: { ...testRoute, upstream: { scheme: 'http', host: '127.0.0.1', port } } }).rx(Buffer.from(requestOf({})));
    for (let count = 0; count < 8; count++) assert.equal((await post('/api/exchanges/2/replay', {})).status, 201);
    assert.equal((await post('/api/exchanges/2/replay', {})).status, 429);
  });
});
