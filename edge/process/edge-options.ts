// The options of one edge process, and the ports on which it then listens.

import type { Duplex } from 'node:stream';
import type { PortRange } from '@underpass/rules/tunnel/port-range.ts';
import type { Logger } from 'pino';
import type { AccessFormat } from '../core/access-line.ts';
import type { ConnectionLimits } from '../core/connection-limits.ts';
import type { Listen, SocketHandle } from '../door/listen.ts';
import type { SnapshotFile } from '../feed/snapshot-file.ts';
import type { Timeouts } from '../limits/timeouts.ts';
import type { OtlpOptions } from '../metrics/otlp-export.ts';
import type { DashboardHostOptions } from '../visitor/dashboard-host.ts';

export interface EdgePorts {
  readonly https: number;
  readonly http: number;
  /** Null if other edges cannot dial in. */
  readonly hop: number | null;
}

/** How edges of one region reach each other. */
interface HopOptions {
  readonly listen: Listen;
  /** host:port that the other edges dial. */
  readonly address: string;
  /** Shared by the edges of the region, and by nothing else. */
  readonly secret: string;
}

/** How workers of one edge reach each other: unix sockets in a folder that belongs to the edge's user. */
interface SiblingOptions {
  readonly socketPath: string;
  readonly siblingPaths: () => readonly string[];
  /** The edge, or this worker of it, served before: clients may be on their way back. */
  readonly isRestart: boolean;
}

/** Where the edge writes a line for each request. */
interface AccessLogOptions {
  /** An absolute path, or `stdout`. */
  readonly path: string;
  readonly format: AccessFormat;
}

export interface EdgeProcessOptions {
  readonly region: string;
  /** Unique in the region and stable over restarts. */
  readonly edgeId: string;
  /** The name on the feed; the edge's id if missing. */
  readonly reportAs?: string;
  /** Name and version, `underpass/0.1.0`. */
  readonly software: string;
  /** Hosts on which clients dial in. */
  readonly regionHosts: readonly string[];
  readonly https: Listen;
  readonly http: Listen;
  /** The public ports that tcp tunnels may have here; none if missing. */
  readonly tcpPorts?: PortRange | undefined;
  /** Descriptors of such ports from the process before this one, by socketKey. */
  readonly inheritedPorts?: Readonly<Record<string, number>> | undefined;
  /** A public port of a tcp tunnel was opened, or closed if there is no handle. */
  readonly onSocket?: (name: string, handle: SocketHandle | null) => void;
  /** The port of https as visitors see it. */
  readonly publicHttpsPort: number;
  /** Addresses and ranges of load balancers that put a PROXY header in front. */
  readonly balancers: readonly string[];
  readonly timeouts?: Partial<Timeouts> | undefined;
  /** Connections that each process takes on its public ports; derived from the limits of the process if missing. */
  readonly connectionLimits?: Partial<ConnectionLimits> | undefined;
  /** Processes that share the machine's memory with this one, itself included. */
  readonly workers: number;
  /** Missing: no access log. */
  readonly accessLog?: AccessLogOptions | undefined;
  /** Missing: nothing is exported. */
  readonly otlp?: OtlpOptions | undefined;
  /** How the edges of the region reach each other; not at all if missing. */
  readonly hop?: HopOptions | undefined;
  /** The dashboard on this machine, served under its own host; not served if missing. */
  readonly dashboard?: DashboardHostOptions | undefined;
  /** Missing if this is the only process of its edge. */
  readonly siblings?: SiblingOptions | undefined;
  /** Unix sockets of the process that this one succeeds. It has the clients until they move here. */
  readonly elderPaths?: readonly string[];
  readonly ticketKeys: Buffer;
  /** Dials control; called again, with back-off, whenever the feed is lost. */
  readonly feed: () => Promise<Duplex>;
  readonly snapshot: SnapshotFile | null;
  readonly log: Logger;
}
