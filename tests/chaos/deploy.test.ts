// A deploy in the middle of downloads: edges and clients are replaced one after the other, and no visit fails.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { startBalancer } from '../helpers/balancer.ts';
import { watchFootprints } from '../helpers/footprint.ts';
import { keepVisiting } from '../helpers/load.ts';
import { freePorts } from '../helpers/port.ts';
import { figureOf, hopSettings, type StartedEdge, startRegion } from '../helpers/region.ts';
import { type Door, getRequest, openVisitor, visit, visitUntil } from '../helpers/visitor.ts';
import { startUpstream } from './stage.ts';

const pieceBytes = 64 * 1024;
const pieces = 60;
const pieceEveryMs = 50;
/** Three seconds of 20 Mbit/s: longer than any step of a deploy here, shorter than the drain. */
const downloadBytes = pieces * pieceBytes;

const pieceOf = (number: number): Buffer => Buffer.alloc(pieceBytes, `piece ${number} `);

/** /slow sends the download piece by piece, /endless sends its first piece, every other path answers at once. */
function serve(request: IncomingMessage, response: ServerResponse): void {
  if (request.url !== '/slow' && request.url !== '/endless') return void response.end('served');
  response.writeHead(200, { 'Content-Length': downloadBytes });
  if (request.url === '/endless') return void response.write(pieceOf(0));
  let sent = 0;
  const timer = setInterval(() => {
    response.write(pieceOf(sent++));
    if (sent === pieces) response.end();
  }, pieceEveryMs);
  response.once('close', () => clearInterval(timer));
}

const wholeHash = (() => {
  const hash = createHash('sha256');
  for (let number = 0; number < pieces; number++) hash.update(pieceOf(number));
  return hash.digest('hex');
})();

/** Resolves once the first bytes arrive; `whole` resolves with the hash of the complete body. */
async function beginDownload(door: Door, path = '/slow'): Promise<{ whole: Promise<string> }> {
  const socket = await openVisitor(door);
  socket.write(getRequest(door, path));
  const head = (await once(socket, 'data'))[0] as Buffer;
  const hash = createHash('sha256').update(head.subarray(head.indexOf('\r\n\r\n') + 4));
  const rest = async (): Promise<string> => {
    for await (const chunk of socket) hash.update(chunk as Buffer);
    return hash.digest('hex');
  };
  return { whole: rest() };
}

/** A client looks for a second edge at the latest after 5, 15 and 35 s; on a busy machine that edge may still be starting. */
const foundWithinMs = 120_000;

const clientsAt = (edge: StartedEdge): Promise<number> => figureOf(edge, 'underpass_edge_clients');

test('replacing edges and clients one by one breaks no download and fails no visit', async (t) => {
  const balancer = await startBalancer(t);
  const region = await startRegion(t, balancer.port);
  const edges = [await region.startEdge({ env: await hopSettings() }), await region.startEdge({ env: await hopSettings() })];
  balancer.backends = edges.map(({ port }) => port);
  const tunnel = await region.createTunnel('web');
  const door = region.doorOf(tunnel, balancer.port);
  const upstream = await startUpstream(t, serve);
  let client = await region.startClient(tunnel, upstream);
  await visitUntil(door, 200);
  for (const edge of edges)
    await eventually(
      () => clientsAt(edge),
      (clients) => clients > 0,
      foundWithinMs,
    );
  const comesBack = await watchFootprints(t, { control: region.control, client });
  const visitors = keepVisiting(t, door);

  for (const edge of edges) {
    const others = edges.filter((other) => other !== edge);
    const othersComeBack = await watchFootprints(t, Object.fromEntries(others.map(({ process }) => ['other edge', process])));
    const download = await beginDownload(region.doorOf(tunnel, edge.port));
    // Tell the balancer first: a connection that arrives after the edge's last accept and before its listener closes is reset.
    balancer.backends = others.map(({ port }) => port);
    await edge.process.end('SIGTERM');
    assert.equal(edge.process.child.exitCode, 0, edge.process.text());
    assert.equal(await download.whole, wholeHash);
    assert.equal((await visit(region.doorOf(tunnel, edge.port))).status, 0, 'the edge has ended');
    await edge.restart();
    balancer.backends = edges.map(({ port }) => port);
    await eventually(
      () => clientsAt(edge),
      (clients) => clients > 0,
      foundWithinMs,
    );
    await othersComeBack();
  }
  await comesBack();

  const download = await beginDownload(door);
  const next = await region.startClient(tunnel, upstream);
  await client.end('SIGTERM');
  assert.equal(client.child.exitCode, 0, client.text());
  assert.equal(await download.whole, wholeHash);
  client = next;
  const { statuses, visits } = await visitors.stop();
  assert.deepEqual(statuses, { 200: visits }, 'a visit failed');
});

/** A stop that ignores UNDERPASS_DRAIN_SECONDS waits for ever. */
const mostStopMs = 20_000;

test('a stop waits for a download, at most UNDERPASS_DRAIN_SECONDS', async (t) => {
  const [publicPort = 0] = await freePorts(1);
  const region = await startRegion(t, publicPort);
  const env = { UNDERPASS_EDGE_HTTPS_PORT: String(publicPort), UNDERPASS_DRAIN_SECONDS: '1' };
  const edge = await region.startEdge({ env });
  const tunnel = await region.createTunnel('web');
  const client = await region.startClient(tunnel, await startUpstream(t, serve));
  const comesBack = await watchFootprints(t, { control: region.control, client });
  const download = await beginDownload(region.doorOf(tunnel, publicPort), '/endless');
  const cut = download.whole.then(
    () => 'ended',
    () => 'broken',
  );
  const started = performance.now();
  await edge.process.end('SIGTERM');
  const ms = performance.now() - started;
  assert.ok(ms >= 1_000 && ms < mostStopMs, `the stop took ${ms} ms`);
  await cut;
  await comesBack();
});
