// One address opens far more connections than its limit: the edge closes them at once, serves others and releases everything.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { watchFootprints } from '../helpers/footprint.ts';
import { peakBytes, resetPeak, startClientProcess, startServerProcess } from '../helpers/process.ts';
import { type Door, descriptorsSettle, openDescriptors, visit } from '../helpers/visitor.ts';

const allowed = 50;
const rounds = 8;
const perRound = 500;
/** A refused connection costs no TLS state and no buffers. */
const growthBytes = 64 * 1024 ** 2;
/** All of 127/8 is this machine. The client and the other visitors use 127.0.0.1. */
const crowdAddress = '127.0.0.66';

async function startUpstream(t: TestContext): Promise<string> {
  const server = createServer((_request, response) => response.end('served'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Connects and sends nothing; adds the socket to `kept` while the edge keeps it open. */
function dial(port: number, kept: Set<Socket>): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port, localAddress: crowdAddress });
  socket.on('error', () => {}).on('close', () => kept.delete(socket));
  return new Promise((resolve) => {
    socket.once('close', resolve).once('connect', () => {
      kept.add(socket);
      resolve();
    });
  });
}

async function keptSettle(kept: ReadonlySet<Socket>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (kept.size > allowed) {
    assert.ok(performance.now() < deadline, `${kept.size} connections are held, ${allowed} are allowed`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('refuses connections over the limit of an address, and no others', async (t) => {
  const product = await startServerProcess(t, { UNDERPASS_EDGE_CONNECTIONS_PER_ADDRESS: String(allowed) });
  const door: Door = { port: product.ports.https, host: new URL(product.tunnel.publicUrl).hostname, caPem: product.caPem };
  const client = await startClientProcess(t, product, await startUpstream(t));
  assert.equal((await visit(door)).status, 200);
  const before = await openDescriptors(product.server.pid);
  const comesBack = await watchFootprints(t, { server: product.server, client });
  await resetPeak(product.server.pid);
  const resident = await peakBytes(product.server.pid);

  const kept = new Set<Socket>();
  const startedMs = performance.now();
  for (let round = 0; round < rounds; round++) {
    await Promise.all(Array.from({ length: perRound }, () => dial(door.port, kept)));
    assert.equal((await visit(door)).status, 200, 'others are served');
    await keptSettle(kept);
    // Only in the first round: silent connections end after 15 s, and on a busy machine the rounds together may take longer.
    if (round === 0) assert.equal(kept.size, allowed, 'the first connections are kept');
    const held = (await openDescriptors(product.server.pid)) - before;
    assert.ok(held <= allowed + 8, `${held} descriptors are held for the crowd`);
  }
  const tookMs = performance.now() - startedMs;
  const grown = (await peakBytes(product.server.pid)) - resident;
  t.diagnostic(`${rounds * perRound} connections in ${tookMs.toFixed(0)} ms: peak ${(grown / 1e6).toFixed(0)} MB above`);
  assert.ok(grown < growthBytes, `the server grew by ${grown} bytes`);

  for (const socket of kept) socket.destroy();
  await descriptorsSettle(product.server.pid, before + 8);
  await comesBack();
  assert.doesNotMatch(client.text(), /lost|disconnected/);
  const warnings = product.server.text().match(/connections refused: too many/g) ?? [];
  const sinceMs = performance.now() - startedMs;
  assert.ok(warnings.length >= 1 && warnings.length <= 1 + sinceMs / 10_000, `${warnings.length} lines in the log`);
});
