// What one edge last said: its clients, and the traffic of its tunnels over the metrics window. Kept by every
// control replica alike, from the reports that travel over the bus. Memory: one entry for each tunnel that there
// is and that the edge has counted anything for.

import type { FeedClient, FeedTunnelReport } from '@underpass/wire/feed.ts';
import { type Baseline, isTraffic, trafficSince } from './core/counter.ts';
import type { ReportedClients } from './core/presence.ts';
import { addTraffic, createRateWindow, isQuiet, type Rates, type RateWindow, ratesOf, type Traffic } from './core/rate-window.ts';

/** An edge about itself. */
export interface EdgeAbout {
  readonly edgeId: string;
  readonly region: string;
  readonly software: string;
  readonly connectedAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly hopAddress: string | undefined;
  /** It holds everything that it was sent. */
  readonly acknowledged: boolean;
}

/** One report on its way from the process that holds the edge's connection to all of them. */
export interface EdgeReport {
  readonly about: EdgeAbout;
  /** The first of its connection: it holds every counter above zero. */
  readonly first: boolean;
  readonly atMs: number;
  readonly tunnels: readonly FeedTunnelReport[];
}

interface TunnelCount {
  baseline: Baseline;
  /** Undefined while nothing has passed within the window. */
  window: RateWindow | undefined;
  clients: readonly FeedClient[];
}

export interface EdgeTunnel {
  readonly rates: Rates;
  readonly reported: ReportedClients;
}

export interface EdgeView {
  readonly edgeId: string;
  readonly region: string;
  readonly about: () => EdgeAbout;
  readonly heardAtMs: () => number;
  /** It said something, if only that it lives. */
  readonly hear: (about: EdgeAbout, nowMs: number) => void;
  /** Takes a report; answers with what passed since the last one, for every tunnel whose view changed. */
  readonly apply: (report: EdgeReport, nowMs: number) => ReadonlyMap<string, Traffic>;
  readonly tunnel: (tunnelId: string, nowMs: number) => EdgeTunnel | undefined;
  readonly tunnelIds: () => Iterable<string>;
  readonly clientCount: () => number;
  readonly forget: (tunnelId: string) => void;
}

const noTraffic: Traffic = { rxBytes: 0, txBytes: 0, connections: 0 };

export function createEdgeView(first: EdgeAbout, ourStartMs: number): EdgeView {
  const counts = new Map<string, TunnelCount>();
  let about = first;
  let heardAtMs = 0;
  let lastReport = { atMs: 0, receivedAtMs: 0 };

  const hear = (latest: EdgeAbout, nowMs: number): void => {
    about = latest;
    heardAtMs = nowMs;
  };

  /** A first report may count what passed before we lived: only an edge younger than us is counted from zero. */
  const startsFromZero = (report: EdgeReport): boolean => !report.first || (report.about.startedAtMs ?? 0) >= ourStartMs;

  const countOne = (report: EdgeReport, tunnel: FeedTunnelReport, nowMs: number): Traffic => {
    const { rxBytes, txBytes, connections } = tunnel;
    const baseline = { rxBytes, txBytes, connections, startedAtMs: report.about.startedAtMs };
    const known = counts.get(tunnel.tunnelId);
    const passed = known !== undefined || startsFromZero(report) ? trafficSince(known?.baseline, baseline) : noTraffic;
    const entry = known ?? { baseline, window: undefined, clients: [] };
    counts.set(tunnel.tunnelId, entry);
    entry.baseline = baseline;
    entry.clients = tunnel.clients;
    if (passed.rxBytes + passed.txBytes + passed.connections > 0) {
      entry.window ??= createRateWindow();
      addTraffic(entry.window, nowMs, passed);
    }
    return passed;
  };

  const apply = (report: EdgeReport, nowMs: number): ReadonlyMap<string, Traffic> => {
    hear(report.about, nowMs);
    lastReport = { atMs: report.atMs, receivedAtMs: nowMs };
    const touched = new Map<string, Traffic>();
    const named = new Set<string>();
    for (const tunnel of report.tunnels) {
      if (!isTraffic(tunnel)) continue;
      named.add(tunnel.tunnelId);
      touched.set(tunnel.tunnelId, countOne(report, tunnel, nowMs));
    }
    for (const [tunnelId, entry] of counts) {
      if (named.has(tunnelId)) continue;
      if (entry.clients.length > 0) touched.set(tunnelId, noTraffic);
      entry.clients = [];
      if (entry.window !== undefined && isQuiet(ratesOf(entry.window, nowMs))) entry.window = undefined;
    }
    return touched;
  };

  const tunnel = (tunnelId: string, nowMs: number): EdgeTunnel | undefined => {
    const entry = counts.get(tunnelId);
    if (entry === undefined) return undefined;
    const rates = entry.window === undefined ? { rx: 0, tx: 0, tcpConnectionRate: 0 } : ratesOf(entry.window, nowMs);
    return { rates, reported: { edgeId: first.edgeId, ...lastReport, clients: entry.clients } };
  };

  return {
    edgeId: first.edgeId,
    region: first.region,
    about: () => about,
    heardAtMs: () => heardAtMs,
    hear,
    apply,
    tunnel,
    tunnelIds: () => counts.keys(),
    clientCount: () => new Set([...counts.values()].flatMap((entry) => entry.clients.map((client) => client.id))).size,
    forget: (tunnelId) => counts.delete(tunnelId),
  };
}
