// Accepts the feed of edges on other machines: an HTTP Upgrade on the control port, authorised by the region's key.

import { createHash } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';

export const feedPath = '/feed';
export const feedProtocol = 'underpass-feed';
export const regionHeader = 'underpass-region';

/** Longer than any key that the product makes. */
const maxKeyLength = 256;

interface FeedDoorDeps {
  /** Runs before the key look-up, so that callers without a key cost no database query. */
  readonly mayAsk: (request: IncomingMessage) => Promise<boolean>;
  readonly keyOpens: (region: string, keyHash: string) => Promise<boolean>;
  readonly accept: (duplex: Duplex, options: { readonly region: string; readonly keyHash: string }) => void;
  readonly log: Logger;
}

interface Asked {
  readonly region: string;
  readonly keyHash: string;
}

/** True if the request asks for the feed. Any other Upgrade is ignored (RFC 9110 7.8), and the request is answered like all others. */
export const asksForFeed = ({ url, headers }: IncomingMessage): boolean =>
  url === feedPath && headers.upgrade?.toLowerCase() === feedProtocol;

/** Undefined if an edge would not send this request. */
function parseUpgrade(request: IncomingMessage): Asked | undefined {
  const { authorization = '' } = request.headers;
  const region = request.headers[regionHeader];
  const key = /^Bearer ([\x21-\x7e]+)$/.exec(authorization)?.[1];
  if (request.method !== 'GET' || key === undefined || key.length > maxKeyLength || typeof region !== 'string') return undefined;
  return { region, keyHash: createHash('sha256').update(key).digest('hex') };
}

/** A refused caller may never end its side, and Node's request timeouts no longer apply after an upgrade: destroy the socket. */
function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy());
}

/** Returns the function that ends the feeds, so that their edges dial another process. */
export function openFeedDoor(server: Server, { mayAsk, keyOpens, accept, log }: FeedDoorDeps): () => void {
  const open = new Set<Duplex>();
  const receive = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const asked = parseUpgrade(request);
    if (asked === undefined) return refuse(socket, '400 Bad Request');
    if (!(await mayAsk(request))) return refuse(socket, '429 Too Many Requests');
    if (!(await keyOpens(asked.region, asked.keyHash))) {
      log.warn({ region: asked.region, address: request.socket.remoteAddress }, 'feed: a key was refused');
      return refuse(socket, '401 Unauthorized');
    }
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${feedProtocol}\r\n\r\n`);
    if (head.length > 0) socket.unshift(head);
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    accept(socket, asked);
  };

  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    receive(request, socket, head).catch((error) => {
      log.error({ err: error }, 'feed: an edge could not be let in');
      socket.destroy();
    });
  });
  return () => {
    for (const socket of open) socket.destroy();
  };
}
