// A program: an HTTP server that prints its port. GET /N answers N numbered bytes (numbered-bytes.ts); other paths a short page.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { numberedBytes } from './numbered-bytes.ts';

const server = createServer(async (request, response) => {
  const bytes = Number(request.url?.slice(1));
  if (!(bytes > 0)) return void response.end('served');
  response.setHeader('Content-Length', bytes);
  await pipeline(Readable.from(numberedBytes(bytes)), response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`));
