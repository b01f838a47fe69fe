// Which clients of a tunnel count as connected. Pure. Connected means that a round trip over the data
// path worked within the last 15 s, not that a socket is open.

import { durations } from '@underpass/rules/limits.ts';
import type { FeedClient } from '@underpass/wire/feed/feed.ts';

export interface ReportedClients {
  readonly edgeId: string;
  /** The edge's clock at the report. Only differences to it are used, so the clocks may differ. */
  readonly atMs: number;
  /** Our clock when the report arrived. */
  readonly receivedAtMs: number;
  readonly clients: readonly FeedClient[];
}

export interface LiveClient {
  readonly client: FeedClient;
  readonly edgeId: string;
  /** Time since the proof, by our clock. */
  readonly ageMs: number;
}

function ageOf(client: FeedClient, report: ReportedClients, nowMs: number): number {
  if (client.provenAtMs === null) return Number.POSITIVE_INFINITY;
  return Math.max(0, report.atMs - client.provenAtMs) + (nowMs - report.receivedAtMs);
}

/** A client that holds carriers to two edges is one client: the fresher proof counts. */
export function connectedClients(reports: readonly ReportedClients[], nowMs: number): readonly LiveClient[] {
  const byId = new Map<string, LiveClient>();
  for (const report of reports) {
    for (const client of report.clients) {
      const ageMs = ageOf(client, report, nowMs);
      const fresher = ageMs < (byId.get(client.id)?.ageMs ?? Number.POSITIVE_INFINITY);
      if (ageMs <= durations.provenWithinMs && fresher) byId.set(client.id, { client, edgeId: report.edgeId, ageMs });
    }
  }
  return [...byId.values()];
}
