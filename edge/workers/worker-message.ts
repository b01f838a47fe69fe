// The messages between a primary and its workers on the process channel. Routes and certificates go over the workers' feed.

import type { EdgeStats } from '../metrics/stats.ts';
import type { EdgePorts, EdgeProcessOptions } from '../process/edge-options.ts';

/** Options of the edge that each worker gets as they are. */
export const sharedOptions = [
  ...(['region', 'software', 'regionHosts', 'tcpPorts', 'publicHttpsPort', 'balancers', 'timeouts'] as const),
  ...(['connectionLimits', 'workers', 'dashboard', 'accessLog', 'otlp'] as const),
];
export type SharedOptions = Pick<EdgeProcessOptions, (typeof sharedOptions)[number]>;

export interface WorkerStart {
  readonly type: 'start';
  readonly edge: SharedOptions & Pick<EdgeProcessOptions, 'https' | 'http' | 'inheritedPorts' | 'hop'>;
  /** The worker's name on the feed: the edge's id, the worker's number and its process id. */
  readonly name: string;
  /** The worker's number among the workers. */
  readonly index: number;
  readonly edgeId: string;
  readonly feedPath: string;
  readonly socketPath: string;
  /** Paths of the workers that run already. */
  readonly siblingPaths: readonly string[];
  readonly isRestart: boolean;
  readonly ticketKeys: string;
  readonly logLevel: string;
}

export type ToWorker =
  | WorkerStart
  | { readonly type: 'siblings'; readonly paths: readonly string[] }
  | { readonly type: 'ticket-keys'; readonly keys: string }
  /** Whether control can be expected to answer visitors. */
  | { readonly type: 'control'; readonly present: boolean }
  | { readonly type: 'drain'; readonly graceMs: number }
  /** Drains, while a successor accepts on the same sockets (EdgeProcess.leave). */
  | { readonly type: 'leave'; readonly graceMs: number };

export type FromWorker =
  /** The worker's code is loaded; it starts next. */
  | { readonly type: 'loaded' }
  | ({ readonly type: 'listening'; readonly ready: boolean } & EdgePorts)
  /** Comes with the handle of the socket. */
  | { readonly type: 'socket'; readonly name: string }
  | { readonly type: 'socket-closed'; readonly name: string }
  | { readonly type: 'failed'; readonly code: string; readonly message: string }
  | { readonly type: 'stats'; readonly stats: EdgeStats; readonly ready: boolean }
  | { readonly type: 'drained' };
