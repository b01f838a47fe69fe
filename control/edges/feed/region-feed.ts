// One region in one control process: its state and the edges that are connected here.

import type { FeedTunnelLog, ToEdge } from '@underpass/wire/feed/feed.ts';
import { EdgeSession, type FeedChannel } from './edge-session.ts';
import type { EdgeAbout, EdgeReport } from './edge-view.ts';
import { type LiveMark, RegionState } from './region-state.ts';

export interface RegionFeedDeps {
  readonly region: string;
  readonly now: () => number;
  /** Never jumps: measures silence. */
  readonly steady: () => number;
  /** Nothing waits for an edge that owes an acknowledgement for longer: its connection is lost, or soon will be. */
  readonly lateMs: number;
  /** Every edge that is connected here, and is not late, can serve these. */
  readonly onHeld: (region: string, marks: readonly LiveMark[]) => void;
  /** Tunnels that left the region. */
  readonly onGone: (tunnelIds: readonly string[]) => void;
  readonly onHeard: (about: EdgeAbout) => void;
  readonly onReport: (report: EdgeReport) => void;
  readonly onVisitorLog: (logs: readonly FeedTunnelLog[]) => void;
  readonly onRefused: (region: string, why: string) => void;
}

interface Connection {
  readonly session: EdgeSession;
  /** Absent for an edge in this process. */
  readonly keyHash: string | undefined;
}

export class RegionFeed {
  readonly state = new RegionState();
  readonly #deps: RegionFeedDeps;
  readonly #connections = new Map<EdgeSession, Connection>();
  /** Each looks again whether its wait is over. */
  readonly #waiters = new Set<() => void>();

  constructor(deps: RegionFeedDeps) {
    this.#deps = deps;
  }

  connections(): readonly Connection[] {
    return [...this.#connections.values()];
  }

  open(channel: FeedChannel, keyHash: string | undefined): EdgeSession {
    const { region, steady, onHeard, onReport, onVisitorLog, onRefused } = this.#deps;
    const session: EdgeSession = new EdgeSession({
      ...{ region, state: this.state, channel, now: steady, onHeard, onReport, onVisitorLog },
      onHello: (edgeId) => this.#endOthers(session, edgeId),
      onAck: () => this.#checkHeld(),
      onRefused: (why) => onRefused(region, why),
    });
    this.#connections.set(session, { session, keyHash });
    return session;
  }

  closed(session: EdgeSession): void {
    this.#connections.delete(session);
    this.#checkHeld();
  }

  publish(message: ToEdge | undefined): void {
    if (message === undefined) return;
    for (const session of this.#connections.keys()) session.send(message);
    if (message.type === 'delta') this.#deps.onGone(message.drop.tunnels ?? []);
  }

  /** Resolves when every edge that is connected here, and at least one, holds the present state, or when the time is up. */
  acknowledged(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const { seq } = this.state;
      const done = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(check);
        resolve();
      };
      const check = (): void => {
        const acked = [...this.#connections.keys()].map((session) => session.ackedSeq);
        if (acked.length > 0 && Math.min(...acked) >= seq) done();
      };
      const timer = setTimeout(done, timeoutMs);
      this.#waiters.add(check);
      check();
    });
  }

  /** Pings every edge or cuts it as silent, and stops waiting for late acknowledgements. */
  checkEdges(): void {
    this.#checkHeld();
    for (const session of this.#connections.keys()) session.ping();
  }

  /** An edge has one connection: a new one ends the old, which may be half open. */
  #endOthers(session: EdgeSession, edgeId: string): void {
    for (const other of this.#connections.keys()) if (other !== session && other.edgeId === edgeId) other.close();
  }

  #checkHeld(): void {
    const held = this.#heldByAll();
    const marks = held === undefined ? [] : this.state.acknowledge(held, this.#deps.now());
    if (marks.length > 0) this.#deps.onHeld(this.#deps.region, marks);
    for (const check of this.#waiters) check();
  }

  /** The number that all edges here hold, except late ones; undefined if there is none. */
  #heldByAll(): number | undefined {
    const edges = [...this.#connections.keys()].filter((session) => session.edgeId !== undefined);
    const prompt = edges.filter((session) => session.owesForMs() <= this.#deps.lateMs);
    return prompt.length === 0 ? undefined : Math.min(...prompt.map((session) => session.ackedSeq));
  }
}
