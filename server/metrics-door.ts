// Prometheus metrics on a private port, from whatever this process runs.

import { createServer } from 'node:http';
import { listen } from './listen.ts';
import type { Settings } from './settings.ts';

/** What prom-client's Registry is to us. */
export interface MetricsSource {
  metrics(): Promise<string>;
  readonly contentType: string;
}

export interface MetricsDoor {
  readonly port: number;
  close(): void;
}

/** Undefined where no port is set. */
export async function openMetricsDoor(settings: Settings, sources: readonly MetricsSource[]): Promise<MetricsDoor | undefined> {
  if (settings.metricsPort === undefined) return undefined;
  const server = createServer(async (request, response) => {
    const known = request.method === 'GET' && request.url === '/metrics';
    response.statusCode = known ? 200 : 404;
    response.setHeader('content-type', known ? (sources[0]?.contentType ?? 'text/plain') : 'text/plain');
    const texts = known ? await Promise.all(sources.map((source) => source.metrics())) : [];
    response.end(texts.join('\n'));
  });
  const port = await listen(server, settings.metricsListen, settings.metricsPort, 'UNDERPASS_METRICS_PORT');
  return {
    port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
