// Serves the Prometheus metrics of this process on a private port.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { InheritedSockets } from '@underpass/edge/door/inherited-sockets.ts';
import type { Logger } from 'pino';
import type { Settings } from '../settings/settings.ts';
import { listen } from './listen.ts';

/** The part of prom-client's Registry that this file uses. */
interface MetricsSource {
  metrics(): Promise<string>;
  readonly contentType: string;
}

export interface MetricsDoor {
  readonly port: number;
  readonly server: Server;
  close(): void;
}

/** Undefined if no port is set. `inherited`: the sockets of the process before this one. */
export async function openMetricsDoor(
  settings: Settings,
  sources: readonly MetricsSource[],
  log: Logger,
  inherited?: InheritedSockets,
): Promise<MetricsDoor | undefined> {
  if (settings.metricsPort === undefined) return undefined;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const known = request.method === 'GET' && request.url === '/metrics';
    const texts = known ? await Promise.all(sources.map((source) => source.metrics())) : ['Not found\n'];
    const contentType = known ? (sources[0]?.contentType ?? 'text/plain') : 'text/plain';
    response.writeHead(known ? 200 : 404, { 'content-type': contentType }).end(texts.join('\n'));
  };
  const server = createServer((request, response) => {
    // A failed scrape must not end the process.
    answer(request, response).catch((error: unknown) => {
      log.error({ err: error }, 'metrics: a scrape failed');
      response.writeHead(500).end();
    });
  });
  const where = { host: settings.metricsListen, port: settings.metricsPort };
  const port = await listen(server, inherited?.take('metrics', where) ?? where, 'UNDERPASS_METRICS_PORT');
  return {
    port,
    server,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
