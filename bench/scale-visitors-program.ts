// A program: thousands of visitors' WebSockets. The parent process sends its part, then asks for its status.
import { once } from 'node:events';
import { type ConnectionOptions, connect, createSecureContext, type TLSSocket } from 'node:tls';
import type { VisitorsPart, VisitorsStatus } from './scale-visitors.ts';

/** Handshakes under way at once. */
const atOnce = 32;
const openTimeoutMs = 20_000;
const messageEveryMs = 10_000;
const message = Buffer.alloc(64, 'm');

let failed = 0;
let roundTripsMs: number[] = [];
const open = new Set<TLSSocket>();

/** An edge limits connections by address, so the visitors use many addresses. */
const addressOf = (index: number): string => `127.2.${index % 250}.${1 + (Math.floor(index / 250) % 250)}`;

async function openOne({ port, hosts }: VisitorsPart, secureContext: ReturnType<typeof createSecureContext>, index: number) {
  const host = hosts[index % hosts.length] ?? '';
  const from = { localAddress: addressOf(index) } as ConnectionOptions;
  const socket = connect({ ...from, host: '127.0.0.1', port, servername: host, secureContext, ALPNProtocols: ['http/1.1'] });
  socket.on('error', () => {});
  const timer = setTimeout(() => socket.destroy(new Error('late')), openTimeoutMs);
  try {
    await once(socket, 'secureConnect');
    const key = 'dGhlIHNhbXBsZSBub25jZQ==';
    socket.write(
      `GET /socket HTTP/1.1\r\nHost: ${host}:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
      'latin1',
    );
    const [answer] = (await once(socket, 'data')) as [Buffer];
    if (!answer.toString('latin1').startsWith('HTTP/1.1 101')) throw new Error('no WebSocket');
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  } catch {
    failed++;
    socket.destroy();
  } finally {
    clearTimeout(timer);
  }
}

async function start(part: VisitorsPart): Promise<void> {
  const context = createSecureContext({ ca: part.caPem });
  let next = part.from;
  const worker = async (): Promise<void> => {
    while (next < part.to) await openOne(part, context, next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** Each socket sends a message and waits for it to come back, again and again, spread over the interval. */
function beActive(socket: TLSSocket): void {
  let sentMs = 0;
  let missing = 0;
  socket.on('data', (bytes: Buffer) => {
    missing -= bytes.length;
    if (missing === 0) roundTripsMs.push(performance.now() - sentMs);
  });
  const send = (): void => {
    if (missing > 0 || socket.destroyed) return;
    sentMs = performance.now();
    missing = message.length;
    socket.write(message);
  };
  setTimeout(() => {
    send();
    setInterval(send, messageEveryMs);
  }, Math.random() * messageEveryMs);
}

process.on('message', (said: VisitorsPart | 'status' | 'active') => {
  if (said === 'active') for (const socket of open) beActive(socket);
  else if (said === 'status') {
    const status: VisitorsStatus = { open: open.size, failed, roundTripsMs };
    process.send?.(status);
    roundTripsMs = [];
  } else void start(said);
});
process.on('disconnect', () => process.exit(0));
