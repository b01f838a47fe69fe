// The edge's end of the feed: dials control, applies and acknowledges changes, sends reports, and redials when it is lost.

import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import {
  type FeedCopy,
  type FeedPortProblems,
  type FeedState,
  type FeedTunnelLog,
  type FeedTunnelReport,
  type FromEdge,
  feedVersion,
  mostPortProblems,
  type ToEdge,
} from '@underpass/wire/feed/feed.ts';
import { createEdgeFeed, type FeedStream } from '@underpass/wire/feed/feed-stream.ts';
import type { Logger } from 'pino';
import type { ReportScope } from './reporter.ts';

export interface FeedPosition {
  readonly epoch: string;
  readonly seq: number;
}

type Change = Extract<ToEdge, { type: 'snapshot' | 'delta' }>;

interface FeedLinkOptions {
  readonly dial: () => Promise<Duplex>;
  readonly edgeId: string;
  readonly region: string;
  readonly software: string;
  readonly hopAddress?: string;
  readonly startedAtMs: number;
  /** The position of the copy on disk, or null. */
  readonly position: FeedPosition | null;
  /** Applies a change. It is acknowledged once the returned promise resolves. */
  readonly apply: (change: Change, position: FeedPosition) => void | Promise<void>;
  /** Counters and clients: `all` for the first report of a connection, else only what changed, or tunnels that it takes from a set. */
  readonly report: (which: ReportScope) => readonly FeedTunnelReport[];
  /** Workers report to their primary more often than it reports to control. */
  readonly pace: keyof typeof paces;
  /** What the visitor logs gathered since the last call; asked once a second while control takes it. */
  readonly visitorLog: () => readonly FeedTunnelLog[];
  /** The state of the routes' copy on disk; missing where none is kept. */
  readonly copy?: () => FeedCopy | undefined;
  /** The public ports of tcp tunnels that are not open here. */
  readonly portProblems?: () => FeedPortProblems;
  readonly log: Logger;
  /** 0 to 1, for the jitter of redialling. */
  readonly random: () => number;
}

/**
 * Presence changes within coalesceMs are sent together. Both delays in a row are below a quarter of a second, unless more clients
 * come or go than one report names (reporter.ts).
 */
const paces = {
  control: { reportEveryMs: 5_000, coalesceMs: 200 },
  primary: { reportEveryMs: 1_000, coalesceMs: 40 },
} as const;
const firstBackoffMs = 250;
const maxBackoffMs = 15_000;
const dialMs = 10_000;
const visitorLogEveryMs = 1_000;
/**
 * Control and primary send a ping every 5 s; a feed that is silent for this long has lost three and is dead. From then on the edge
 * also sends nobody to control to sign in. A restart of control takes less.
 */
export const feedSilentMs = 15_000;
/** Room in the status: an error of a proxy can quote a page. */
const mostErrorChars = 200;
/** Silence is counted in checks, not read from a clock: a process that was stopped does not take its own pause for silence. */
const silenceCheckMs = 1_000;

export interface FeedStanding {
  readonly connected: boolean;
  /** When `connected` last changed; null if it never did. */
  readonly sinceMs: number | null;
  readonly lastError: string | null;
  /** How often it was lost after it was connected: a feed that comes back at once shows nowhere else. */
  readonly losses: number;
}

export class FeedLink {
  #standing: FeedStanding = { connected: false, sinceMs: null, lastError: null, losses: 0 };
  #heardAtMs: number = performance.now();
  /** Resolves at the first ping: the state from before the feed began has been applied by then. */
  readonly synced: Promise<void>;
  position: FeedPosition | null;
  readonly #options: FeedLinkOptions;
  #feed: FeedStream<FromEdge, ToEdge> | null = null;
  /** Pieces of an incomplete snapshot. Until it is complete, the earlier state stays in use. */
  #pieces: Partial<FeedState>[] = [];
  /** Ends with the change that is being applied: a feed that was lost during a large one must not mix it with the next. */
  #applying: Promise<void> = Promise.resolve();
  #epoch = '';
  /** Control takes reports of some tunnels alone. */
  #takesPartial = false;
  #takesVisitorLog = false;
  /** Tunnels whose clients came or went since they were last reported. Bounded by the tunnels of the region. */
  readonly #moved = new Set<string>();
  #failures = 0;
  #onSynced: () => void = () => {};
  #closed = false;
  /** Another process has this edge's feed. */
  #held = false;
  #retry: NodeJS.Timeout | undefined;
  #silentChecks = 0;
  /** A message is being applied: those behind it have not been read yet. */
  #receiving = false;
  #soon: NodeJS.Timeout | undefined;
  readonly #ticks: readonly NodeJS.Timeout[];

  get connected(): boolean {
    return this.#standing.connected;
  }

  get standing(): FeedStanding {
    return this.#standing;
  }

  constructor(options: FeedLinkOptions) {
    this.#options = options;
    this.synced = new Promise((resolve) => {
      this.#onSynced = resolve;
    });
    this.position = options.position;
    this.#ticks = [
      setInterval(() => this.#report('changed'), paces[options.pace].reportEveryMs).unref(),
      setInterval(() => this.#checkSilence(), silenceCheckMs).unref(),
      setInterval(() => this.#sendVisitorLog(), visitorLogEveryMs).unref(),
    ];
    void this.#connect();
  }

  /**
   * How long control has said nothing. It sends a ping every 5 s: a process that is stopped or hangs counts as away long before
   * its connection ends.
   */
  get awayMs(): number {
    return performance.now() - this.#heardAtMs;
  }

  /** Waits for `synced`, but not for ever: control may be away. */
  async syncedWithin(ms: number): Promise<void> {
    const over = new AbortController();
    await Promise.race([this.synced, wait(ms, undefined, { signal: over.signal }).catch(() => {})]);
    over.abort();
  }

  /** A client of these tunnels came or went: report it soon. */
  presenceChanged(tunnelIds: Iterable<string>): void {
    for (const id of tunnelIds) this.#moved.add(id);
    this.#reportSoon();
  }

  #reportSoon(): void {
    if (this.#soon !== undefined || this.#closed) return;
    this.#soon = setTimeout(() => {
      this.#soon = undefined;
      this.#report(this.#takesPartial ? this.#moved : 'changed');
    }, paces[this.#options.pace].coalesceMs);
  }

  /** Sends what the next reports would say: the edge is about to end. */
  async flush(): Promise<void> {
    this.#report('changed');
    while (this.#sendVisitorLog()) await this.#feed?.ready();
    await nextTurn();
  }

  /** Leaves the feed to another process of this edge, or takes it back: control gives an edge one feed. */
  hold(held: boolean): void {
    this.#held = held;
    clearTimeout(this.#retry);
    if (!held && this.#feed === null) void this.#connect();
    else if (held) this.#feed?.destroy();
  }

  close(): void {
    this.#closed = true;
    for (const timer of [...this.#ticks, this.#retry, this.#soon]) clearTimeout(timer);
    this.#feed?.destroy();
  }

  async #connect(): Promise<void> {
    try {
      const carrier = await inTime(this.#options.dial(), dialMs);
      if (this.#closed || this.#held) carrier.destroy();
      else this.#begin(carrier);
    } catch (error) {
      this.#lost(error as Error);
    }
  }

  #begin(carrier: Duplex): void {
    const { edgeId, region, software, startedAtMs, hopAddress } = this.#options;
    const feed = createEdgeFeed(carrier);
    this.#feed = feed;
    this.#pieces = [];
    feed.onMessage = (message) => this.#receive(feed, message);
    feed.onClose = (error) => this.#lost(error);
    feed.send({
      type: 'hello',
      version: feedVersion,
      edgeId,
      region,
      software,
      startedAtMs,
      ...(hopAddress === undefined ? {} : { hopAddress }),
      ...this.position,
    });
    this.#silentChecks = 0;
  }

  #checkSilence(): void {
    if (this.#feed === null || this.#receiving || ++this.#silentChecks * silenceCheckMs < feedSilentMs) return;
    this.#feed.destroy(new Error(`control sent nothing for ${feedSilentMs / 1000} s`));
  }

  async #receive(feed: FeedStream<FromEdge, ToEdge>, message: ToEdge): Promise<void> {
    this.#receiving = true;
    this.#heardAtMs = performance.now();
    await this.#take(feed, message).finally(() => {
      this.#receiving = false;
      this.#silentChecks = 0;
    });
  }

  async #take(feed: FeedStream<FromEdge, ToEdge>, message: ToEdge): Promise<void> {
    if (message.type === 'ping') this.#pong(feed, message.id);
    else if (message.type === 'welcome') this.#welcome(message);
    else if (message.type === 'snapshot' || message.type === 'delta') {
      const change = this.#gather(message);
      if (change !== null) await this.#apply(feed, change);
    }
  }

  #pong(feed: FeedStream<FromEdge, ToEdge>, id: number): void {
    const copy = this.#options.copy?.();
    const problems = Object.entries(this.#options.portProblems?.() ?? {}).slice(0, mostPortProblems);
    const portProblems = problems.length === 0 ? {} : { portProblems: Object.fromEntries(problems) };
    feed.send({ type: 'pong', id, ...(copy === undefined ? {} : { copy }), ...portProblems });
    // Not at the welcome: a feed that fails at the message after it would be redialled four times a second.
    this.#failures = 0;
    this.#onSynced();
  }

  /** False if there was nothing to send, or nobody takes it. */
  #sendVisitorLog(): boolean {
    if (!this.connected || this.#feed === null || !this.#takesVisitorLog) return false;
    const tunnels = this.#options.visitorLog();
    if (tunnels.length > 0) this.#feed.send({ type: 'visitor-log', tunnels });
    return tunnels.length > 0;
  }

  #welcome({
    epoch,
    version,
    region,
    takesPartial = false,
    takesVisitorLog = false,
  }: Extract<ToEdge, { type: 'welcome' }>): void {
    this.#epoch = epoch;
    this.#takesPartial = takesPartial;
    this.#takesVisitorLog = takesVisitorLog;
    this.#standing = { ...this.#standing, connected: true, sinceMs: Date.now() };
    this.#options.log.info({ region, version }, 'feed connected');
    this.#report('all');
  }

  /** Null until the last piece of a snapshot has arrived. */
  #gather(change: Change): Change | null {
    if (change.type === 'snapshot') this.#pieces = [change.state];
    else if (this.#pieces.length > 0) this.#pieces.push(change.put);
    if (change.more === true) return null;
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces.length < 2 ? change : { type: 'snapshot', seq: change.seq, state: joinPieces(pieces) };
  }

  async #apply(feed: FeedStream<FromEdge, ToEdge>, change: Change): Promise<void> {
    const epoch = this.#epoch;
    const applied = this.#applying.then(() => this.#applyNext(change, epoch));
    this.#applying = applied.catch(() => {});
    await applied;
    feed.send({ type: 'ack', seq: change.seq });
  }

  async #applyNext(change: Change, epoch: string): Promise<void> {
    const known = this.position?.epoch === epoch ? this.position.seq : -1;
    if (change.type === 'delta' && change.seq <= known) return;
    const position = { epoch, seq: change.seq };
    await this.#options.apply(change, position);
    this.position = position;
  }

  #report(which: ReportScope): void {
    if (!this.connected || this.#feed === null) return;
    const tunnels = this.#options.report(which);
    const isPart = typeof which !== 'string';
    if (!isPart) this.#moved.clear();
    else if (this.#moved.size > 0) this.#reportSoon();
    if (tunnels.length > 0) this.#feed.send({ type: 'report', atMs: Date.now(), tunnels, ...(isPart ? { partial: true } : {}) });
  }

  #lost(error: Error | null): void {
    const { connected, sinceMs, lastError, losses } = this.#standing;
    const isWanted = !this.#closed && !this.#held;
    this.#standing = {
      connected: false,
      sinceMs: connected ? Date.now() : sinceMs,
      lastError: error?.message.slice(0, mostErrorChars) ?? lastError,
      losses: connected && isWanted ? losses + 1 : losses,
    };
    this.#feed = null;
    if (!isWanted) return;
    const waitMs = nextBackoffMs(this.#failures++, this.#options.random());
    this.#options.log.warn({ error: error?.message, waitMs: Math.round(waitMs) }, 'feed lost; serving on from the last copy');
    this.#retry = setTimeout(() => void this.#connect(), waitMs);
  }
}

function joinPieces(pieces: readonly Partial<FeedState>[]): FeedState {
  return {
    tunnels: pieces.flatMap(({ tunnels = [] }) => tunnels),
    certificates: pieces.flatMap(({ certificates = [] }) => certificates),
    challenges: pieces.flatMap(({ challenges = [] }) => challenges),
    peers: pieces.flatMap(({ peers = [] }) => peers),
    ...(pieces.some(({ blocks }) => blocks !== undefined) ? { blocks: pieces.flatMap(({ blocks = [] }) => blocks) } : {}),
  };
}

/** Doubles up to a bound. The jitter keeps the edges of a region from redialling at the same time. */
export function nextBackoffMs(failures: number, random: number): number {
  return Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(failures, 10)) * (0.5 + random / 2);
}

/** Closes a connection that comes too late: control would keep an unused feed. */
async function inTime(dialled: Promise<Duplex>, ms: number): Promise<Duplex> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      dialled.then(
        (carrier) => carrier.destroy(),
        () => {},
      );
      reject(new Error(`control did not answer within ${ms} ms`));
    }, ms);
  });
  try {
    return await Promise.race([dialled, late]);
  } finally {
    clearTimeout(timer);
  }
}
