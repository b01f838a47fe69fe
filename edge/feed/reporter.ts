// Reports on tunnels for control: counters since the start, and connected clients. Leaves out what did not change.

import { countOfAnswers } from '@underpass/rules/tunnel/figures.ts';
import type { FeedClient, FeedTunnelReport } from '@underpass/wire/feed/feed.ts';
import type { OtlpTunnelFigures } from '../core/otlp.ts';
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
 * ids: these tunnels, whatever they have. The report deletes from the set the tunnels that it covers, and leaves the rest.
 */
export type ReportScope = 'all' | 'changed' | Set<string>;

/** A report of some tunnels ends with the tunnel that reaches this many tunnels and clients: visitors wait for each report. */
const mostInPart = 500;

/** Tunnels whose figures one report says, some 500 bytes each: it must fit a message. Control counts the rest from their next news. */
const mostWithFigures = 30_000;

export class Reporter {
  /** The report of this tunnel, if there is one; without an id, those of all that may have something to report. */
  readonly #current: (tunnelId?: string) => Iterable<FeedTunnelReport>;
  #last = new Map<string, LastReport>();

  constructor(current: (tunnelId?: string) => Iterable<FeedTunnelReport>) {
    this.#current = current;
  }

  report(which: ReportScope): FeedTunnelReport[] {
    return typeof which === 'string' ? this.#whole(which === 'all') : this.#some(which);
  }

  #whole(all: boolean): FeedTunnelReport[] {
    const last = all ? new Map<string, LastReport>() : this.#last;
    const next = new Map<string, LastReport>();
    const news: FeedTunnelReport[] = [];
    let figured = 0;
    for (const report of this.#current()) {
      const now = lastReportOf(report);
      const before = last.get(report.tunnelId);
      next.set(report.tunnelId, now);
      const isNews = now.moved !== (before?.moved ?? 0) || now.refusedAtMs !== before?.refusedAtMs;
      if (isNews) news.push(report.figures === undefined || ++figured <= mostWithFigures ? report : withoutFigures(report));
      else if (now.hadClients || before?.hadClients === true) news.push(withoutFigures(report));
    }
    this.#last = next;
    return news;
  }

  #some(tunnelIds: Set<string>): FeedTunnelReport[] {
    const news: FeedTunnelReport[] = [];
    let size = 0;
    for (const id of tunnelIds) {
      if (size >= mostInPart) break;
      tunnelIds.delete(id);
      for (const report of this.#current(id)) {
        news.push(report);
        size += 1 + report.clients.length;
        this.#last.set(id, lastReportOf(report));
      }
    }
    return news;
  }
}

const withoutFigures = ({ figures: _, ...report }: FeedTunnelReport): FeedTunnelReport => report;

const lastReportOf = (report: FeedTunnelReport): LastReport => ({
  moved: report.rxBytes + report.txBytes + report.connections + report.requests + countOfAnswers(report.figures ?? []),
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
    ...(tunnel.figures === null ? {} : { figures: tunnel.figures }),
    clients: bestOfEach(tunnel.clients.map(renderClient)),
    ...(tunnel.refused === undefined ? {} : { refused: tunnel.refused }),
    ...(tunnel.left === undefined ? {} : { left: tunnel.left }),
    ...(tunnel.ticketsUsed.size === 0 ? {} : { ticketsUsed: [...tunnel.ticketsUsed].map(([id, atMs]) => ({ id, atMs })) }),
  };
}

export const renderFigures = ({ feed, rxBytes, txBytes, connections, clients, figures }: TunnelState): OtlpTunnelFigures => ({
  ...{ name: feed.name, projectId: feed.projectId, rxBytes, txBytes, connections, figures: figures ?? [] },
  clients: new Set(clients.map(({ clientId }) => clientId)).size,
});

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
