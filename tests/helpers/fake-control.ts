// Control's side of the feed on a port, without a database: gives an edge a region of any size.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';
import { type FeedState, feedVersion } from '@underpass/wire/feed/feed.ts';
import { createControlFeed } from '@underpass/wire/feed/feed-stream.ts';

const pingEveryMs = 5_000;

/** Returns the address for UNDERPASS_CONTROL_URL. It accepts any edge key. */
export async function startFakeControl(t: TestContext, state: FeedState): Promise<string> {
  const sockets = new Set<Duplex>();
  const server = createServer();
  server.on('upgrade', (_, socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: underpass-feed\r\n\r\n');
    serve(socket, state);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function serve(socket: Duplex, state: FeedState): void {
  const feed = createControlFeed(socket);
  let pings = 0;
  const timer = setInterval(() => void feed.send({ type: 'ping', id: ++pings }), pingEveryMs);
  feed.onClose = () => clearInterval(timer);
  feed.onMessage = (message) => {
    if (message.type !== 'hello') return;
    feed.send({ type: 'welcome', version: feedVersion, epoch: 'by-hand', region: message.region });
    feed.send({ type: 'snapshot', seq: 1, state });
  };
}
