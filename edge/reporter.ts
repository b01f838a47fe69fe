// What this process tells control about its tunnels: counters since it started, and the clients that are connected.

import type { FeedClient, FeedTunnelReport } from '@underpass/wire/feed.ts';
import type { RouteTable } from './route-table.ts';
import type { TunnelClient } from './tunnel-client.ts';
import type { TunnelState } from './tunnel-state.ts';

/** Reports are compared by what moved; the sum of the counters moves with any of them. */
interface LastReport {
  readonly moved: number;
  readonly hadClients: boolean;
}

export class Reporter {
  readonly #table: RouteTable;
  readonly #last = new Map<string, LastReport>();

  constructor(table: RouteTable) {
    this.#table = table;
  }

  /** `all` gives every tunnel with anything to say; else those with clients, or whose counters or clients changed. */
  report(all: boolean): FeedTunnelReport[] {
    if (all) this.#last.clear();
    const reports: FeedTunnelReport[] = [];
    for (const tunnel of this.#table.tunnels.values()) {
      if (this.#hasNews(tunnel)) reports.push(renderReport(tunnel));
    }
    this.#forgetGone();
    return reports;
  }

  #hasNews(tunnel: TunnelState): boolean {
    const { id } = tunnel.feed;
    const last = this.#last.get(id);
    const moved = tunnel.rxBytes + tunnel.txBytes + tunnel.connections + tunnel.requests;
    const hadClients = tunnel.clients.length > 0;
    this.#last.set(id, { moved, hadClients });
    return hadClients || last?.hadClients === true || moved !== (last?.moved ?? 0);
  }

  #forgetGone(): void {
    for (const id of this.#last.keys()) {
      if (!this.#table.tunnels.has(id)) this.#last.delete(id);
    }
  }
}

function renderReport(tunnel: TunnelState): FeedTunnelReport {
  return {
    tunnelId: tunnel.feed.id,
    rxBytes: tunnel.rxBytes,
    txBytes: tunnel.txBytes,
    connections: tunnel.connections,
    requests: tunnel.requests,
    clients: renderClients(tunnel.clients),
  };
}

/** Carriers of one client are one client: the best proven one speaks for it. */
function renderClients(carriers: readonly TunnelClient[]): FeedClient[] {
  const best = new Map<string, TunnelClient>();
  for (const carrier of carriers) {
    const other = best.get(carrier.clientId);
    if (other === undefined || (carrier.session.provenAtMs ?? 0) >= (other.session.provenAtMs ?? 0))
      best.set(carrier.clientId, carrier);
  }
  return [...best.values()].map(renderClient);
}

function renderClient(carrier: TunnelClient): FeedClient {
  const { rttMs, provenAtMs } = carrier.session;
  return {
    id: carrier.clientId,
    address: carrier.address,
    version: carrier.software,
    sinceMs: carrier.sinceMs,
    rttMs,
    provenAtMs: provenAtMs === null ? null : Math.round(performance.timeOrigin + provenAtMs),
    healthy: carrier.healthy,
  };
}
