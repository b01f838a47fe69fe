// An edge of one region, as the server starts it: one process, or several on one machine.

import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countBuffersWithHeap } from '@underpass/runtime/heap.ts';
import type { FeedCopy } from '@underpass/wire/feed/feed.ts';
import { offeredControls } from '@underpass/wire/path/tcp-path.ts';
import type { Registry } from 'prom-client';
import type { InheritedSockets } from './door/inherited-sockets.ts';
import { handleOf, type Listen, type NamedSocket, portOf, socketKey } from './door/listen.ts';
import { createTicketKeys } from './door/ticket-keys.ts';
import type { FeedStanding } from './feed/feed-link.ts';
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
  /** What the process before this one hands over; missing at an ordinary start. */
  readonly legacy?: Legacy | undefined;
  /** Processes that share the ports. 1, the default, stays in this one; more need Linux. */
  readonly workers?: number;
}

/** What an edge hands over to its successor. */
export interface Legacy {
  readonly sockets: InheritedSockets;
  /** Unix sockets through which the clients of the elder are reached. */
  readonly siblingPaths: readonly string[];
}

type OwnedByEdge = 'balancers' | 'workers' | 'reportAs' | 'siblings' | 'ticketKeys' | 'snapshot' | 'elderPaths';

export interface Edge {
  readonly ports: EdgePorts & { readonly metrics: number | null };
  /** Current figures, and counters since the start. */
  stats(): EdgeStats;
  /** The same for Prometheus, without the figures of Node's process, for a server that adds those itself. */
  readonly registry: Registry;
  /** The connection to control. */
  feed(): FeedStanding;
  /** Null if no copy of the routes is kept. */
  copy(): FeedCopy | null;
  /** Stops accepting and lets open connections finish, for at most graceMs. */
  drain(graceMs: number): Promise<void>;
  close(): Promise<void>;
  /** What a successor takes over: the sockets by socketKey, and the paths of a Legacy. */
  bequeath(): Promise<{ readonly sockets: readonly NamedSocket[]; readonly siblingPaths: readonly string[] }>;
  /** Leaves the copy of the routes, and the feed if both processes dial the same control, to the successor; or takes them back. */
  hold(held: boolean, isFeedShared: boolean): Promise<void>;
  /** The successor accepts visitors: like drain, but clients move to it without a gap. */
  leave(graceMs: number): Promise<void>;
  /** The elder has ended. */
  elderLeft(): void;
}

export async function createEdge(options: EdgeOptions): Promise<Edge> {
  const { home, log, metrics, workers = 1 } = options;
  const onError = (error: Error): void => log.error({ error: error.message }, 'the copy of the routes is not kept');
  const snapshot = home === undefined ? null : new SnapshotFile(join(home, 'edge', 'routes.json'), onError);
  const { legacy, ...rest } = options;
  const inherited = legacy?.sockets;
  const elderPaths = legacy?.siblingPaths ?? [];
  const parts = { ...rest, balancers: options.balancers ?? [], snapshot, elderPaths };
  countBuffersWithHeap();
  log.info({ congestion: offeredControls() ?? 'system' }, 'congestion control: what long and short paths get');
  const serving =
    workers > 1
      ? await WorkerPool.start({ ...parts, workers, inherited })
      : await startAlone({ ...parts, workers, ticketKeys: createTicketKeys() }, inherited);
  let draining = false;
  const metricsServer =
    metrics === undefined
      ? null
      : await openMetrics(serving, snapshot, {
          listen: inherited?.take('metrics', metrics) ?? metrics,
          draining: () => draining,
        });
  return {
    ports: { ...serving.ports, metrics: metricsServer === null ? null : portOf(metricsServer) },
    stats: () => serving.stats(),
    registry: createEdgeRegistry(figuresOf(serving, snapshot)),
    feed: () => serving.feed,
    copy: () => snapshot?.state ?? null,
    drain: (graceMs) => {
      draining = true;
      return serving.drain(graceMs);
    },
    async close() {
      metricsServer?.close();
      await serving.close();
    },
    bequeath: async () => {
      const handle = metricsServer === null ? null : handleOf(metricsServer);
      const own = handle === null ? [] : [{ name: 'metrics', handle }];
      const wheres: Partial<Record<string, Listen>> = {
        https: options.https,
        http: options.http,
        hop: options.hop?.listen,
        metrics,
      };
      const sockets = [...serving.sockets(), ...own].map(({ name, handle }) => ({
        name: wheres[name] === undefined ? name : socketKey(name, wheres[name]),
        handle,
      }));
      return { sockets, siblingPaths: await serving.siblingPaths() };
    },
    hold: async (held, isFeedShared) => {
      if (isFeedShared) serving.holdFeed(held);
      await snapshot?.hold(held);
    },
    leave: (graceMs) => {
      draining = true;
      metricsServer?.close();
      return serving.leave(graceMs);
    },
    elderLeft: () => serving.elderLeft(),
  };
}

/** An edge of one process opens a door for its successor only when there is one. */
async function startAlone(options: EdgeProcessOptions, inherited: InheritedSockets | undefined): Promise<ServingEdge> {
  const { https, http, hop } = options;
  const taken = (name: string, where: Listen): Listen => inherited?.take(name, where) ?? where;
  const edge = await EdgeProcess.start({
    ...options,
    https: taken('https', https),
    http: taken('http', http),
    hop: hop === undefined ? undefined : { ...hop, listen: taken('hop', hop.listen) },
    inheritedPorts: inherited?.takeEach('tcp'),
  });
  let folder: string | undefined;
  const siblingPaths = async (): Promise<readonly string[]> => {
    const isNew = folder === undefined;
    // Only the user of the edge may open it.
    folder ??= await mkdtemp(join(tmpdir(), 'underpass-edge-'));
    const path = join(folder, 'sibling');
    if (isNew) await edge.openSiblingDoor(path);
    return [path];
  };
  const close = async (): Promise<void> => {
    await edge.close();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  };
  return {
    get ports() {
      return edge.ports;
    },
    get ready() {
      return edge.ready;
    },
    get feed() {
      return edge.feed;
    },
    stats: () => edge.stats(),
    sockets: () => edge.sockets(),
    siblingPaths,
    holdFeed: (held) => edge.holdFeed(held),
    drain: (graceMs) => edge.drain(graceMs),
    leave: (graceMs) => edge.leave(graceMs),
    elderLeft: () => edge.elderLeft(),
    close,
  };
}

/** The part that serves: one process, or a pool of workers. */
type ServingEdge = Pick<
  WorkerPool,
  'ports' | 'ready' | 'feed' | 'stats' | 'drain' | 'close' | 'sockets' | 'siblingPaths' | 'holdFeed' | 'leave' | 'elderLeft'
>;

const figuresOf = (serving: ServingEdge, snapshot: SnapshotFile | null) => ({
  copy: snapshot === null ? undefined : () => snapshot.state,
  stats: () => serving.stats(),
  feed: () => serving.feed,
  ready: () => serving.ready,
});

async function openMetrics(
  serving: ServingEdge,
  snapshot: SnapshotFile | null,
  options: Pick<MetricsOptions, 'listen' | 'draining'>,
): Promise<Server> {
  try {
    return await createMetricsServer({ ...options, ...figuresOf(serving, snapshot) });
  } catch (error) {
    await serving.close();
    throw error;
  }
}
