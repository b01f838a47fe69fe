// Plays the library of the npm package on any runtime: plain JavaScript, run in a folder that holds only the package. Prints one line
// of JSON, and ends by itself. library.test.ts starts it.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { request } from 'node:https';
import { connect, createServer as createTcpServer } from 'node:net';
// biome-ignore lint/correctness/noUndeclaredDependencies: the folder in which this runs has the package that the test packs
import { forward, listen, UnderpassError } from 'underpass';

const ca = readFileSync(process.env.PLAY_CA);
const { tunnel: shop } = JSON.parse(process.env.PLAY_TUNNEL);

/** What a visitor gets who trusts the local authority. */
function visit(url, { method = 'GET', body, headers = {} } = {}) {
  const { hostname, port, pathname, search } = new URL(url);
  const to = { host: '127.0.0.1', port, servername: hostname, ca, agent: false, method, path: pathname + search };
  return new Promise((resolve, reject) => {
    const sent = request({ ...to, headers: { host: `${hostname}:${port}`, ...headers } }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk)).once('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        resolve({ status: response.statusCode, headers: response.headers, bytes, text: bytes.toString() });
      });
    });
    sent.once('upgrade', (response, socket) => resolve({ status: response.statusCode, socket })).once('error', reject);
    sent.end(body);
  });
}

/** Ports that this process listens on. */
function listeningPorts() {
  const own = new Set(readdirSync('/proc/self/fd').flatMap((fd) => inodeOf(`/proc/self/fd/${fd}`)));
  const rows = ['tcp', 'tcp6'].flatMap((name) => readFileSync(`/proc/net/${name}`, 'utf8').trim().split('\n').slice(1));
  return rows.map((row) => row.trim().split(/\s+/)).filter((fields) => fields[3] === '0A' && own.has(fields[9])).length;
}

function inodeOf(path) {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(path))?.slice(1, 2) ?? [];
  } catch {
    return [];
  }
}

const event = (tunnel, type) => new Promise((resolve) => tunnel.addEventListener(type, resolve, { once: true }));
const body = Buffer.alloc(3_000_000, 'underpass ');
const results = {};

const plays = {
  async 'a Node handler, without a port'() {
    const started = performance.now();
    const tunnel = await listen((asked, answer) => answer.end(`${asked.url} ${asked.socket.remoteAddress}`));
    const ready = performance.now();
    const page = await visit(`${tunnel.url}/a?b=c`);
    results.readyMs = Math.round(ready - started);
    results.visitMs = Math.round(performance.now() - ready);
    assert.deepEqual([page.status, page.text], [200, '/a?b=c 127.0.0.1']);
    assert.equal(listeningPorts(), 0);
    await tunnel.close();
  },
  async 'a fetch handler, with bodies larger than the windows'() {
    const tunnel = await listen(async (asked) => new Response(asked.body, { headers: { 'x-url': asked.url } }));
    const page = await visit(`${tunnel.url}/echo`, { method: 'POST', body });
    assert.equal(page.status, 200);
    assert.ok(page.bytes.equals(body), `${page.bytes.length} bytes`);
    assert.equal(page.headers['x-url'], `${tunnel.url.replace(/\/$/, '')}/echo`);
    await tunnel.close();
  },
  async 'an http.Server, with an upgrade'() {
    const server = createServer((_, answer) => answer.end('plain'));
    server.on('upgrade', (_, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
      socket.pipe(socket);
    });
    const tunnel = await listen(server);
    assert.equal((await visit(tunnel.url)).text, 'plain');
    const { status, socket } = await visit(tunnel.url, { headers: { connection: 'Upgrade', upgrade: 'echo' } });
    assert.equal(status, 101);
    socket.write('hello');
    assert.equal(String(await new Promise((resolve) => socket.once('data', resolve))), 'hello');
    socket.destroy();
    await tunnel.close();
  },
  async 'a port, and a second tunnel beside it'() {
    const server = createServer((asked, answer) => answer.end(`forwarded to ${asked.headers.host}`)).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address();
    const first = await forward(port);
    const second = await listen(() => new Response('second'));
    assert.notEqual(first.url, second.url);
    const pages = await Promise.all([first, second].map(({ url }) => visit(url)));
    assert.deepEqual(
      pages.map(({ text }) => text),
      [`forwarded to localhost:${port}`, 'second'],
    );
    await Promise.all([first.close(), second.close()]);
    server.closeAllConnections();
    server.close();
  },
  async 'a cut connection, by URL and token'() {
    const sockets = new Set();
    const region = new URL(shop.url);
    const { port } = region;
    const relay = createTcpServer((socket) => {
      const to = connect(port, '127.0.0.1');
      for (const [from, into] of [
        [socket, to],
        [to, socket],
      ]) {
        sockets.add(from);
        from.on('error', () => {}).on('close', () => into.destroy());
        from.pipe(into);
      }
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => relay.once('listening', resolve));
    region.port = relay.address().port;
    const tunnel = await listen(() => new Response('hi'), { url: region.href, token: shop.token });
    assert.equal((await visit(tunnel.url)).text, 'hi');
    assert.equal(tunnel.name, 'shop');
    const [lost, back] = [event(tunnel, 'lost'), event(tunnel, 'back')];
    for (const socket of sockets) socket.destroy();
    await lost;
    await back;
    assert.equal((await visit(tunnel.url)).text, 'hi');
    await tunnel.close();
    for (const socket of sockets) socket.destroy();
    relay.close();
  },
  async 'a close while a request is open, and the name of a tunnel'() {
    let arrived;
    const isHere = new Promise((resolve) => {
      arrived = resolve;
    });
    const tunnel = await listen(
      async (_asked, answer) => {
        answer.write('first ');
        arrived();
        setTimeout(() => answer.end('last'), 300);
      },
      { tunnel: 'shop' },
    );
    const page = visit(tunnel.url);
    await isHere;
    await tunnel.close();
    assert.equal((await page).text, 'first last');
    assert.ok((await visit(tunnel.url)).status >= 500);
  },
  async 'errors with codes'() {
    const handler = () => new Response();
    const refused = async (options) => {
      const error = await listen(handler, options).then(
        () => undefined,
        (reason) => reason,
      );
      assert.ok(error instanceof UnderpassError, String(error));
      return error.code;
    };
    results.policy = await refused({ access: 'nobody' });
    const token = process.env.UNDERPASS_API_TOKEN;
    delete process.env.UNDERPASS_API_TOKEN;
    results.signedOut = await refused({});
    process.env.UNDERPASS_API_TOKEN = token;
    const aborted = await listen(handler, { signal: AbortSignal.abort() }).then(
      () => undefined,
      ({ name }) => name,
    );
    assert.equal(aborted, 'AbortError');
  },
};

for (const [name, play] of Object.entries(plays)) {
  try {
    await play();
  } catch (error) {
    throw new Error(name, { cause: error });
  }
}
process.stdout.write(`${JSON.stringify(results)}\n`);
