// Control's end of the feed towards the workers, in the primary: passes changes on, waits until all workers have them, and adds
// up their reports.

import type { Duplex } from 'node:stream';
import { addFigures } from '@underpass/rules/tunnel/figures.ts';
import { type FeedState, type FeedTunnelReport, type FromEdge, feedVersion, type ToEdge } from '@underpass/wire/feed/feed.ts';
import { createControlFeed, type FeedStream } from '@underpass/wire/feed/feed-stream.ts';
import { VisitorLogQueue } from '../core/visitor-log-queue.ts';
import { bestOfEach } from '../feed/reporter.ts';
import type { RouteTable } from '../routes/route-table.ts';

type Change = Extract<ToEdge, { type: 'snapshot' | 'delta' }>;

interface Member {
  readonly feed: FeedStream<ToEdge, FromEdge>;
  readonly name: string;
  ackedSeq: number;
  /** True once the worker has ended; its last report may not have been read yet. */
  hasEnded: boolean;
}

/** Tunnels, certificates and so on in one message: with 16 KiB each, far below the limit in wire/feed/feed-stream.ts. */
const pieceEntries = 1_000;
/** Time after which the primary acknowledges a change without the workers that have not applied it. */
const ackMs = 3_000;
/** The interval of control: a worker treats a silent feed like an edge does (feed-link.ts). */
const pingEveryMs = 5_000;

export class WorkerFeed {
  readonly #table: RouteTable;
  /** Clients of these tunnels came or went. */
  readonly #onReport: (tunnelIds: Iterable<string>) => void;
  /** What the workers noted for visitor logs. */
  readonly visitorLog: VisitorLogQueue;
  readonly #members = new Set<Member>();
  /** The latest report of each worker, by tunnel. */
  readonly #reports = new Map<string, Map<string, FeedTunnelReport>>();
  /** Counters of workers that have ended, for tunnels that still exist. */
  readonly #past = new Map<string, FeedTunnelReport>();
  readonly #pings: NodeJS.Timeout;
  #seq = 0;
  #waiters: (() => void)[] = [];

  /** The table mirrors the state of control; it has no visitors of its own. */
  constructor(table: RouteTable, onReport: (tunnelIds: Iterable<string>) => void) {
    this.#table = table;
    this.visitorLog = new VisitorLogQueue((id) => table.tunnels.get(id)?.feed.projectId ?? '');
    this.#onReport = onReport;
    this.#pings = setInterval(() => this.#ping(), pingEveryMs).unref();
  }

  #ping(): void {
    for (const { feed } of this.#members) feed.send({ type: 'ping', id: 0 });
  }

  accept(carrier: Duplex): void {
    const feed = createControlFeed(carrier);
    let member: Member | null = null;
    feed.onMessage = (message) => {
      if (message.type === 'hello') member = this.#join(feed, message.edgeId, message.region);
      else if (member !== null) this.#receive(member, message);
    };
    feed.onClose = () => {
      if (member !== null) this.#leave(member);
    };
  }

  #join(feed: Member['feed'], name: string, region: string): Member {
    const member = { feed, name, ackedSeq: -1, hasEnded: false };
    this.#members.add(member);
    feed.send({ type: 'welcome', version: feedVersion, epoch: 'primary', region, takesPartial: true, takesVisitorLog: true });
    if (this.#table.loaded) for (const piece of cutSnapshot(this.#seq, this.#table.state())) feed.send(piece);
    // Marks the end of the state: a worker accepts visitors only after it.
    feed.send({ type: 'ping', id: 0 });
    return member;
  }

  #leave(member: Member): void {
    this.#members.delete(member);
    const reports = this.#reports.get(member.name) ?? new Map<string, FeedTunnelReport>();
    if (member.hasEnded) this.#count(member.name);
    for (const [id, report] of reports) reports.set(id, { ...report, clients: [] });
    this.#wake();
    this.#onReport(reports.keys());
  }

  #receive(member: Member, message: FromEdge): void {
    if (message.type === 'ack') {
      member.ackedSeq = message.seq;
      this.#wake();
    } else if (message.type === 'report') this.#keep(member.name, message.tunnels);
    else if (message.type === 'visitor-log') this.visitorLog.addAll(message.tunnels);
  }

  #keep(name: string, tunnels: readonly FeedTunnelReport[]): void {
    const reports = this.#reports.get(name) ?? new Map<string, FeedTunnelReport>();
    this.#reports.set(name, reports);
    // A worker may not know yet that a tunnel was deleted.
    const known = tunnels.filter(({ tunnelId }) => this.#table.tunnels.has(tunnelId));
    const moved = known.filter((report) => clientIds(report) !== clientIds(reports.get(report.tunnelId)));
    for (const report of known) {
      const figures = report.figures ?? reports.get(report.tunnelId)?.figures;
      reports.set(report.tunnelId, figures === undefined ? report : { ...report, figures });
    }
    if (moved.length > 0) this.#onReport(moved.map(({ tunnelId }) => tunnelId));
  }

  /** A worker has ended: keeps its counters and drops its clients. Its last report may arrive after this. */
  retire(name: string): void {
    const member = [...this.#members].find((one) => one.name === name);
    const tunnelIds = [...(this.#reports.get(name)?.keys() ?? [])];
    if (member === undefined) this.#count(name);
    else member.hasEnded = true;
    this.#onReport(tunnelIds);
  }

  #count(name: string): void {
    for (const report of this.#reports.get(name)?.values() ?? []) {
      const past = this.#past.get(report.tunnelId);
      this.#past.set(report.tunnelId, addReports(past, { ...report, clients: [] }));
    }
    this.#reports.delete(name);
  }

  /** Passes a change on; resolves when every worker has applied it. The table has it already. */
  async broadcast(change: Change): Promise<void> {
    this.#forgetGone(change);
    const messages =
      change.type === 'snapshot'
        ? cutSnapshot(++this.#seq, change.state)
        : cutDelta(change).map((piece) => ({ ...piece, seq: ++this.#seq }));
    const seq = this.#seq;
    for (const { feed } of this.#members) for (const message of messages) feed.send(message);
    const late = performance.now() + ackMs;
    while ([...this.#members].some(({ ackedSeq }) => ackedSeq < seq) && performance.now() < late) await this.#nextAck(late);
  }

  #forgetGone(change: Change): void {
    for (const counts of [this.#past, ...this.#reports.values()]) {
      const gone = change.type === 'delta' ? (change.drop.tunnels ?? []) : [...counts.keys()];
      for (const id of gone) if (!this.#table.tunnels.has(id)) counts.delete(id);
    }
  }

  #nextAck(lateMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, lateMs - performance.now());
      this.#waiters.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  /** One report for each tunnel, or for this one, over all workers. */
  reports(tunnelId?: string): Iterable<FeedTunnelReport> {
    const sums = new Map<string, FeedTunnelReport>();
    for (const reports of [this.#past, ...this.#reports.values()])
      for (const id of tunnelId === undefined ? reports.keys() : [tunnelId]) {
        const report = reports.get(id);
        if (report !== undefined) sums.set(id, addReports(sums.get(id), report));
      }
    return sums.values();
  }

  close(): void {
    clearInterval(this.#pings);
    for (const { feed } of this.#members) feed.destroy();
  }
}

/** Certificates before the tunnels that need them. What a piece lacks is an empty list, `blocks` too: the primary knows them all. */
const parts = ['blocks', 'certificates', 'tunnels', 'challenges', 'peers'] as const;

function cutSnapshot(seq: number, state: FeedState): readonly Change[] {
  const pieces = cutState(state);
  return pieces.map((put, at) => {
    const numbered = at === pieces.length - 1 ? { seq } : { seq, more: true };
    return at === 0 ? { type: 'snapshot', ...numbered, state: put } : { type: 'delta', ...numbered, put, drop: {} };
  });
}

/** Changes of their own, which a worker applies one after the other. What is dropped goes last: a host that moves is never without a tunnel. */
function cutDelta(delta: Extract<Change, { type: 'delta' }>): readonly Change[] {
  const count = parts.reduce((sum, part) => sum + (delta.put[part]?.length ?? 0), 0);
  if (count <= pieceEntries) return [delta];
  const pieces = cutState(delta.put);
  return pieces.map((put, at) => ({ ...delta, put, drop: at === pieces.length - 1 ? delta.drop : {} }));
}

function cutState(state: Partial<FeedState>): readonly FeedState[] {
  const entries = parts.flatMap((part) => (state[part] ?? []).map((value) => ({ part, value })));
  const count = Math.max(1, Math.ceil(entries.length / pieceEntries));
  return Array.from({ length: count }, (_, at) => {
    const own = Object.groupBy(entries.slice(at * pieceEntries, (at + 1) * pieceEntries), ({ part }) => part);
    return Object.fromEntries(parts.map((part) => [part, own[part]?.map(({ value }) => value) ?? []])) as unknown as FeedState;
  });
}

const clientIds = (report?: FeedTunnelReport): string =>
  report?.clients.map(({ id, healthy }) => `${id} ${healthy}`).join() ?? '';

const later = <T extends { readonly atMs: number }>(a: T | undefined, b: T | undefined): T | undefined =>
  (a?.atMs ?? 0) > (b?.atMs ?? 0) ? a : b;

function addReports(a: FeedTunnelReport | undefined, b: FeedTunnelReport): FeedTunnelReport {
  if (a === undefined) return b;
  const figures = addFigures(a.figures ?? [], b.figures ?? []);
  const refused = later(a.refused, b.refused);
  const clients = bestOfEach([...a.clients, ...b.clients]);
  const left = clients.length === 0 ? later(a.left, b.left) : undefined;
  const ticketsUsed = [...(a.ticketsUsed ?? []), ...(b.ticketsUsed ?? [])];
  return {
    tunnelId: b.tunnelId,
    rxBytes: a.rxBytes + b.rxBytes,
    txBytes: a.txBytes + b.txBytes,
    connections: a.connections + b.connections,
    requests: a.requests + b.requests,
    ...(figures.length === 0 ? {} : { figures }),
    clients,
    ...(refused === undefined ? {} : { refused }),
    ...(left === undefined ? {} : { left }),
    ...(ticketsUsed.length === 0 ? {} : { ticketsUsed }),
  };
}
