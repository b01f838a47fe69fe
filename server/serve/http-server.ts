// The HTTP server of control's port: bounds the time of a caller and the connections of an address, so that control needs
// no proxy in front for this.

import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { compileProxies } from '@underpass/control/request/http/address.ts';
import type { ConnectionLimiter } from '@underpass/edge/limits/connection-limiter.ts';
import { canonicalAddress } from '@underpass/rules/address/address.ts';
import { asksForFeed } from './feed-door.ts';

/** Time without a byte. Live views send one every 4 s, so a connection silent for two minutes is dead or not read. */
const quietMs = 120_000;

export function createHttpServer(answer: RequestListener, idleMs = quietMs): Server {
  const limits = { requestTimeout: 60_000, headersTimeout: 15_000 };
  const server = createServer({ ...limits, shouldUpgradeCallback: asksForFeed }, answer);
  server.setTimeout(idleMs);
  server.on('dropRequest', (_, socket) => socket.destroy());
  return server;
}

/**
 * Resets connections over the limit of an address before reading a byte. Does not count trusted proxies, whose connections
 * belong to many visitors, or connections from this machine's edge, which counts its visitors itself.
 */
export function limitCallers(server: Server, limiter: ConnectionLimiter, trustedProxies: readonly string[]): void {
  const isProxy = compileProxies(trustedProxies);
  server.on('connection', (socket: Socket) => {
    const address = canonicalAddress(socket.remoteAddress ?? '');
    if (address !== null && !isProxy(address)) limiter.admitAddress(socket, address);
  });
}
