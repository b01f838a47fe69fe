// What the API needs of the feed hub. hub.ts implements it; tests pass a fake.

import type { TunnelMetrics } from '@underpass/rules/entity/entity.ts';
import type { ConnectedClient, EdgeHealth, HistoryRange, LastClient, TunnelHistory } from '@underpass/rules/entity/resource.ts';
import type { PortProblem } from '@underpass/rules/tunnel/port-range.ts';

export interface FeedPort {
  /** Call after a commit: what the edges hold of these tunnels (made, changed, deleted, suspended) is out of date. */
  tunnelsChanged(tunnelIds: readonly string[]): void;
  /** Call after a commit: these addresses and networks are blocked now, or no longer. */
  blocksChanged(values: readonly string[]): void;
  /** Call after a commit: the region's keys or the region itself changed. Cuts edges whose key no longer opens it. */
  regionChanged(region: string): void;
  /**
   * True once the edges of the tunnel's region that are connected, to whichever process, have acknowledged its route as stored,
   * with a certificate for the host that clients dial and for every host of an http tunnel. Nothing waits for an edge that takes
   * more than 5 s. Decides Progressing or Created.
   */
  isServing(tunnelId: string): boolean;
  /** Resolves once the region's edges that are connected to this process hold every change so far, or after some seconds. */
  delivered(region: string): Promise<void>;
  /** Clients whose data path worked within 15 s. */
  clients(tunnelId: string): readonly ConnectedClient[];
  /** How many they are. Costs less. */
  clientCount(tunnelId: string): number;
  /** The last client since this process started. */
  lastClient(tunnelId: string): LastClient;
  /** Undefined until an edge has reported for the tunnel. */
  metrics(tunnelId: string): TunnelMetrics | undefined;
  /** Why edges of the region do not listen on the tunnel's public port; undefined while none says so. */
  portProblem(tunnelId: string): PortProblem | undefined;
  history(tunnelId: string, range: HistoryRange): Promise<TunnelHistory>;
  /** Bytes per second of the last hour, both ways, oldest first, of some tunnels. One query. */
  traces(tunnelIds: readonly string[]): Promise<ReadonlyMap<string, readonly number[]>>;
  edges(): readonly EdgeHealth[];
  /** Calls back when acknowledgements, clients or metrics of tunnels change. Returns the function that stops it. */
  onMoved(listener: (tunnelIds: readonly string[]) => void): () => void;
}
