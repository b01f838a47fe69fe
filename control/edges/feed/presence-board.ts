// What all edges report about the tunnels now: clients and rates, and the listeners for their changes.
// Every control replica keeps one; none of it is in the database.

import type { TunnelMetrics } from '@underpass/rules/entity/entity.ts';
import type { ConnectedClient, EdgeHealth, LastClient } from '@underpass/rules/entity/resource.ts';
import { durations } from '@underpass/rules/limits.ts';
import type { PortProblem } from '@underpass/rules/tunnel/port-range.ts';
import type { FeedPeer } from '@underpass/wire/feed/feed.ts';
import { isoTime } from '../../platform/store/iso-time.ts';
import type { Passed } from './core/counter.ts';
import { latest } from './core/last-client.ts';
import { connectedClients, type LiveClient, type ReportedClients } from './core/presence.ts';
import { addRates } from './core/rate-window.ts';
import type { KnownEdge } from './edge-notes.ts';
import { type EdgeAbout, type EdgeReport, EdgeView } from './edge-view.ts';

/** An edge that is silent for longer is forgotten, with its part of the rates. */
const edgeKeptMs = 600_000;
/** Shown as down after this; a working edge sends something every few seconds. */
const edgeHeardWithinMs = 30_000;
/** Forgotten edges whose run is still known, so that one that returns is not counted from its start again. */
const mostForgotten = 1_000;

const keyOf = (region: string, edgeId: string): string => `${region}/${edgeId}`;

type Listener = (tunnelIds: readonly string[]) => void;

export class PresenceBoard {
  /** Never jumps. */
  readonly #steady: () => number;
  readonly #startMs: number;
  readonly #edges = new Map<string, EdgeView>();
  /** Keys of edges whose clients count as gone. */
  readonly #silent = new Set<string>();
  /** The runs of forgotten edges, the longest forgotten first. */
  readonly #forgotten = new Map<string, EdgeAbout['startedAtMs']>();
  readonly #listeners = new Set<Listener>();
  /** Edges that were up before this process started. */
  #earlier: readonly KnownEdge[] = [];

  constructor(steady: () => number) {
    this.#steady = steady;
    this.#startMs = steady();
  }

  /**
   * Takes the edges that an earlier process noted, at the start. Each counts as up until it is heard, or until it would be silent
   * for too long. Otherwise the first edge to dial a new process would take itself for the only one of its region, and its
   * visitors could not reach clients at the others.
   */
  expect(noted: readonly KnownEdge[]): void {
    this.#earlier = noted.filter(({ connected }) => connected);
  }

  /** The edge works, and this is what it says about itself. True if it was not up before. */
  hear(about: EdgeAbout): boolean {
    const before = this.#edges.get(keyOf(about.region, about.edgeId));
    const isNew = before === undefined || !this.#isUp(before);
    this.#viewOf(about).hear(about, this.#steady());
    return isNew;
  }

  /** Returns what passed since the edge's last report. */
  apply(report: EdgeReport): ReadonlyMap<string, Passed> {
    const passed = this.#viewOf(report.about).apply(report, this.#steady());
    this.notify([...passed.keys()]);
    return passed;
  }

  /** Undefined until an edge has reported for the tunnel. */
  rates(tunnelId: string): TunnelMetrics | undefined {
    const known = [...this.#edges.values()].flatMap((edge) => edge.tunnel(tunnelId, this.#steady()) ?? []);
    return known.length === 0 ? undefined : known.map((each) => each.rates).reduce(addRates);
  }

  /** A client that holds carriers to two edges is one client. */
  clients(tunnelId: string): readonly ConnectedClient[] {
    return this.#liveClients(tunnelId).map(({ client, edgeId }) => ({
      id: client.id,
      address: client.address,
      version: client.version,
      since: isoTime(client.sinceMs),
      edge: edgeId,
      rttMs: client.rttMs,
      healthy: client.healthy,
    }));
  }

  /** The edge that stands for the tunnel's clients, so that what several edges report counts once; undefined without clients. */
  firstEdge(tunnelId: string): string | undefined {
    return this.#liveClients(tunnelId)
      .map(({ edgeId }) => edgeId)
      .sort()[0];
  }

  clientCount(tunnelId: string): number {
    return this.#liveClients(tunnelId).length;
  }

  #liveClients(tunnelId: string): readonly LiveClient[] {
    const reports: ReportedClients[] = [];
    for (const edge of this.#edges.values()) {
      const reported = edge.reported(tunnelId);
      if (reported !== undefined) reports.push(reported);
    }
    return reports.length === 0 ? [] : connectedClients(reports, this.#steady());
  }

  portProblem(tunnelId: string): PortProblem | undefined {
    const up = [...this.#edges.values()].filter((edge) => this.#isUp(edge));
    return up.map(({ about }) => about.portProblems?.[tunnelId]).find((problem) => problem !== undefined);
  }

  /** `clockMs`: as in health(). */
  lastClient(tunnelId: string, clockMs: number): LastClient {
    const now = this.#steady();
    const known = [...this.#edges.values()].flatMap((edge) => edge.tunnel(tunnelId, now)?.last ?? []);
    const seen = known.map((each) => each.seen).reduce(latest, undefined);
    const error = known.map((each) => each.error).reduce(latest, undefined);
    const left = known.map((each) => each.left).reduce(latest, undefined);
    const at = (steadyMs: number): string => isoTime(steadyMs + clockMs - now);
    return {
      seen: seen === undefined ? null : { at: at(seen.atMs), address: seen.address },
      error: error === undefined ? null : { at: at(error.atMs), address: error.address, code: error.code },
      ...(left === undefined ? {} : { left: { at: at(left.atMs), onPurpose: left.onPurpose } }),
    };
  }

  /** `clockMs`: the time of day, into which readings of the steady clock are converted. */
  health(clockMs: number): readonly EdgeHealth[] {
    return [...this.#edges.values()].map((edge) => this.#healthOf(edge, clockMs));
  }

  /** What the next process has to know about the edges. */
  known(clockMs: number): readonly KnownEdge[] {
    const heard = [...this.#edges.values()];
    const now = heard.map((edge) => ({
      ...this.#healthOf(edge, clockMs),
      hopAddress: edge.about.hopAddress,
      copy: edge.about.copy,
    }));
    return [...now, ...this.#expected()];
  }

  #healthOf(edge: EdgeView, clockMs: number): EdgeHealth {
    const toClock = (steadyMs: number): number => steadyMs + clockMs - this.#steady();
    return {
      id: edge.edgeId,
      region: edge.region,
      version: edge.about.software,
      connected: this.#isUp(edge),
      since: isoTime(toClock(edge.about.connectedAtMs)),
      lastSeenAt: isoTime(toClock(edge.heardAtMs)),
      acknowledged: edge.about.acknowledged,
      clients: edge.clientCount(),
    };
  }

  /** The edges of a region that are up, as the others of the region get them. */
  peers(region: string): readonly FeedPeer[] {
    const heard = this.#upIn(region).map(({ edgeId, about }) => ({ edgeId, address: about.hopAddress ?? '' }));
    const expected = this.#expected().filter((edge) => edge.region === region);
    return [...heard, ...expected.map(({ id, hopAddress }) => ({ edgeId: id, address: hopAddress ?? '' }))];
  }

  /** An edge of the region is up, and this process or another one hears it. */
  hears(region: string): boolean {
    return this.#upIn(region).length > 0;
  }

  #upIn(region: string): readonly EdgeView[] {
    return [...this.#edges.values()].filter((edge) => edge.region === region && this.#isUp(edge));
  }

  #expected(): readonly KnownEdge[] {
    if (this.#steady() - this.#startMs > edgeHeardWithinMs) return [];
    return this.#earlier.filter(({ region, id }) => !this.#edges.has(keyOf(region, id)));
  }

  /** Calls back with the tunnels whose presence or metrics may have changed; returns the function that stops it. */
  watch(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  notify(tunnelIds: readonly string[]): void {
    if (tunnelIds.length === 0) return;
    for (const listener of this.#listeners) listener(tunnelIds);
  }

  forget(tunnelIds: readonly string[]): void {
    for (const edge of this.#edges.values()) for (const id of tunnelIds) edge.forget(id);
  }

  /** Notices edges that fell silent, and drops those that stay silent. */
  sweep(): void {
    for (const [key, edge] of this.#edges) this.#sweepOne(key, edge);
  }

  #isUp(edge: EdgeView): boolean {
    return this.#steady() - edge.heardAtMs <= edgeHeardWithinMs;
  }

  #viewOf(about: EdgeAbout): EdgeView {
    const key = keyOf(about.region, about.edgeId);
    const view = this.#edges.get(key) ?? new EdgeView(about, this.#startMs, this.#forgotten.get(key));
    this.#edges.set(key, view);
    this.#silent.delete(key);
    return view;
  }

  #sweepOne(key: string, edge: EdgeView): void {
    const quietMs = this.#steady() - edge.heardAtMs;
    if (quietMs > durations.provenWithinMs && !this.#silent.has(key)) {
      this.#silent.add(key);
      this.notify([...edge.tunnelIds()]);
    }
    if (quietMs > edgeKeptMs) this.#forgetEdge(key, edge);
  }

  #forgetEdge(key: string, edge: EdgeView): void {
    this.#edges.delete(key);
    this.#silent.delete(key);
    this.#forgotten.delete(key);
    this.#forgotten.set(key, edge.about.startedAtMs);
    if (this.#forgotten.size > mostForgotten) this.#forgotten.delete(this.#forgotten.keys().next().value!);
  }
}
