// The live side of every tunnel, from the reports of all edges: clients, rates, and who wants to hear of changes.
// Every control replica keeps one; none of it is in the database.

import { connectedClients, type LiveClient, provenWithinMs } from './core/presence.ts';
import { addRates, type Rates, type Traffic } from './core/rate-window.ts';
import { createEdgeView, type EdgeAbout, type EdgeReport, type EdgeView } from './edge-view.ts';

/** An edge that has been silent for so long is forgotten, with its part of the rates. */
const edgeKeptMs = 600_000;
/** Shown as down after this; every edge says something every few seconds. */
const edgeHeardWithinMs = 30_000;

export interface EdgeOnBoard {
  readonly edgeId: string;
  readonly region: string;
  readonly software: string;
  readonly hopAddress: string | undefined;
  readonly up: boolean;
  readonly acknowledged: boolean;
  readonly connectedAtMs: number;
  readonly heardAtMs: number;
  readonly clients: number;
}

type Listener = (tunnelIds: readonly string[]) => void;

export interface PresenceBoard {
  /** Answers with what passed since the edge's last report. */
  readonly apply: (report: EdgeReport) => ReadonlyMap<string, Traffic>;
  /** An edge lives, and this is what it says about itself. */
  readonly hear: (about: EdgeAbout) => void;
  /** Undefined until an edge has reported for the tunnel. */
  readonly rates: (tunnelId: string) => Rates | undefined;
  readonly clients: (tunnelId: string) => readonly LiveClient[];
  readonly edges: () => readonly EdgeOnBoard[];
  /** Called with the tunnels whose presence or metrics may have changed; returns the way to stop. */
  readonly watch: (listener: Listener) => () => void;
  readonly touch: Listener;
  readonly forget: (tunnelIds: readonly string[]) => void;
  /** Notices edges that fell silent, and drops those that stay so. */
  readonly sweep: () => void;
}

export function createPresenceBoard(now: () => number): PresenceBoard {
  const startMs = now();
  const edges = new Map<string, EdgeView>();
  const silent = new Set<string>();
  const listeners = new Set<Listener>();

  const touch: Listener = (tunnelIds) => {
    if (tunnelIds.length === 0) return;
    for (const listener of listeners) listener(tunnelIds);
  };

  const viewOf = (about: EdgeAbout): EdgeView => {
    const key = `${about.region}/${about.edgeId}`;
    const view = edges.get(key) ?? createEdgeView(about, startMs);
    edges.set(key, view);
    silent.delete(key);
    return view;
  };

  const apply = (report: EdgeReport): ReadonlyMap<string, Traffic> => {
    const passed = viewOf(report.about).apply(report, now());
    touch([...passed.keys()]);
    return passed;
  };

  const rates = (tunnelId: string): Rates | undefined => {
    const known = [...edges.values()].flatMap((edge) => edge.tunnel(tunnelId, now()) ?? []);
    return known.length === 0 ? undefined : known.map((each) => each.rates).reduce(addRates);
  };

  /** A client that holds carriers to two edges is one client: the fresher proof is shown. */
  const clients = (tunnelId: string): readonly LiveClient[] => {
    const reports = [...edges.values()].flatMap((edge) => {
      const known = edge.tunnel(tunnelId, now());
      return known === undefined ? [] : [{ ...known.reported, edgeId: edge.edgeId }];
    });
    return connectedClients(reports, now());
  };

  const describe = (edge: EdgeView): EdgeOnBoard => {
    const { software, hopAddress, connectedAtMs, acknowledged } = edge.about();
    const heardAtMs = edge.heardAtMs();
    const up = now() - heardAtMs <= edgeHeardWithinMs;
    const { edgeId, region } = edge;
    return { edgeId, region, software, hopAddress, up, acknowledged, connectedAtMs, heardAtMs, clients: edge.clientCount() };
  };

  const sweepOne = (key: string, edge: EdgeView): void => {
    const quietMs = now() - edge.heardAtMs();
    if (quietMs > provenWithinMs && !silent.has(key)) {
      silent.add(key);
      touch([...edge.tunnelIds()]);
    }
    if (quietMs > edgeKeptMs) {
      edges.delete(key);
      silent.delete(key);
    }
  };

  return {
    hear: (about) => viewOf(about).hear(about, now()),
    apply,
    rates,
    clients,
    edges: () => [...edges.values()].map(describe),
    watch: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    touch,
    forget: (tunnelIds) => {
      for (const edge of edges.values()) for (const id of tunnelIds) edge.forget(id);
    },
    sweep: () => {
      for (const [key, edge] of edges) sweepOne(key, edge);
    },
  };
}
