// The HTTP server of control's port: how long a caller may take, also one whose port has nothing in front that knows bounds.

import { createServer, type RequestListener, type Server } from 'node:http';

/** Nothing moves: live views beat every 20 s, so whoever is silent for longer has gone or reads nothing. */
const quietMs = 120_000;

export function createHttpServer(answer: RequestListener, idleMs = quietMs): Server {
  const server = createServer({ requestTimeout: 60_000, headersTimeout: 15_000 }, answer);
  server.setTimeout(idleMs);
  server.on('dropRequest', (_, socket) => socket.destroy());
  return server;
}
