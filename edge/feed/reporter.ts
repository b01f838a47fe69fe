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

export class Reporter {
  readonly #current: () => Iterable<FeedTunnelReport>;
  #last = new Map<string, LastReport>();

  constructor(current: () => Iterable<FeedTunnelReport>) {
    this.#current = current;
  }

  /** With `all`, every tunnel that has counts or clients; else those with clients, or whose counters or clients changed. */
  report(all: boolean): FeedTunnelReport[] {
    const last = all ? new Map<string, LastReport>() : this.#last;
    const next = new Map<string, LastReport>();
    const news: FeedTunnelReport[] = [];
    for (const report of this.#current()) {
      const moved = report.rxBytes + report.txBytes + report.connections + report.requests;
      const hadClients = report.clients.length > 0;
      const refusedAtMs = report.refused?.atMs;
      const before = last.get(report.tunnelId);
      next.set(report.tunnelId, { moved, hadClients, refusedAtMs });
      const isNews = moved !== (before?.moved ?? 0) || refusedAtMs !== before?.refusedAtMs;
      if (hadClients || before?.hadClients === true || isNews) news.push(report);
    }
    this.#last = next;
    return news;
  }
}

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
