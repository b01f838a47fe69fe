// The feed's centre in one control process: keeps each region's state, brings it to the edges that are connected here,
// and takes in what they acknowledge and report. Changes reach it by the bus; what the bus loses, reconciling finds.

import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectedClient, EdgeHealth } from '@underpass/rules/resource.ts';
import type { FeedCertificate, FeedPeer } from '@underpass/wire/feed.ts';
import { createControlFeed } from '@underpass/wire/feed-stream.ts';
import type { Logger } from 'pino';
import type { Bus } from '../bus/bus.ts';
import type { KeyRing } from '../secret/key-ring.ts';
import type { Store } from '../store/store.ts';
import { createAgreement } from './core/agreement.ts';
import { reconcilePauseMs } from './core/reconcile.ts';
import { noteEdges } from './edge-notes.ts';
import type { EdgeAbout, EdgeReport } from './edge-view.ts';
import { createHistory } from './history.ts';
import { createMinuteTally } from './minute-tally.ts';
import type { FeedPort } from './port.ts';
import { createPresenceBoard } from './presence-board.ts';
import { createRefresh } from './refresh.ts';
import { createRegionFeed, type RegionFeed } from './region-feed.ts';
import type { LiveMark } from './region-state.ts';
import { createReportJoiner, cutReport } from './report-relay.ts';
import { saveMarks } from './route-marks.ts';

export interface FeedTiming {
  /** Everything is read anew this often: suspension is at the edges within 60 s whatever the bus lost. */
  readonly reconcileMs: number;
  readonly pingMs: number;
  /** A connection that said nothing for so long is cut. */
  readonly silenceMs: number;
  /** Edges acknowledge in milliseconds; one that takes longer than this is not waited for. */
  readonly deliveryMs: number;
  readonly flushMs: number;
}

const defaultTiming: FeedTiming = { reconcileMs: 20_000, pingMs: 5_000, silenceMs: 20_000, deliveryMs: 5_000, flushMs: 60_000 };

export interface FeedHubDeps {
  readonly store: Store;
  readonly bus: Bus;
  readonly keyRing: KeyRing;
  readonly clock: () => number;
  /** As the clock at the start, but it never jumps: for what has been silent how long. The clock where missing. */
  readonly steady?: () => number;
  readonly log: Logger;
  /** Given certificate files; they go to every region. */
  readonly givenCertificates: () => readonly FeedCertificate[];
  /** Whether an edge key (by its hash) still opens this region. */
  readonly keyOpens: (region: string, keyHash: string) => Promise<boolean>;
  readonly timing?: Partial<FeedTiming>;
}

export interface FeedHub extends FeedPort {
  /** Reads every region from the store, once: what a command needs to tell which tunnels are served. */
  load(): Promise<void>;
  /** The same, and then keeps it up to date. */
  start(): Promise<void>;
  /**
   * Takes over an edge's connection, or ends it while the store is not read yet: the edge serves from what it has, and comes
   * again. `keyHash` is absent for an edge in this process.
   */
  accept(duplex: Duplex, options: { readonly region: string; readonly keyHash?: string }): void;
  certificatesChanged(): void;
  challengesChanged(): void;
  /**
   * Resolves when every change asked for so far is with the region's edges, or when they have had time enough. Where none is
   * connected, as when this process has just started, the first to come is waited for.
   */
  delivered(region: string): Promise<void>;
  close(): Promise<void>;
}

/** What the bus and another process need for the same. */
const otherProcessMs = 2_000;

/** Edges are heard of with each answer to a ping; two may be lost. */
const silentPings = 3;

const isoTime = (ms: number): string => new Date(ms).toISOString();

export function createFeedHub(deps: FeedHubDeps): FeedHub {
  const { store, bus, clock, log, steady = clock } = deps;
  const timing = { ...defaultTiming, ...deps.timing };
  const hubId = randomUUID();
  const feeds = new Map<string, RegionFeed>();
  const regionOfTunnel = (tunnelId: string) => [...feeds.values()].find((feed) => feed.state.has('tunnels', tunnelId));
  const board = createPresenceBoard(steady);
  const tally = createMinuteTally();
  const history = createHistory(store);
  const joiner = createReportJoiner();
  const agreement = createAgreement({ self: hubId, lateMs: timing.deliveryMs, silentMs: silentPings * timing.pingMs });
  const stops: (() => void)[] = [];
  let saving: Promise<void> = Promise.resolve();
  let closing = false;
  /** Everything was read once: before, an edge would be told that what is not read yet is gone. */
  let isWhole = false;
  let stopReconcile = (): void => {};

  const logError = (what: string) => (error: unknown) => log.error({ err: error }, what);

  /** A visitor or a client may come to any edge: a tunnel is live when it is so at all of them, whoever they are connected to. */
  const goLive = (marks: readonly LiveMark[]): void => {
    if (marks.length === 0) return;
    for (const feed of feeds.values()) feed.state.markLive(marks);
    board.touch(marks.map((mark) => mark.tunnelId));
    publish('feed.live', { marks });
    saving = saving.then(() => saveMarks(store, marks)).catch(logError('feed: acknowledged routes were not saved'));
  };

  const onHeld = (region: string, marks: readonly LiveMark[]): void => {
    publish('feed.held', { marks });
    goLive(agreement.holdHere(region, marks, steady()));
  };

  const onReport = (report: EdgeReport): void => {
    const passed = board.apply(report);
    for (const [tunnelId, traffic] of passed) tally.add(tunnelId, traffic, board.clients(tunnelId).length, clock());
    for (const part of cutReport(report, hubId)) publish('feed.report', { part });
  };

  const onHeard = (about: EdgeAbout): void => {
    agreement.hear(hubId, about, steady());
    board.hear(about);
    publish('feed.edge', { about });
    publishPeers(about.region);
  };

  const peersOf = (region: string): readonly FeedPeer[] =>
    board
      .edges()
      .filter((edge) => edge.region === region && edge.up)
      .map(({ edgeId, hopAddress = '' }) => ({ edgeId, address: hopAddress }));

  const publishPeers = (region: string): void => {
    const feed = feeds.get(region);
    feed?.publish(feed.state.replacePart('peers', peersOf(region)));
  };

  const feedOf = (region: string): RegionFeed => {
    const known = feeds.get(region);
    if (known !== undefined) return known;
    const onRefused = (name: string, why: string): void => log.warn({ region: name, why }, 'feed: an edge was refused');
    const feed = createRegionFeed({
      region,
      now: clock,
      steady,
      lateMs: timing.deliveryMs,
      onHeld: (marks) => onHeld(region, marks),
      onGone: board.forget,
      onHeard,
      onReport,
      onRefused,
    });
    feeds.set(region, feed);
    return feed;
  };

  const refresh = createRefresh({
    store,
    keyRing: deps.keyRing,
    clock,
    givenCertificates: deps.givenCertificates,
    peersOf,
    feedOf,
    feeds: () => [...feeds],
    onLive: board.touch,
    onWhole: () => {
      isWhole = true;
    },
    onError: logError('feed: the store could not be read'),
  });

  const cutDeadKeys = async (region: string): Promise<void> => {
    for (const { session, keyHash } of feeds.get(region)?.connections() ?? []) {
      if (keyHash !== undefined && !(await deps.keyOpens(region, keyHash))) session.close();
    }
  };

  /** What each subject on the bus means. Done here at once, and by the other processes when the bus brings it. */
  const news = {
    'feed.tunnels': ({ ids }: { ids: readonly string[] }) => {
      board.touch(ids);
      refresh.tunnels(ids);
    },
    'feed.everything': (_: object) => refresh.everything(),
    'feed.challenges': (_: object) => refresh.challenges(),
    'feed.region': ({ region }: { region: string }) => {
      refresh.everything();
      cutDeadKeys(region).catch(logError('feed: edge keys could not be read'));
    },
    'feed.held': ({ from = '', marks }: { from?: string; marks: readonly LiveMark[] }) =>
      goLive(agreement.holdElsewhere(from, marks, steady())),
    'feed.live': ({ marks }: { marks: readonly LiveMark[] }) => {
      agreement.settle(marks);
      for (const feed of feeds.values()) feed.state.markLive(marks);
      board.touch(marks.map((mark) => mark.tunnelId));
    },
    'feed.edge': ({ from = '', about }: { from?: string; about: EdgeAbout }) => {
      agreement.hear(from, about, steady());
      board.hear(about);
      publishPeers(about.region);
    },
    'feed.report': ({ part }: { part: unknown }) => {
      const report = joiner.take(part);
      if (report !== undefined) board.apply(report);
    },
  };
  type News = typeof news;

  const publish = <S extends keyof News>(subject: S, message: Parameters<News[S]>[0]): void =>
    bus.publish(subject, { from: hubId, ...message });

  const tell = <S extends keyof News>(subject: S, message: Parameters<News[S]>[0]): void => {
    (news[subject] as (message: unknown) => void)(message);
    publish(subject, message);
  };

  const listen = (): void => {
    for (const [subject, take] of Object.entries(news)) {
      const hear = (message: unknown): void => {
        const from = (message as { from?: unknown } | null)?.from;
        if (typeof from === 'string' && from !== hubId) (take as (message: unknown) => void)(message);
      };
      stops.push(bus.subscribe(subject, hear));
    }
  };

  /** A database that is away for a while leaves no hole in the charts. */
  const writeMinutes = async (ending: boolean): Promise<void> => {
    for (let some = tally.take(clock(), ending); some.length > 0; some = tally.take(clock(), ending)) {
      await history.write(some).catch((error) => {
        tally.putBack(some);
        throw error;
      });
    }
  };

  const flush = async (ending: boolean): Promise<void> => {
    await writeMinutes(ending);
    const known = edges();
    if (known.length > 0) await noteEdges(store.db, known, clock());
    if (!ending) await history.prune(clock());
  };

  const beat = (): void => {
    board.sweep();
    goLive(agreement.overdue(steady()));
    for (const [region, feed] of feeds) {
      feed.beat(timing.silenceMs);
      publishPeers(region);
      cutDeadKeys(region).catch(logError('feed: edge keys could not be read'));
    }
  };

  const every = (ms: number, run: () => void): void => {
    const timer = setInterval(run, ms);
    stops.push(() => clearInterval(timer));
  };

  const reconcileLater = (delayMs: number): void => {
    const timer = setTimeout(async () => {
      const start = steady();
      await load();
      if (!closing) reconcileLater(reconcilePauseMs(steady() - start, timing.reconcileMs));
    }, delayMs);
    stopReconcile = () => clearTimeout(timer);
  };

  const load = async (): Promise<void> => {
    refresh.everything();
    await refresh.idle();
  };

  const start = async (): Promise<void> => {
    listen();
    await load();
    reconcileLater(timing.reconcileMs);
    every(timing.pingMs, beat);
    every(timing.flushMs, () => void flush(false).catch(logError('feed: the minute history was not written')));
  };

  const accept: FeedHub['accept'] = (duplex, { region, keyHash }) => {
    if (!isWhole) {
      duplex.destroy();
      return;
    }
    const feed = feedOf(region);
    const stream = createControlFeed(duplex);
    const session = feed.open({ send: (message) => void stream.send(message), close: () => stream.destroy() }, keyHash);
    stream.onMessage = (message) => session.receive(message);
    stream.onClose = (error) => {
      feed.closed(session);
      log.info({ region, edge: session.edgeId(), why: error?.message }, 'feed: an edge is gone');
    };
  };

  const close = async (): Promise<void> => {
    closing = true;
    stopReconcile();
    for (const stop of stops.splice(0)) stop();
    for (const feed of feeds.values()) for (const { session } of feed.connections()) session.close();
    await refresh.idle();
    await flush(true).catch(logError('feed: the minute history was not written'));
    await saving;
  };

  const delivered = async (region: string): Promise<void> => {
    await refresh.idle();
    const feed = feeds.get(region);
    const here = (feed?.connections().length ?? 0) > 0;
    const elsewhere = board.edges().some((edge) => edge.region === region && edge.up);
    if (here || !elsewhere) await feed?.acknowledged(timing.deliveryMs);
    else await sleep(otherProcessMs);
  };

  const clients = (tunnelId: string): readonly ConnectedClient[] =>
    board.clients(tunnelId).map(({ client, edgeId }) => ({
      id: client.id,
      address: client.address,
      version: client.version,
      since: isoTime(client.sinceMs),
      edge: edgeId,
      rttMs: client.rttMs,
      healthy: client.healthy,
    }));

  /** A reading of the steady clock as the clock would tell it now. */
  const byClock = (steadyMs: number): number => steadyMs + clock() - steady();

  const edges = (): readonly EdgeHealth[] =>
    board.edges().map((edge) => ({
      id: edge.edgeId,
      region: edge.region,
      version: edge.software,
      connected: edge.up,
      since: isoTime(byClock(edge.connectedAtMs)),
      lastSeenAt: isoTime(byClock(edge.heardAtMs)),
      acknowledged: edge.acknowledged,
      clients: edge.clients,
    }));

  return {
    load,
    start,
    accept,
    tunnelsChanged: (ids) => tell('feed.tunnels', { ids }),
    regionChanged: (region) => tell('feed.region', { region }),
    certificatesChanged: () => tell('feed.everything', {}),
    challengesChanged: () => tell('feed.challenges', {}),
    isServing: (tunnelId) => regionOfTunnel(tunnelId)?.state.isLive(tunnelId) ?? false,
    clients,
    metrics: board.rates,
    history: (tunnelId, range) => history.read(tunnelId, range, clock()),
    edges,
    onMoved: board.watch,
    delivered,
    close,
  };
}
