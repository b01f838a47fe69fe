// An edge of one region, as the server starts it: one process, or several on one machine.

import type { Server } from 'node:http';
import { join } from 'node:path';
import { countBuffersWithHeap } from '@underpass/wire/heap.ts';
import { offeredControls } from '@underpass/wire/tcp-path.ts';
import type { Registry } from 'prom-client';
import { type Listen, portOf } from './door/listen.ts';
import { createTicketKeys } from './door/ticket-keys.ts';
import { SnapshotFile } from './feed/snapshot-file.ts';
import { createEdgeRegistry, createMetricsServer, type MetricsOptions } from './metrics/metrics-server.ts';
import type { EdgeStats } from './metrics/stats.ts';
import type { EdgePorts, EdgeProcessOptions } from './process/edge-options.ts';
import { EdgeProcess } from './process/edge-process.ts';
import { WorkerPool } from './workers/worker-pool.ts';

export interface EdgeOptions extends Omit<EdgeProcessOptions, OwnedByEdge> {
  /** Prometheus, /healthz and /readyz; nowhere if missing. */
  readonly metrics?: Listen;
  /** Addresses and ranges of load balancers that put a PROXY header in front. */
  readonly balancers?: readonly string[];
  /** Folder for the last copy of the routes; no copy is kept if missing. */
  readonly home?: string;
  /** Processes that share the ports. 1, the default, stays in this one; more need Linux. */
  readonly workers?: number;
}

type OwnedByEdge = 'balancers' | 'workers' | 'reportAs' | 'siblings' | 'ticketKeys' | 'snapshot';

export interface Edge {
  readonly ports: EdgePorts & { readonly metrics: number | null };
  /** Current figures, and counters since the start. */
  stats(): EdgeStats;
  /** The same for Prometheus, without the figures of Node's process, for a server that adds those itself. */
  readonly registry: Registry;
  /** Stops accepting and lets open connections finish, for at most graceMs. */
  drain(graceMs: number): Promise<void>;
  close(): Promise<void>;
}

export async function createEdge(options: EdgeOptions): Promise<Edge> {
  const { home, log, metrics, workers = 1 } = options;
  const onError = (error: Error): void => log.error({ error: error.message }, 'the copy of the routes is not kept');
  const snapshot = home === undefined ? null : new SnapshotFile(join(home, 'edge', 'routes.json'), onError);
  const parts = { ...options, balancers: options.balancers ?? [], snapshot };
  countBuffersWithHeap();
  log.info({ congestion: offeredControls() ?? 'system' }, 'congestion control: what long and short paths get');
  const body =
    workers > 1
      ? await WorkerPool.start({ ...parts, workers })
      : await EdgeProcess.start({ ...parts, workers, ticketKeys: createTicketKeys() });
  let draining = false;
  const metricsServer = metrics === undefined ? null : await openMetrics(body, { listen: metrics, draining: () => draining });
  return {
    ports: { ...body.ports, metrics: metricsServer === null ? null : portOf(metricsServer) },
    stats: () => body.stats(),
    registry: createEdgeRegistry(figuresOf(body)),
    drain: (graceMs) => {
      draining = true;
      return body.drain(graceMs);
    },
    async close() {
      metricsServer?.close();
      await body.close();
    },
  };
}

type Body = Pick<WorkerPool, 'ports' | 'ready' | 'feedConnected' | 'stats' | 'drain' | 'close'>;

const figuresOf = (body: Body) => ({
  stats: () => body.stats(),
  feedConnected: () => body.feedConnected,
  ready: () => body.ready,
});

async function openMetrics(body: Body, options: Pick<MetricsOptions, 'listen' | 'draining'>): Promise<Server> {
  try {
    return await createMetricsServer({ ...options, ...figuresOf(body) });
  } catch (error) {
    await body.close();
    throw error;
  }
}
