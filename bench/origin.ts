// The private web server that every peer exposes: raw TCP, so that its own cost stays small and equal.
// GET /small answers 100 bytes, GET /bulk/N answers N bytes, POST /sink reads all and answers. After an Upgrade it stays idle.
// With a certificate and its key in argv it listens for TLS, too, where it speaks HTTP/2 and HTTP/1.1 and knows GET /bulk/N.
// For each piece on its standard input it prints the number of body bytes that it has read.
import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

const smallAnswer = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n${'x'.repeat(100)}`,
  'latin1',
);
/** The answer to the one key that load.ts sends (RFC 6455 1.3): haproxy turns any other into a 502. */
const switching = Buffer.from(
  `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n`,
  'latin1',
);
const block = Buffer.alloc(256 * 1024, 'b');

let read = 0;
const server = createServer({ noDelay: true }, (socket) => {
  let pending: Buffer = Buffer.alloc(0);
  let bodyLeft = 0;
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    if (bodyLeft > 0) {
      bodyLeft -= chunk.length;
      read += chunk.length;
      if (bodyLeft <= 0) socket.write(smallAnswer);
      return;
    }
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    for (let end = pending.indexOf('\r\n\r\n'); end >= 0; end = pending.indexOf('\r\n\r\n')) {
      const head = pending.toString('latin1', 0, end);
      pending = pending.subarray(end + 4);
      bodyLeft = answer(socket, head);
      if (bodyLeft > 0) {
        bodyLeft -= pending.length;
        read += pending.length;
        pending = Buffer.alloc(0);
        if (bodyLeft <= 0) socket.write(smallAnswer);
        return;
      }
    }
  });
});

/** Answers one head; returns the number of body bytes to read before it can answer. */
function answer(socket: Socket, head: string): number {
  if (head.startsWith('GET /bulk/')) {
    sendBulk(socket, Number(head.slice(10, head.indexOf(' ', 10))));
    return 0;
  }
  if (head.startsWith('POST ')) return Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  socket.write(/\nupgrade: *websocket/i.test(head) ? switching : smallAnswer);
  return 0;
}

function sendBulk(socket: Socket, bytes: number): void {
  let left = bytes;
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n`);
  const more = (): void => {
    while (left > 0) {
      const size = Math.min(left, block.length);
      left -= size;
      if (!socket.write(size === block.length ? block : block.subarray(0, size))) {
        if (left > 0) socket.once('drain', more);
        return;
      }
    }
  };
  more();
}

const portOf = (listening: Pick<Server, 'listen' | 'address'>): Promise<number> =>
  new Promise((resolve) => {
    listening.listen(0, '127.0.0.1', () => resolve((listening.address() as AddressInfo).port));
  });

/** Serves visitors whose TLS ends here. */
function createTlsServer(certificate: string, key: string) {
  const options = { cert: readFileSync(certificate), key: readFileSync(key), allowHTTP1: true };
  return createSecureServer(options, (request, response) => {
    const bytes = Number(/^\/bulk\/(\d+)$/.exec(request.url)?.[1] ?? 100);
    response.writeHead(200, { 'content-length': bytes });
    response.end(bytes <= block.length ? block.subarray(0, bytes) : '');
  });
}

const [certificate, key] = process.argv.slice(2);
const port = await portOf(server);
const tlsPort = certificate === undefined || key === undefined ? 0 : await portOf(createTlsServer(certificate, key));
process.stdout.write(`${JSON.stringify({ port, tlsPort })}\n`);
process.stdin.on('data', () => process.stdout.write(`${JSON.stringify({ read })}\n`));
process.on('SIGTERM', () => process.exit(0));
