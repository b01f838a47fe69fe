// The health address of a running client: /healthz answers 200 while the process runs, /readyz while every tunnel is connected.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inBrackets } from '@underpass/rules/address/address.ts';
import { parseListenAddress } from '../config/listen-address.ts';
import { ClientError, listenReason, orUsage } from '../process/error.ts';
import type { TunnelView } from '../terminal/live-status.ts';

export interface Health {
  /** host:port as bound. */
  readonly address: string;
  readonly close: () => void;
}

/** Probes are few and their answers small. */
const maxConnections = 32;
const requestTimeoutMs = 5_000;

export async function startHealth(place: string, views: () => readonly TunnelView[]): Promise<Health> {
  const { host, port } = orUsage(parseListenAddress(place));
  const server = createServer({ requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs }, (request, response) => {
    const { status, body } = answer(request.method ?? '', request.url ?? '', views());
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
    response.end(request.method === 'HEAD' ? undefined : `${JSON.stringify(body)}\n`);
  });
  server.maxConnections = maxConnections;
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    throw new ClientError('port-in-use', `${place} (${listenReason(cause)})`, { cause });
  }
  const bound = server.address() as AddressInfo;
  return { address: `${inBrackets(host)}:${bound.port}`, close: () => server.close() };
}

function answer(method: string, path: string, views: readonly TunnelView[]): { status: number; body: unknown } {
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, body: { error: 'GET only' } };
  if (path === '/healthz') return { status: 200, body: { alive: true } };
  if (path !== '/readyz') return { status: 404, body: { error: 'only /healthz and /readyz exist' } };
  const ready = views.length > 0 && views.every(({ state }) => state === 'connected');
  const tunnels = views.map(({ name, state, edges, streams }) => ({ name, state, edges: edges.length, streams }));
  return { status: ready ? 200 : 503, body: { ready, tunnels } };
}
