// The live side of every tunnel, from the reports of all edges: clients, rates, and who wants to hear of changes.
// Every control replica keeps one; none of it is in the database.

import type { FeedClient } from '@underpass/wire/feed.ts';
import { connectedClients, provenWithinMs } from './core/presence.ts';
import { addRates, type Rates, type Traffic } from './core/rate-window.ts';
import { createEdgeView, type EdgeReport, type EdgeView } from './edge-view.ts';

/** An edge that has been silent for so long is forgotten, with its part of the rates. */
const edgeKeptMs = 600_000;
/** Shown as down after this; reports come every few seconds. */
const edgeHeardWithinMs = 30_000;

export interface TunnelPresence {
  readonly connectedClients: number;
  readonly metrics: Rates;
}

export interface LiveClient extends FeedClient {
  readonly edge: string;
}

export interface EdgeHealth {
  readonly edgeId: string;
  readonly region: string;
  readonly software: string;
  readonly up: boolean;
  readonly connectedAtMs: number;
  readonly heardAtMs: number;
  readonly clients: number;
  readonly tunnels: number;
}

type Listener = (tunnelId: string) => void;

export interface PresenceBoard {
  readonly apply: (report: EdgeReport) => ReadonlyMap<string, Traffic>;
  readonly presence: (tunnelId: string) => TunnelPresence;
  readonly clients: (tunnelId: string) => readonly LiveClient[];
  readonly edges: () => readonly EdgeHealth[];
  /** Called with the id of each tunnel whose presence or metrics may have changed; returns the way to stop. */
  readonly watch: (listener: Listener) => () => void;
  readonly touch: (tunnelId: string) => void;
  /** Notices edges that fell silent, and drops those that stay so. */
  readonly sweep: () => void;
}

const noRates: Rates = { rx: 0, tx: 0, tcpConnectionRate: 0 };

export function createPresenceBoard(now: () => number): PresenceBoard {
  const startMs = now();
  const silent = new Set<string>();
  const edges = new Map<string, EdgeView>();
  const listeners = new Set<Listener>();

  const touch = (tunnelId: string): void => {
    for (const listener of listeners) listener(tunnelId);
  };

  const apply = (report: EdgeReport): ReadonlyMap<string, Traffic> => {
    const key = `${report.region}/${report.edgeId}`;
    const view = edges.get(key) ?? createEdgeView(report, startMs);
    edges.set(key, view);
    silent.delete(key);
    const passed = view.apply(report, now());
    for (const tunnelId of passed.keys()) touch(tunnelId);
    return passed;
  };

  const presence = (tunnelId: string): TunnelPresence => {
    const nowMs = now();
    const views = [...edges.values()].flatMap((edge) => edge.tunnel(tunnelId, nowMs) ?? []);
    return {
      connectedClients: connectedClients(
        views.map((view) => view.reported),
        nowMs,
      ).length,
      metrics: views.reduce((sum, view) => addRates(sum, view.rates), noRates),
    };
  };

  const clientsAt = (edge: EdgeView, tunnelId: string): LiveClient[] => {
    const view = edge.tunnel(tunnelId, now());
    const live = view === undefined ? [] : connectedClients([view.reported], now());
    return live.map((client) => ({ ...client, edge: edge.edgeId }));
  };

  const health = (edge: EdgeView): EdgeHealth => {
    const about = edge.about();
    const live = [...edge.tunnelIds()].map((tunnelId) => clientsAt(edge, tunnelId).length).filter((count) => count > 0);
    return {
      edgeId: edge.edgeId,
      region: edge.region,
      software: about.software,
      up: now() - edge.receivedAtMs() <= edgeHeardWithinMs,
      connectedAtMs: about.connectedAtMs,
      heardAtMs: edge.receivedAtMs(),
      clients: live.reduce((sum, count) => sum + count, 0),
      tunnels: live.length,
    };
  };

  const sweepOne = (key: string, edge: EdgeView): void => {
    const quietMs = now() - edge.receivedAtMs();
    if (quietMs > provenWithinMs && !silent.has(key)) {
      silent.add(key);
      for (const tunnelId of edge.tunnelIds()) touch(tunnelId);
    }
    if (quietMs > edgeKeptMs) {
      edges.delete(key);
      silent.delete(key);
    }
  };

  return {
    apply,
    presence,
    clients: (tunnelId) => [...edges.values()].flatMap((edge) => clientsAt(edge, tunnelId)),
    edges: () => [...edges.values()].map(health),
    watch: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    touch,
    sweep: () => {
      for (const [key, edge] of edges) sweepOne(key, edge);
    },
  };
}
