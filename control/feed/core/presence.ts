// Which clients of a tunnel count as connected. Pure. design 4: connected means that a round trip over the data
// path worked within the last 15 s, not that a socket is open.

import type { FeedClient } from '@underpass/wire/feed.ts';

export const provenWithinMs = 15_000;

export interface ReportedClients {
  /** The edge's own clock at the report: only differences to it are used, so clocks may differ. */
  readonly atMs: number;
  /** Our clock when the report came. */
  readonly receivedAtMs: number;
  readonly clients: readonly FeedClient[];
}

function isConnected(client: FeedClient, report: ReportedClients, nowMs: number): boolean {
  if (client.provenAtMs === null) return false;
  const ageMs = report.atMs - client.provenAtMs + (nowMs - report.receivedAtMs);
  return ageMs <= provenWithinMs;
}

/** A client that holds carriers to two edges is one client. The fresher proof wins. */
export function connectedClients(reports: readonly ReportedClients[], nowMs: number): readonly FeedClient[] {
  const byId = new Map<string, FeedClient>();
  for (const report of reports) {
    for (const client of report.clients) {
      if (!isConnected(client, report, nowMs)) continue;
      const known = byId.get(client.id);
      if (known === undefined || (client.provenAtMs ?? 0) > (known.provenAtMs ?? 0)) byId.set(client.id, client);
    }
  }
  return [...byId.values()];
}
