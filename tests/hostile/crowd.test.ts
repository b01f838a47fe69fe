// One address that opens far more connections than it may: they are closed at once, others are served meanwhile, nothing stays.
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
/** What a crowd that is turned away may cost: no TLS state, no buffers. */
const growthBytes = 64 * 1024 ** 2;
/** 127/8 is all this machine; the client dials from 127.0.0.1 as other visitors do. */
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

/** Dials and never speaks; told whether the edge kept it. */
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

test('an address with too many connections is refused, and nobody else', async (t) => {
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
    assert.equal((await visit(door)).status, 200, 'others are served meanwhile');
    await keptSettle(kept);
    // Later the time of those who never speak may be over: 15 s, of which a busy machine takes the most for all rounds.
    if (round === 0) assert.equal(kept.size, allowed, 'what came first is kept');
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
  assert.ok(warnings.length >= 1 && warnings.length <= 1 + tookMs / 10_000, `${warnings.length} lines in the log`);
});
