// One region in one control process: its state and the edges that are connected here.

import type { ToEdge } from '@underpass/wire/feed.ts';
import { createEdgeSession, type EdgeSession, type FeedChannel } from './edge-session.ts';
import type { EdgeAbout, EdgeReport } from './edge-view.ts';
import type { LiveMark, RegionState } from './region-state.ts';
import { createRegionState } from './region-state.ts';

export interface RegionFeedDeps {
  readonly region: string;
  readonly now: () => number;
  /** Without the clock's jumps: for silence. */
  readonly steady: () => number;
  /** An edge that owes an acknowledgement for longer is not waited for: its connection is lost, or about to be. */
  readonly lateMs: number;
  /** Every edge that is connected here, and is not late, can serve these. */
  readonly onHeld: (marks: readonly LiveMark[]) => void;
  /** Tunnels that were here and are no more. */
  readonly onGone: (tunnelIds: readonly string[]) => void;
  readonly onHeard: (about: EdgeAbout) => void;
  readonly onReport: (report: EdgeReport) => void;
  readonly onRefused: (region: string, why: string) => void;
}

export interface Connection {
  readonly session: EdgeSession;
  /** Absent for an edge in this process. */
  readonly keyHash: string | undefined;
}

export interface RegionFeed {
  readonly state: RegionState;
  readonly publish: (message: ToEdge | undefined) => void;
  readonly open: (channel: FeedChannel, keyHash: string | undefined) => EdgeSession;
  readonly closed: (session: EdgeSession) => void;
  readonly connections: () => readonly Connection[];
  /** Resolves when every edge that is connected here, and one at least, holds the present state, or when the time is up. */
  readonly acknowledged: (timeoutMs: number) => Promise<void>;
  /** Pings everybody, cuts who has been silent for longer, and waits no more for who is late. */
  readonly beat: (silenceMs: number) => void;
}

export function createRegionFeed(deps: RegionFeedDeps): RegionFeed {
  const state = createRegionState();
  const connections = new Map<EdgeSession, Connection>();
  const waiters = new Set<() => void>();

  const settle = (): void => {
    for (const check of waiters) check();
  };

  const acknowledged = (timeoutMs: number): Promise<void> =>
    new Promise((resolve) => {
      const seq = state.seq();
      const done = (): void => {
        clearTimeout(timer);
        waiters.delete(check);
        resolve();
      };
      const check = (): void => {
        const acked = [...connections.keys()].map((session) => session.ackedSeq());
        if (acked.length > 0 && Math.min(...acked) >= seq) done();
      };
      const timer = setTimeout(done, timeoutMs);
      waiters.add(check);
      check();
    });

  /** An edge has one connection: a new one ends the old, which may be half open. */
  const endOthers = (session: EdgeSession, edgeId: string): void => {
    for (const other of connections.keys()) {
      if (other !== session && other.edgeId() === edgeId) other.close();
    }
  };

  /** What all edges here hold that are not late; undefined where there is none. */
  const heldByAll = (): number | undefined => {
    const edges = [...connections.keys()].filter((session) => session.edgeId() !== undefined);
    const prompt = edges.filter((session) => session.owesForMs() <= deps.lateMs);
    return prompt.length === 0 ? undefined : Math.min(...prompt.map((session) => session.ackedSeq()));
  };

  const noteHeld = (): void => {
    const held = heldByAll();
    const marks = held === undefined ? [] : state.acknowledge(held, deps.now());
    if (marks.length > 0) deps.onHeld(marks);
  };

  const onAck = (): void => {
    noteHeld();
    settle();
  };

  const open = (channel: FeedChannel, keyHash: string | undefined): EdgeSession => {
    const session: EdgeSession = createEdgeSession({
      region: deps.region,
      state,
      channel,
      now: deps.steady,
      onHello: (edgeId) => endOthers(session, edgeId),
      onAck,
      onHeard: deps.onHeard,
      onReport: deps.onReport,
      onRefused: (why) => deps.onRefused(deps.region, why),
    });
    connections.set(session, { session, keyHash });
    return session;
  };

  return {
    state,
    open,
    closed: (session) => {
      connections.delete(session);
      noteHeld();
      settle();
    },
    acknowledged,
    connections: () => [...connections.values()],
    publish: (message) => {
      if (message === undefined) return;
      for (const session of connections.keys()) session.send(message);
      if (message.type === 'delta') deps.onGone(message.drop.tunnels ?? []);
    },
    beat: (silenceMs) => {
      noteHeld();
      for (const session of connections.keys()) {
        if (deps.steady() - session.heardAtMs() > silenceMs) session.close();
        else session.ping();
      }
    },
  };
}
