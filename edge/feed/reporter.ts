// Reports on tunnels for control: counters since the start, and connected clients. Leaves out what did not change.

import type { FeedClient, FeedTunnelReport } from '@underpass/wire/feed.ts';
import type { TunnelClient } from '../routes/tunnel-client.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';

/** `moved` is the sum of the counters. No counter falls, so the sum changes with each of them. */
interface LastReport {
  readonly moved: number;
  readonly hadClients: boolean;
  readonly refusedAtMs: number | undefined;
}

/**
 * `all`: every tunnel that has counts or clients. `changed`: those with clients, or whose counters or clients changed. A set of
 * ids: these tunnels, whatever they have; while thousands of clients return, this is all that a report each moment may cost.
 */
export type ReportScope = 'all' | 'changed' | ReadonlySet<string>;

export class Reporter {
  /** The reports of these tunnels; without ids, of all that may have something to report. */
  readonly #current: (tunnelIds?: ReadonlySet<string>) => Iterable<FeedTunnelReport>;
  #last = new Map<string, LastReport>();

  constructor(current: (tunnelIds?: ReadonlySet<string>) => Iterable<FeedTunnelReport>) {
    this.#current = current;
  }

  report(which: ReportScope): FeedTunnelReport[] {
    return typeof which === 'string' ? this.#whole(which === 'all') : this.#some(which);
  }

  #whole(all: boolean): FeedTunnelReport[] {
    const last = all ? new Map<string, LastReport>() : this.#last;
    const next = new Map<string, LastReport>();
    const news: FeedTunnelReport[] = [];
    for (const report of this.#current()) {
      const now = lastReportOf(report);
      const before = last.get(report.tunnelId);
      next.set(report.tunnelId, now);
      const isNews = now.moved !== (before?.moved ?? 0) || now.refusedAtMs !== before?.refusedAtMs;
      if (now.hadClients || before?.hadClients === true || isNews) news.push(report);
    }
    this.#last = next;
    return news;
  }

  #some(tunnelIds: ReadonlySet<string>): FeedTunnelReport[] {
    const news = [...this.#current(tunnelIds)];
    for (const report of news) this.#last.set(report.tunnelId, lastReportOf(report));
    return news;
  }
}

const lastReportOf = (report: FeedTunnelReport): LastReport => ({
  moved: report.rxBytes + report.txBytes + report.connections + report.requests,
  hadClients: report.clients.length > 0,
  refusedAtMs: report.refused?.atMs,
});

export function renderReport(tunnel: TunnelState): FeedTunnelReport {
  return {
    tunnelId: tunnel.feed.id,
    rxBytes: tunnel.rxBytes,
    txBytes: tunnel.txBytes,
    connections: tunnel.connections,
    requests: tunnel.requests,
    clients: bestOfEach(tunnel.clients.map(renderClient)),
    ...(tunnel.refused === undefined ? {} : { refused: tunnel.refused }),
  };
}

/** One entry for each client: that of the carrier which was proven last. */
export function bestOfEach(carriers: readonly FeedClient[]): FeedClient[] {
  const best = new Map<string, FeedClient>();
  for (const carrier of carriers) {
    const other = best.get(carrier.id);
    if (other === undefined || (carrier.provenAtMs ?? 0) >= (other.provenAtMs ?? 0)) best.set(carrier.id, carrier);
  }
  return [...best.values()];
}

/** Dates the proof by its age and the current clock: performance.timeOrigin does not follow when the clock is set. */
function renderClient(carrier: TunnelClient): FeedClient {
  const { rttMs, provenAtMs } = carrier.session;
  return {
    id: carrier.clientId,
    address: carrier.address,
    version: carrier.software,
    sinceMs: carrier.sinceMs,
    rttMs,
    provenAtMs: provenAtMs === null ? null : Math.round(Date.now() - (performance.now() - provenAtMs)),
    healthy: carrier.healthy,
  };
}
