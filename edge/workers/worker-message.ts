// What a primary and its workers say to each other over the process channel. Routes and keys of tunnels go by the crew's feed.

import type { EdgeStats } from '../metrics/stats.ts';
import type { EdgePorts, EdgeProcessOptions } from '../process/edge-options.ts';

export interface WorkerStart {
  readonly type: 'start';
  readonly edge: Pick<
    EdgeProcessOptions,
    | 'region'
    | 'software'
    | 'regionHosts'
    | 'https'
    | 'http'
    | 'publicHttpsPort'
    | 'balancers'
    | 'timeouts'
    | 'connectionLimits'
    | 'workers'
    | 'hop'
    | 'dashboard'
  >;
  /** Of the worker: the edge's id and the worker's number and start. */
  readonly name: string;
  readonly edgeId: string;
  readonly feedPath: string;
  readonly socketPath: string;
  readonly ticketKeys: string;
  readonly logLevel: string;
}

export type ToWorker =
  | WorkerStart
  | { readonly type: 'siblings'; readonly paths: readonly string[] }
  | { readonly type: 'ticket-keys'; readonly keys: string }
  | { readonly type: 'drain'; readonly graceMs: number };

export type FromWorker =
  | ({ readonly type: 'listening' } & EdgePorts)
  | { readonly type: 'failed'; readonly code: string; readonly message: string }
  | { readonly type: 'stats'; readonly stats: EdgeStats }
  | { readonly type: 'drained' };
