// kill -9 of the client, and of the whole server, while visitors use them: only what was in flight is lost.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { watchFootprints } from '../helpers/footprint.ts';
import { restartServerProcess, startClientProcess, startServerProcess } from '../helpers/process.ts';
import { type Door, getRequest, openVisitor, visit, visitUntil } from '../helpers/visitor.ts';
import { doorOf, startUpstream } from './stage.ts';

/** /slow begins an answer and never ends it; everything else answers at once. */
function serve(request: IncomingMessage, response: ServerResponse): void {
  if (request.url === '/slow') response.writeHead(200, { 'Content-Length': 1_000_000 }).write('begun');
  else response.end('served');
}

/** Starts a visitor's download and waits for its first bytes. */
async function beginDownload(door: Door) {
  const socket = await openVisitor(door);
  socket.on('error', () => {});
  socket.write(getRequest(door, '/slow'));
  await once(socket, 'data');
  return { ended: new Promise((resolve) => socket.once('close', resolve)) };
}

test('a killed client ends only its own streams, and visitors get UNDERPASS_NO_CLIENT once no client is left', async (t) => {
  const product = await startServerProcess(t);
  const upstream = await startUpstream(t, serve);
  const door = doorOf(product);
  const first = await startClientProcess(t, product, upstream);
  assert.equal((await visit(door)).status, 200);
  const comesBack = await watchFootprints(t, { server: product.server });
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
  await comesBack();
});

test('a killed server loses nothing that it acknowledged, and the client reconnects by itself', async (t) => {
  const product = await startServerProcess(t);
  const door = doorOf(product);
  const client = await startClientProcess(t, product, await startUpstream(t, serve));
  await visitUntil(door, 200);
  const comesBack = await watchFootprints(t, { client });
  const download = await beginDownload(door);
  await product.server.end('SIGKILL');
  await download.ended;
  assert.equal((await visit(door)).status, 0);
  await restartServerProcess(t, product);
  assert.match(await visitUntil(door, 200), /served$/);
  await comesBack();
});
