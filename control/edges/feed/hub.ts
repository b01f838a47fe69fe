// The feed's centre in one control process: keeps each region's state, sends it to the edges that are connected here, and takes
// their acknowledgements and reports. The bus brings changes; what the bus loses is found when everything is read again.

import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { TunnelMetrics } from '@underpass/rules/entity/entity.ts';
import type { ConnectedClient, EdgeHealth, HistoryRange, LastClient, TunnelHistory } from '@underpass/rules/entity/resource.ts';
import type { PortProblem } from '@underpass/rules/tunnel/port-range.ts';
import type { FeedCertificate, ToEdge } from '@underpass/wire/feed/feed.ts';
import { createControlFeed } from '@underpass/wire/feed/feed-stream.ts';
import { hearNarrowed } from '../../platform/bus/narrowed-rights.ts';
import type { PlatformDeps } from '../../platform/deps.ts';
import { tcpTunnelsOf } from '../policies/guarded-tunnels.ts';
import { reconcilePauseMs } from './core/reconcile.ts';
import { type KnownEdge, noteEdges, readEdgeNotes } from './edge-notes.ts';
import { silentPings } from './edge-session.ts';
import type { EdgeAbout, EdgeReport } from './edge-view.ts';
import { readHistory, readTraces, writeTally } from './history.ts';
import { createHubBus, type HubBus, type HubHandlers, type HubMessages } from './hub-bus.ts';
import { LastClients } from './last-clients.ts';
import { LiveRoutes } from './live-routes.ts';
import { MinuteTally } from './minute-tally.ts';
import type { FeedPort } from './port.ts';
import { PresenceBoard } from './presence-board.ts';
import { Refresh } from './refresh.ts';
import { Regions } from './regions.ts';
import { createReportJoiner, cutReport } from './report-relay.ts';
import { StateReader } from './state-reader.ts';
import { TicketUse, withoutTickets } from './ticket-use.ts';
import { VisitorLogWriter } from './visitor-log.ts';

interface FeedTiming {
  /** Everything is read again this often: a suspension reaches the edges within 60 s whatever the bus loses. */
  readonly reconcileMs: number;
  readonly pingMs: number;
  /** Edges acknowledge in milliseconds; nothing waits for one that takes longer than this. */
  readonly deliveryMs: number;
  readonly flushMs: number;
}

const defaultTiming: FeedTiming = { reconcileMs: 20_000, pingMs: 5_000, deliveryMs: 5_000, flushMs: 60_000 };

export interface FeedHubDeps extends Pick<PlatformDeps, 'store' | 'bus' | 'keyRing' | 'clock' | 'log'> {
  /** Control's public address without a trailing slash: visitors sign in there. */
  readonly origin: string;
  /** Starts as the clock and never jumps: measures silence. The clock, if absent. */
  readonly steady?: () => number;
  /** Given certificate files; they go to every region. */
  readonly givenCertificates: () => readonly FeedCertificate[];
  /** Whether an edge key (by its hash) still opens this region. */
  readonly keyOpens: (region: string, keyHash: string) => Promise<boolean>;
  readonly timing?: Partial<FeedTiming>;
}

/** A new edge is noted this soon: a process that starts has to know all edges (presence-board.ts). */
const noteMs = 1_000;

const visitorLogMs = 1_000;

/** Time for the bus and another process to deliver a change. */
const otherProcessMs = 2_000;

export class FeedHub implements FeedPort {
  readonly #deps: FeedHubDeps;
  readonly #timing: FeedTiming;
  readonly #steady: () => number;
  readonly #bus: HubBus;
  readonly #board: PresenceBoard;
  readonly #regions: Regions;
  readonly #live: LiveRoutes;
  readonly #refresh: Refresh;
  readonly #tally = new MinuteTally();
  readonly #lastClients: LastClients;
  readonly #visitorLog: VisitorLogWriter;
  readonly #ticketUse: TicketUse;
  readonly #joiner = createReportJoiner();
  readonly #stops: (() => void)[] = [];
  #reconcileTimer: NodeJS.Timeout | undefined;
  #noteTimer: NodeJS.Timeout | undefined;
  #isClosing = false;
  #writingVisitors: Promise<void> | undefined;
  /** Everything was read once. Before that, an edge would take what is not read yet for deleted. */
  #isWhole = false;

  constructor(deps: FeedHubDeps) {
    const { store, log, clock, steady = clock, keyOpens } = deps;
    const timing = { ...defaultTiming, ...deps.timing };
    this.#deps = deps;
    this.#timing = timing;
    this.#steady = steady;
    const bus = createHubBus(deps.bus);
    const board = new PresenceBoard(steady);
    const onLive = (tunnelIds: readonly string[]): void => board.notify(tunnelIds);
    const regions = new Regions({
      ...{ now: clock, steady, keyOpens, lateMs: timing.deliveryMs },
      peersOf: (region) => board.peers(region),
      onHeld: (region, marks) => this.#live.heldHere(region, marks),
      onGone: (tunnelIds) => {
        board.forget(tunnelIds);
        this.#lastClients.forget(tunnelIds);
      },
      onHeard: (about) => this.#hearOwn(about),
      onReport: (report) => this.#report(report),
      onVisitorLog: (logs) => this.#visitorLog.add(logs),
      onRefused: (region, why) => log.warn({ region, why }, 'feed: an edge was refused'),
    });
    const silentMs = silentPings * timing.pingMs;
    this.#live = new LiveRoutes({ store, log, steady, bus, regions, onLive, lateMs: timing.deliveryMs, silentMs });
    this.#refresh = new Refresh({
      reader: new StateReader({ ...deps, regions, onLive }),
      onWhole: () => {
        this.#isWhole = true;
      },
      onError: this.#logError('feed: the store could not be read'),
    });
    this.#bus = bus;
    this.#lastClients = new LastClients(store, this);
    this.#visitorLog = new VisitorLogWriter(store);
    this.#ticketUse = new TicketUse(store);
    this.#board = board;
    this.#regions = regions;
  }

  /** Reads every region from the store, once: what a command needs to tell which tunnels are served. */
  async load(): Promise<void> {
    this.#refresh.everything();
    await this.#refresh.idle();
  }

  /** Loads, and then stays up to date. */
  async start(): Promise<void> {
    const unreadable = this.#logError('feed: the noted edges could not be read');
    await readEdgeNotes(this.#deps.store.db).then((noted) => this.#board.expect(noted), unreadable);
    this.#stops.push(this.#bus.listen(this.#handlers));
    const unread = this.#logError('feed: the private tunnels of somebody who lost a right could not be read');
    this.#stops.push(hearNarrowed(this.#deps.bus, (id) => void this.#endPasses(id).catch(unread)));
    await this.load();
    this.#reconcileAfter(this.#timing.reconcileMs);
    this.#every(this.#timing.pingMs, () => this.#checkEdges());
    const flush = (): void => void this.#flush(false).catch(this.#logError('feed: the minute history was not written'));
    this.#every(this.#timing.flushMs, flush);
    this.#every(visitorLogMs, () => this.#writeVisitorLog());
  }

  /**
   * Takes over an edge's connection, or ends it if the store is not read yet: the edge serves from what it has, and dials again.
   * `keyHash` is absent for an edge in this process.
   */
  accept(duplex: Duplex, { region, keyHash }: { readonly region: string; readonly keyHash?: string }): void {
    if (!this.#isWhole) {
      duplex.destroy();
      return;
    }
    const feed = this.#regions.open(region);
    const stream = createControlFeed(duplex);
    const ready = async (): Promise<void> => {
      await stream.ready();
      await nextTurn();
    };
    const channel = { send: (message: ToEdge) => void stream.send(message), ready, close: () => stream.destroy() };
    const session = feed.open(channel, keyHash);
    stream.onMessage = (message) => session.receive(message);
    stream.onClose = (error) => {
      feed.closed(session);
      this.#deps.log.info({ region, edge: session.edgeId, why: error?.message }, 'feed: an edge disconnected');
    };
  }

  tunnelsChanged(ids: readonly string[]): void {
    this.#tell('feed.tunnels', { ids });
  }

  blocksChanged(values: readonly string[]): void {
    this.#tell('feed.blocks', { values });
  }

  regionChanged(region: string): void {
    this.#tell('feed.region', { region });
  }

  /** Call after a commit that renewed the certificates of these names. Without names, any may have changed. */
  certificatesChanged(names?: readonly string[]): void {
    if (names === undefined) this.#tell('feed.everything', {});
    else this.#tell('feed.certificates', { names });
  }

  challengesChanged(): void {
    this.#tell('feed.challenges', {});
  }

  isServing(tunnelId: string): boolean {
    return this.#regions.isLive(tunnelId);
  }

  clients(tunnelId: string): readonly ConnectedClient[] {
    return this.#board.clients(tunnelId);
  }

  clientCount(tunnelId: string): number {
    return this.#board.clientCount(tunnelId);
  }

  portProblem(tunnelId: string): PortProblem | undefined {
    return this.#board.portProblem(tunnelId);
  }

  lastClient(tunnelId: string): LastClient {
    return this.#board.lastClient(tunnelId, this.#deps.clock());
  }

  metrics(tunnelId: string): TunnelMetrics | undefined {
    return this.#board.rates(tunnelId);
  }

  history(tunnelId: string, range: HistoryRange): Promise<TunnelHistory> {
    return readHistory(this.#deps.store, tunnelId, range, this.#deps.clock());
  }

  async traces(tunnelIds: readonly string[]): Promise<ReadonlyMap<string, readonly number[]>> {
    const written = await readTraces(this.#deps.store, tunnelIds, this.#deps.clock());
    const now = (id: string): readonly number[] => {
      const rates = this.#board.rates(id);
      return rates === undefined ? [] : [rates.rx + rates.tx];
    };
    return new Map(tunnelIds.map((id) => [id, [...(written.get(id) ?? []), ...now(id)]]));
  }

  /** The edges, also those that this process expects since its start, and how their copies stand. */
  knownEdges(): readonly KnownEdge[] {
    return this.#board.known(this.#deps.clock());
  }

  edges(): readonly EdgeHealth[] {
    return this.#board.health(this.#deps.clock());
  }

  onMoved(listener: (tunnelIds: readonly string[]) => void): () => void {
    return this.#board.watch(listener);
  }

  /**
   * Resolves when the region's edges hold every change so far, or their time is over. If no edge is connected here, as just
   * after a start, waits for the first.
   */
  async delivered(region: string): Promise<void> {
    await this.#refresh.idle();
    const feed = this.#regions.get(region);
    const isHere = (feed?.connections().length ?? 0) > 0;
    if (isHere || !this.#board.hears(region)) await feed?.acknowledged(this.#timing.deliveryMs);
    else await sleep(otherProcessMs);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#reconcileTimer);
    clearTimeout(this.#noteTimer);
    for (const stop of this.#stops.splice(0)) stop();
    this.#regions.close();
    await this.#refresh.idle();
    await this.#writingVisitors;
    await this.#visitorLog.flushAll(this.#deps.clock()).catch(this.#logError('feed: the visitor log was not written'));
    await this.#flush(true).catch(this.#logError('feed: the minute history was not written'));
    await this.#live.saved();
  }

  /** What to do about each message of another process, and about this one's own changes. */
  readonly #handlers: HubHandlers = {
    'feed.tunnels': ({ ids }) => {
      this.#board.notify(ids);
      this.#refresh.tunnels(ids);
    },
    'feed.everything': () => this.#refresh.everything(),
    'feed.certificates': ({ names }) => this.#refresh.certificates(names),
    'feed.challenges': () => this.#refresh.challenges(),
    'feed.blocks': ({ values }) => this.#refresh.blocks(values),
    'feed.region': ({ region }) => {
      this.#refresh.everything();
      this.#closeDeadKeys(region);
    },
    'feed.held': ({ marks }, from) => this.#live.heldElsewhere(from, marks),
    'feed.live': ({ marks }) => this.#live.liveElsewhere(marks),
    'feed.edge': ({ about }, from) => this.#hear(from, about),
    'feed.report': ({ part }) => this.#take(part),
    'feed.partial': ({ part }) => this.#take(part),
  };

  /** A sign-in or a token ended, with the passes that it had got. Every process hears it. */
  async #endPasses(id: string): Promise<void> {
    this.#refresh.tunnels(await tcpTunnelsOf(this.#deps.store.db, id));
  }

  #take(part: unknown): void {
    const report = this.#joiner.take(part);
    if (report !== undefined) this.#board.apply(report);
  }

  /** Handles it here at once; the bus brings it to the other processes. */
  #tell<S extends keyof HubMessages>(subject: S, message: HubMessages[S]): void {
    this.#handlers[subject](message, this.#bus.self);
    this.#bus.publish(subject, message);
  }

  #hear(process: string, about: EdgeAbout): void {
    this.#live.hearEdge(process, about);
    if (this.#board.hear(about)) this.#noteSoon();
    this.#regions.publishPeers(about.region);
  }

  #noteSoon(): void {
    if (this.#isClosing) return;
    this.#noteTimer ??= setTimeout(() => {
      this.#noteTimer = undefined;
      void this.#note().catch(this.#logError('feed: the edges were not noted'));
    }, noteMs);
  }

  #hearOwn(about: EdgeAbout): void {
    this.#tell('feed.edge', { about });
  }

  #report(report: EdgeReport): void {
    const now = this.#deps.clock();
    const passed = this.#board.apply(report);
    this.#lastClients.moved(passed.keys());
    const { region, edgeId } = report.about;
    for (const [tunnelId, counts] of passed) {
      const isFirst = this.#board.firstEdge(tunnelId) === edgeId;
      const projectId = this.#regions.get(region)?.state.projectOf(tunnelId);
      this.#tally.add({ tunnelId, projectId, clients: this.#board.clientCount(tunnelId), isFirst }, counts, now);
    }
    const subject = report.partial ? 'feed.partial' : 'feed.report';
    void this.#ticketUse.note(report.tunnels, now).catch(this.#logError('feed: the use of tickets was not written'));
    for (const part of cutReport(withoutTickets(report), this.#bus.self)) this.#bus.publish(subject, { part });
  }

  #checkEdges(): void {
    this.#board.sweep();
    this.#live.checkOverdue();
    for (const [region, feed] of this.#regions.all()) {
      feed.checkEdges();
      this.#regions.publishPeers(region);
      this.#closeDeadKeys(region);
    }
  }

  #closeDeadKeys(region: string): void {
    this.#regions.closeDeadKeys(region).catch(this.#logError('feed: edge keys could not be read'));
  }

  async #flush(ending: boolean): Promise<void> {
    const { store, clock } = this.#deps;
    await writeTally(store, this.#tally, clock(), ending);
    await this.#lastClients.flush(ending);
    await this.#note();
  }

  /** One write at a time: a slow database makes the batches larger, up to their bound. */
  #writeVisitorLog(): void {
    this.#writingVisitors ??= this.#visitorLog
      .flush(this.#deps.clock())
      .catch(this.#logError('feed: the visitor log was not written'))
      .finally(() => {
        this.#writingVisitors = undefined;
      });
  }

  async #note(): Promise<void> {
    const { store, clock } = this.#deps;
    const known = this.knownEdges();
    if (known.length > 0) await noteEdges(store.db, known, clock());
  }

  #every(ms: number, run: () => void): void {
    const timer = setInterval(run, ms);
    this.#stops.push(() => clearInterval(timer));
  }

  #reconcileAfter(pauseMs: number): void {
    this.#reconcileTimer = setTimeout(async () => {
      const start = this.#steady();
      await this.load();
      if (!this.#isClosing) this.#reconcileAfter(reconcilePauseMs(this.#steady() - start, this.#timing.reconcileMs));
    }, pauseMs);
  }

  #logError(what: string): (error: unknown) => void {
    return (error) => this.#deps.log.error({ err: error }, what);
  }
}
