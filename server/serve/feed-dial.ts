// Connects an edge to control on another machine: one HTTP Upgrade, over TLS if the address is https.

import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { feedPath, feedProtocol, regionHeader } from './feed-door.ts';

const dialTimeoutMs = 10_000;
/** TCP keep-alive also detects a connection whose other side is gone. */
const keepAliveMs = 30_000;

interface FeedDialOptions {
  readonly controlUrl: string;
  readonly region: string;
  readonly key: string;
}

export function dialFeed({ controlUrl, region, key }: FeedDialOptions): Promise<Duplex> {
  const url = new URL(feedPath, controlUrl);
  const headers = { connection: 'Upgrade', upgrade: feedProtocol, authorization: `Bearer ${key}`, [regionHeader]: region };
  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, { headers, timeout: dialTimeoutMs });
  return new Promise((resolve, reject) => {
    request.on('upgrade', (_, socket: Socket, head) => {
      socket.setTimeout(0);
      socket.setKeepAlive(true, keepAliveMs);
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    request.on('response', (response) => {
      response.resume();
      reject(new Error(refusalText(response.statusCode, region)));
    });
    request.on('timeout', () => request.destroy(new Error('control did not answer in time')));
    request.on('error', reject).end();
  });
}

function refusalText(status: number | undefined, region: string): string {
  if (status === 401) {
    return `control refuses UNDERPASS_EDGE_KEY for region ${region}; make one with: underpass-server regions key ${region}`;
  }
  if (status === 429) return 'control has had too many tries from this address; the edge asks again by itself';
  return `control answered status ${status}; check UNDERPASS_CONTROL_URL`;
}
