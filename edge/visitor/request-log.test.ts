// The access log of a whole edge: each request that it answers or passes on has one line, whatever the visitor sends.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import type { AccessFormat } from '../core/access-line.ts';
import { createRig, type Rig, readAll, readUntil, tunnelOf } from '../fixture/rig.ts';

const host = 't.tunnels.test';

interface Logged {
  readonly rig: Rig;
  /** The lines once there are so many, without the time. */
  lines(count: number): Promise<string[]>;
}

async function startLogged(t: TestContext, format: AccessFormat = 'combined', workers = 1): Promise<Logged> {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-access-'));
  const path = join(folder, 'access.log');
  const tunnels = [tunnelOf('t'), tunnelOf('denied', { allowList: ['192.0.2.1/32'] })];
  const rig = await createRig(tunnels, { accessLog: { path, format }, workers });
  t.after(async () => {
    await rig[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  const lines = async (count: number): Promise<string[]> => {
    const read = async (): Promise<string[]> => (await readFile(path, 'latin1')).split('\n').slice(0, -1);
    const found = await eventually(read, ({ length }) => length >= count, 10_000);
    assert.equal(found.length, count);
    return found.map((line) => line.replace(/\[[^\]]*\]/, '[]'));
  };
  return { rig, lines };
}

const upstream = () =>
  createServer((request, response) => {
    if (request.url === '/silent') return;
    if (request.url === '/half') response.writeHead(200, { 'content-length': 100 }).write('half', () => request.socket.destroy());
    else response.writeHead(request.url === '/gone' ? 404 : 200).end('hello');
  });

const get = (path: string, fields = '', name = host): string => `GET ${path} HTTP/1.1\r\nHost: ${name}\r\n${fields}\r\n`;

describe('the access log', () => {
  it('has a line for each request of HTTP/1.1 with the status and the bytes of its answer', async (t) => {
    const { rig, lines } = await startLogged(t);
    await rig.client('t', upstream());
    const visitor = await rig.visit(host);
    visitor.write(get('/a?b=c', 'User-Agent: curl/8\r\nReferer: https://from.example/\r\n'));
    await readUntil(visitor, (text) => text.endsWith('0\r\n\r\n') || text.endsWith('hello'));
    visitor.end(get('/gone', 'Connection: close\r\n'));
    await readAll(visitor);
    const [first, second] = await lines(2);
    assert.match(
      first as string,
      /^127\.0\.0\.1 - - \[\] "GET \/a\?b=c HTTP\/1\.1" 200 \d+ "https:\/\/from\.example\/" "curl\/8"$/,
    );
    assert.match(second as string, /^127\.0\.0\.1 - - \[\] "GET \/gone HTTP\/1\.1" 404 \d+ "-" "-"$/);
  });

  it('has a line for each request of HTTP/2, with the host in front if asked', async (t) => {
    const { rig, lines } = await startLogged(t, 'vhost_combined');
    await rig.client('t', upstream());
    const session = connect(`https://${host}`, { createConnection: () => rig.connectTls(host, { ALPNProtocols: ['h2'] }) });
    const stream = session.request({ ':path': '/two', 'user-agent': 'h2' });
    stream.resume();
    await once(stream, 'close');
    session.close();
    assert.deepEqual(await lines(1), [`${host}:443 127.0.0.1 - - [] "GET /two HTTP/2.0" 200 5 "-" "h2"`]);
  });

  it('has what the edge answers itself: refused visitors, unknown hosts, plain http, and heads that are none', async (t) => {
    const { rig, lines } = await startLogged(t);
    const denied = await rig.visit('denied.tunnels.test');
    denied.end(get('/secret', '', 'denied.tunnels.test'));
    await readAll(denied);
    const broken = await rig.visit(host);
    broken.end('GET /\n198.51.100.1 - - [x] "GET /admin HTTP/1.1" 401\r\n\r\n');
    await readAll(broken);
    for (const [name, path] of [
      ['nobody.example', '/wp-login.php'],
      [host, '/plain'],
    ]) {
      const visitor = await rig.visitRaw('http');
      visitor.end(get(path as string, '', name));
      await readAll(visitor);
    }
    const plain = await rig.visitRaw('https');
    plain.end(get('/'));
    await readAll(plain);
    const found = await lines(5);
    const statuses = found.map((line) => /"([^"]*)" (\d+)/.exec(line)?.slice(1).join(' '));
    assert.deepEqual(statuses, [
      'GET /secret HTTP/1.1 403',
      '- 400',
      'GET /wp-login.php HTTP/1.1 404',
      'GET /plain HTTP/1.1 301',
      '- 400',
    ]);
  });

  it('has an answer that breaks off, with what was sent of it', async (t) => {
    const { rig, lines } = await startLogged(t);
    await rig.client('t', upstream());
    const visitor = await rig.visit(host);
    visitor.write(get('/half'));
    await readAll(visitor);
    assert.deepEqual(await lines(1), ['127.0.0.1 - - [] "GET /half HTTP/1.1" 200 4 "-" "-"']);
  });

  it('has a visitor who leaves before the answer as 499', async (t) => {
    const { rig, lines } = await startLogged(t);
    const client = await rig.client('t', upstream());
    const session = connect(`https://${host}`, { createConnection: () => rig.connectTls(host, { ALPNProtocols: ['h2'] }) });
    const stream = session.request({ ':path': '/silent' });
    await eventually(() => client.opened === 1);
    stream.close();
    assert.deepEqual(await lines(1), ['127.0.0.1 - - [] "GET /silent HTTP/2.0" 499 0 "-" "-"']);
    session.close();
  });

  it('keeps the ticket of a sign-in out', async (t) => {
    const { rig, lines } = await startLogged(t);
    await rig.client('t', upstream());
    const visitor = await rig.visit(host);
    visitor.end(get('/.underpass/access/enter?ticket=secret', 'Connection: close\r\n'));
    await readAll(visitor);
    assert.match((await lines(1))[0] as string, /"GET \/\.underpass\/access\/enter HTTP\/1\.1" 200/);
  });

  it('has whole lines of all workers, and those of the last moment before a stop', async (t) => {
    const { rig, lines } = await startLogged(t, 'combined', 2);
    const agent = 'x'.repeat(600);
    for (let at = 0; at < 40; at++) {
      const visitor = await rig.visit('denied.tunnels.test');
      visitor.end(get(`/${at}`, `User-Agent: ${agent}\r\nConnection: close\r\n`, 'denied.tunnels.test'));
      await readAll(visitor);
    }
    await rig.edge.drain(10_000);
    for (const line of await lines(40)) assert.match(line, /^127\.0\.0\.1 - - \[\] "GET \/\d+ HTTP\/1\.1" 403 \d+ "-" "x{600}"$/);
  });
});
