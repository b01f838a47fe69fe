// A thousand visitors of each kind that never finish: the edge serves others, and releases all descriptors and memory afterwards.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { watchFootprints } from '../helpers/footprint.ts';
import { peakBytes, resetPeak, startClientProcess, startServerProcess } from '../helpers/process.ts';
import { type Door, descriptorsSettle, openDescriptors, openVisitor, visit } from '../helpers/visitor.ts';

const crowd = 1_000;
/** A thousand TLS connections of about 60 kB, with room to spare: a larger peak means that memory of closed ones is kept. */
const growthBytes = 160 * 1024 ** 2;
const handshakeBegun = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]);

type Kind = (door: Door) => Promise<Socket>;

function dial(port: number, first?: Buffer): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      if (first) socket.write(first);
      resolve(socket);
    });
    socket.once('error', reject);
  });
}

const kinds: Record<string, Kind> = {
  'say nothing': ({ port }) => dial(port),
  'begin a handshake': ({ port }) => dial(port, handshakeBegun),
  'begin a request head': async (door) => {
    const socket = await openVisitor(door);
    socket.write('GET / HTTP/1.1\r\nHost: ');
    return socket;
  },
  'begin a request body': async (door) => {
    const socket = await openVisitor(door);
    socket.write(`POST / HTTP/1.1\r\nHost: ${door.host}\r\nContent-Length: 1000\r\n\r\nbegun`);
    return socket;
  },
};

async function startUpstream(t: TestContext): Promise<string> {
  const server = createServer(
    (request, response) =>
      void request
        .on('error', () => {})
        .resume()
        .on('end', () => response.end('served')),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Fifty at a time, so that the listener's queue does not overflow. */
async function gather(kind: Kind, door: Door): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < crowd) sockets.push(...(await Promise.all(Array.from({ length: 50 }, () => kind(door)))));
  for (const socket of sockets) socket.on('error', () => {});
  return sockets;
}

test('releases all memory and descriptors of visitors that never finish', async (t) => {
  // Raise the limits, because all visitors come from one address; crowd.test.ts tests the limits.
  const limits = { UNDERPASS_EDGE_CONNECTIONS: String(4 * crowd), UNDERPASS_EDGE_CONNECTIONS_PER_ADDRESS: String(4 * crowd) };
  const product = await startServerProcess(t, limits);
  const door: Door = { port: product.ports.https, host: new URL(product.tunnel.publicUrl).hostname, caPem: product.caPem };
  const client = await startClientProcess(t, product, await startUpstream(t));
  assert.equal((await visit(door)).status, 200);
  const pids = { server: product.server.pid, client: client.pid };
  const before = { server: await openDescriptors(pids.server), client: await openDescriptors(pids.client) };

  const comesBack = await watchFootprints(t, { server: product.server, client });
  for (const [name, kind] of Object.entries(kinds)) {
    await t.test(name, async (t) => {
      await resetPeak(pids.server);
      const resident = await peakBytes(pids.server);
      const sockets = await gather(kind, door);
      assert.equal((await visit(door)).status, 200, 'others are served');
      for (const socket of sockets) socket.destroy();
      await descriptorsSettle(pids.server, before.server + 8);
      await descriptorsSettle(pids.client, before.client + 8);
      const grown = (await peakBytes(pids.server)) - resident;
      t.diagnostic(`${crowd} visitors who ${name}: peak ${(grown / 1e6).toFixed(0)} MB above ${(resident / 1e6).toFixed(0)} MB`);
      assert.ok(grown < growthBytes, `the server grew by ${grown} bytes`);
    });
  }
  assert.equal((await visit(door)).status, 200);
  await comesBack();
});
