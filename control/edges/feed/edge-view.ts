// What one edge last reported: its clients, and the traffic of its tunnels over the metrics window. Every control replica keeps
// the same, from the reports that travel over the bus. Memory: one entry per existing tunnel that the edge has counted.

import type { TunnelMetrics } from '@underpass/rules/entity/entity.ts';
import { knownFigures } from '@underpass/rules/tunnel/figures.ts';
import type { FeedClient, FeedCopy, FeedPortProblems, FeedTunnelReport } from '@underpass/wire/feed/feed.ts';
import { type Baseline, baselineOf, isTraffic, nothing, type Passed, trafficSince } from './core/counter.ts';
import { type LastSeen, nextLastSeen } from './core/last-client.ts';
import type { ReportedClients } from './core/presence.ts';
import { addTraffic, createRateWindow, isQuiet, type RateWindow, ratesOf } from './core/rate-window.ts';

/** What an edge says about itself. */
export interface EdgeAbout {
  readonly edgeId: string;
  readonly region: string;
  readonly software: string;
  readonly connectedAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly hopAddress: string | undefined;
  /** The edge holds everything that control has sent it. */
  readonly acknowledged: boolean;
  /** The copy of the routes on the edge's disk. Undefined until the edge has answered a ping, and from an earlier version. */
  readonly copy?: FeedCopy | undefined;
  /** The public ports on which it does not listen, by tunnel. */
  readonly portProblems?: FeedPortProblems | undefined;
}

/** One report on its way from the process that holds the edge's connection to all of them. */
export interface EdgeReport {
  readonly about: EdgeAbout;
  /** The first report of a connection holds every counter above zero. */
  readonly first: boolean;
  readonly atMs: number;
  /** Nothing is new about the tunnels that it leaves out. Otherwise, and in reports of an older process, these have no clients. */
  readonly partial?: boolean;
  readonly tunnels: readonly FeedTunnelReport[];
}

interface TunnelCount {
  baseline: Baseline;
  /** Undefined while nothing has passed within the window. */
  window: RateWindow | undefined;
  clients: readonly FeedClient[];
  readonly last: LastSeen;
}

interface EdgeTunnel {
  readonly last: LastSeen;
  readonly rates: TunnelMetrics;
}

const noRates: TunnelMetrics = { rx: 0, tx: 0, tcpConnectionRate: 0 };

export class EdgeView {
  readonly edgeId: string;
  readonly region: string;
  /** What the edge's last message said about it. */
  about: EdgeAbout;
  heardAtMs = 0;
  readonly #ourStartMs: number;
  /** The run of this edge that was counted before its view was dropped. */
  readonly #countedRun: EdgeAbout['startedAtMs'];
  /** The run whose first report was heard: a tunnel that it did not name had counted nothing. */
  #wholeRun: Pick<EdgeAbout, 'startedAtMs'> | undefined;
  readonly #counts = new Map<string, TunnelCount>();
  #lastReport = { atMs: 0, receivedAtMs: 0 };

  constructor(about: EdgeAbout, ourStartMs: number, countedRun?: EdgeAbout['startedAtMs']) {
    this.edgeId = about.edgeId;
    this.region = about.region;
    this.about = about;
    this.#ourStartMs = ourStartMs;
    this.#countedRun = countedRun;
  }

  /** The edge sent something, at least the answer to a ping. */
  hear(about: EdgeAbout, nowMs: number): void {
    this.about = about;
    this.heardAtMs = nowMs;
  }

  /** Takes a report; returns what passed since the last one, for every tunnel whose view changed. */
  apply(report: EdgeReport, nowMs: number): ReadonlyMap<string, Passed> {
    this.hear(report.about, nowMs);
    this.#lastReport = { atMs: report.atMs, receivedAtMs: nowMs };
    const counted = report.tunnels.filter(isTraffic);
    const changed = new Map(counted.map((tunnel) => [tunnel.tunnelId, this.#count(report, tunnel, nowMs)]));
    if (report.first) this.#wholeRun = report.about;
    if (report.partial) return changed;
    const named = new Set(counted.map((tunnel) => tunnel.tunnelId));
    for (const [tunnelId, entry] of this.#counts) {
      if (named.has(tunnelId)) continue;
      if (entry.clients.length > 0) changed.set(tunnelId, nothing);
      entry.clients = [];
      if (entry.window !== undefined && isQuiet(ratesOf(entry.window, nowMs))) entry.window = undefined;
    }
    return changed;
  }

  /** Undefined without clients. */
  reported(tunnelId: string): ReportedClients | undefined {
    const clients = this.#counts.get(tunnelId)?.clients ?? [];
    return clients.length === 0 ? undefined : { edgeId: this.edgeId, ...this.#lastReport, clients };
  }

  tunnel(tunnelId: string, nowMs: number): EdgeTunnel | undefined {
    const entry = this.#counts.get(tunnelId);
    if (entry === undefined) return undefined;
    const rates = entry.window === undefined ? noRates : ratesOf(entry.window, nowMs);
    return { last: entry.last, rates };
  }

  tunnelIds(): Iterable<string> {
    return this.#counts.keys();
  }

  clientCount(): number {
    return new Set([...this.#counts.values()].flatMap((entry) => entry.clients.map((client) => client.id))).size;
  }

  forget(tunnelId: string): void {
    this.#counts.delete(tunnelId);
  }

  #count(
    report: EdgeReport,
    { tunnelId, clients, refused, left, figures, ...counters }: FeedTunnelReport,
    nowMs: number,
  ): Passed {
    const known = this.#counts.get(tunnelId);
    const isFromZero = this.#startsFromZero(report);
    const hadNone = report.first && counters.requests === 0;
    const unsaid = isFromZero || hadNone ? [] : undefined;
    const baseline = baselineOf(known?.baseline, counters, report.about.startedAtMs, knownFigures(figures), unsaid);
    const passed = known !== undefined || isFromZero ? trafficSince(known?.baseline, baseline) : nothing;
    const window =
      passed.rxBytes + passed.txBytes + passed.connections > 0 ? (known?.window ?? createRateWindow()) : known?.window;
    if (window !== undefined) addTraffic(window, nowMs, passed);
    const seen = { clients, ...(refused === undefined ? {} : { refused }), ...(left === undefined ? {} : { left }) };
    const last = nextLastSeen(known?.last ?? {}, seen, report.atMs, nowMs);
    this.#counts.set(tunnelId, { baseline, window, clients, last });
    return passed;
  }

  /**
   * A tunnel that was not known has counted from zero since this process listens: its edge started later, or named all others
   * before. Else the report may count what passed earlier.
   */
  #startsFromZero({ first, about: { startedAtMs } }: EdgeReport): boolean {
    if (!first && this.#wholeRun !== undefined && this.#wholeRun.startedAtMs === startedAtMs) return true;
    return startedAtMs !== this.#countedRun && (startedAtMs ?? 0) >= this.#ourStartMs;
  }
}
