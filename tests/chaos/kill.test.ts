// kill -9 of the client, and of the whole server, each with visitors on it: what is lost is what was in flight, nothing more.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { restartServerProcess, type StartedServer, startClientProcess, startServerProcess } from '../helpers/process.ts';
import { type Door, getRequest, openVisitor, visit, visitUntil } from '../helpers/visitor.ts';

/** /slow begins an answer and never ends it; everything else answers at once. */
async function startUpstream(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === '/slow') return void response.writeHead(200, { 'Content-Length': 1_000_000 }).write('begun');
    response.end('served');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const doorOf = ({ ports, tunnel, caPem }: StartedServer): Door => ({
  port: ports.https,
  host: new URL(tunnel.publicUrl).hostname,
  caPem,
});

/** A visitor in the middle of a download. */
async function beginDownload(door: Door) {
  const socket = await openVisitor(door);
  socket.on('error', () => {});
  socket.write(getRequest(door, '/slow'));
  await once(socket, 'data');
  return { ended: once(socket, 'close') };
}

test('a killed client takes its own streams with it, a second one serves on, and visitors are told when none is left', async (t) => {
  const product = await startServerProcess(t);
  const upstream = await startUpstream(t);
  const door = doorOf(product);
  const first = await startClientProcess(t, product, upstream);
  assert.equal((await visit(door)).status, 200);
  const download = await beginDownload(door);
  await startClientProcess(t, product, upstream).then(async (second) => {
    await first.end('SIGKILL');
    await download.ended;
    for (let asked = 0; asked < 20; asked++) assert.equal((await visit(door)).status, 200);
    await second.end('SIGKILL');
  });
  const page = await visitUntil(door, 503);
  assert.match(page, /UNDERPASS_NO_CLIENT/);
  await startClientProcess(t, product, upstream);
  await visitUntil(door, 200);
});

test('a killed server loses nothing that it had acknowledged, and the client finds it again by itself', async (t) => {
  const product = await startServerProcess(t);
  const door = doorOf(product);
  await startClientProcess(t, product, await startUpstream(t));
  await visitUntil(door, 200);
  const download = await beginDownload(door);
  await product.server.end('SIGKILL');
  await download.ended;
  assert.equal((await visit(door)).status, 0);
  await restartServerProcess(t, product);
  assert.match(await visitUntil(door, 200), /served$/);
});
