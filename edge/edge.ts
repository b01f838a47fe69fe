// An edge of one region: what the server starts. One process, or several on one machine.

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { EdgeProcess, type Listen } from './edge-process.ts';
import type { Timeouts } from './house.ts';
import { SnapshotFile } from './snapshot-file.ts';

export interface EdgeOptions {
  readonly region: string;
  /** Unique in the region and stable over restarts. */
  readonly edgeId: string;
  readonly software: string;
  readonly regionHosts: readonly string[];
  readonly https: Listen;
  readonly http: Listen;
  readonly publicHttpsPort: number;
  readonly balancers?: readonly string[];
  /** Where the last copy of the routes is kept; nowhere if missing. */
  readonly home?: string;
  readonly feed: () => Promise<Duplex>;
  readonly timeouts?: Partial<Timeouts>;
  readonly log: Logger;
}

export interface Edge {
  readonly ports: { readonly https: number; readonly http: number };
  /** What is held at the moment; comes back to where it was when visitors have gone. */
  gauges(): { readonly sockets: number; readonly deadlines: number };
  /** Takes nothing new, lets what is open finish, gives up after graceMs. */
  drain(graceMs: number): Promise<void>;
  close(): Promise<void>;
}

export async function createEdge(options: EdgeOptions): Promise<Edge> {
  const { home, log } = options;
  const snapshot =
    home === undefined
      ? null
      : new SnapshotFile(join(home, 'edge', 'routes.json'), (error) => log.error({ error: error.message }, 'copy of the routes'));
  const edge = await EdgeProcess.start({
    ...options,
    balancers: options.balancers ?? [],
    ticketKeys: randomBytes(48),
    reusePort: false,
    snapshot,
    hopAddress: () => undefined,
    hops: null,
  });
  return {
    ports: { https: edge.httpsPort, http: edge.httpPort },
    gauges: () => edge.gauges(),
    drain: (graceMs) => edge.drain(graceMs),
    close: () => edge.close(),
  };
}
