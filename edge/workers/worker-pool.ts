// The primary of an edge with several workers: starts and restarts them, tells each of the others, and adds up their figures.

import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { FeedPortProblems } from '@underpass/wire/feed/feed.ts';
import type { NamedSocket } from '../door/listen.ts';
import { createTicketKeys, ticketKeysMs } from '../door/ticket-keys.ts';
import { type FeedLink, type FeedStanding, feedSilentMs } from '../feed/feed-link.ts';
import { type EdgeStats, pastOf, sumStats } from '../metrics/stats.ts';
import type { EdgePorts } from '../process/edge-options.ts';
import { firstStateMs } from '../process/edge-process.ts';
import { closePrimaryFeed, createFeedLink, openPrimaryFeed, type PrimaryFeed } from './primary-feed.ts';
import type { FromWorker } from './worker-message.ts';
import { drainWorker, endWorker, type Listens, startWorker, tell, type Worker, type WorkerOptions } from './worker-process.ts';

const tickMs = 1_000;
/** A worker that is silent for this long hangs and is killed: its clients have left it by then (wire/session/keep-alive.ts). */
const hungTicks = 15;

/** A worker that ended is started again after this long. */
const restartMs = 500;
/** What a worker wrote to its socket arrives within this. */
const lastWordsMs = 100;

const takeSockets = ({ inherited }: WorkerOptions, { https, http, hop }: Omit<Listens, 'ports'>): Listens => ({
  https: inherited?.take('https', https) ?? https,
  http: inherited?.take('http', http) ?? http,
  hop: hop === undefined ? undefined : (inherited?.take('hop', hop) ?? hop),
  ports: inherited?.takeEach('tcp') ?? {},
});

function closeSockets(workers: readonly Worker[]): void {
  for (const { sockets } of workers) for (const { handle } of sockets.splice(0)) handle.close();
}

/** Ends a worker that came up too late. Its listening sockets would stay open here, and the kernel would give them connections. */
async function discard(worker: Worker): Promise<void> {
  closeSockets([worker]);
  worker.child.kill('SIGKILL');
  await rm(worker.socketPath, { force: true });
}

export class WorkerPool {
  readonly ports: EdgePorts;
  readonly #options: WorkerOptions;
  readonly #primary: PrimaryFeed;
  readonly #feedLink: FeedLink;
  readonly #workers = new Map<number, Worker>();
  readonly #rotation: NodeJS.Timeout;
  readonly #watch: NodeJS.Timeout;
  #ticketKeys: Buffer;
  /** Counters of workers that have ended. */
  #past: EdgeStats = sumStats([]);
  #hasControl = true;
  /** The edge drains or closes: do not restart workers. */
  #ending = false;
  #elderPaths: readonly string[];

  private constructor(
    options: WorkerOptions,
    primary: PrimaryFeed,
    feedLink: FeedLink,
    ticketKeys: Buffer,
    { worker, ports }: { readonly worker: Worker; readonly ports: EdgePorts },
  ) {
    this.#options = options;
    this.#elderPaths = options.elderPaths ?? [];
    this.#primary = primary;
    this.#ticketKeys = ticketKeys;
    this.#feedLink = feedLink;
    this.ports = ports;
    this.#keep(worker);
    this.#rotation = setInterval(() => this.#rotateTicketKeys(), ticketKeysMs);
    this.#rotation.unref();
    this.#watch = setInterval(() => {
      this.#endHung();
      this.#tellControl();
    }, tickMs).unref();
  }

  static async start(options: WorkerOptions): Promise<WorkerPool> {
    let onReport = (_tunnelIds: Iterable<string>): void => {};
    const primary = await openPrimaryFeed(options, (tunnelIds) => onReport(tunnelIds));
    const held = await options.snapshot?.load();
    if (held) primary.table.applySnapshot({ type: 'snapshot', seq: held.position.seq, state: held.state });
    // If a port is 0, the first worker gets one from the system, and the others share it.
    const { folder } = primary;
    const ticketKeys = createTicketKeys();
    const isRestart = held !== null && held !== undefined;
    const { elderPaths = [] } = options;
    let portProblems = (): FeedPortProblems => ({});
    const openFeed = (): FeedLink => createFeedLink(options, primary, held?.position ?? null, () => portProblems());
    // The first worker of a successor needs the latest state: visitors come as soon as it listens.
    const early = elderPaths.length > 0 ? openFeed() : undefined;
    await early?.syncedWithin(firstStateMs);
    const shared = { folder, ticketKeys, siblingPaths: elderPaths, isRestart };
    const listens = takeSockets(options, { https: options.https, http: options.http, hop: options.hop?.listen });
    const first = await startWorker(options, shared, 0, listens).catch((error) => {
      early?.close();
      return closePrimaryFeed(primary).then(() => Promise.reject(error));
    });
    const feedLink = early ?? openFeed();
    onReport = (tunnelIds) => feedLink.presenceChanged(tunnelIds);
    const pool = new WorkerPool(options, primary, feedLink, ticketKeys, first);
    portProblems = () => pool.stats().portProblems;
    const others = Array.from({ length: options.workers - 1 }, (_, i) => pool.#launch(i + 1, isRestart));
    await Promise.all(others).catch((error) => pool.close().then(() => Promise.reject(error)));
    return pool;
  }

  async #launch(index: number, isRestart: boolean): Promise<void> {
    const { https, http, hop } = this.#options;
    const siblingPaths = [...this.#pathsBeside(index)];
    const shared = { folder: this.#primary.folder, ticketKeys: this.#ticketKeys, siblingPaths, isRestart };
    const {
      https: inheritedHttps,
      http: inheritedHttp,
      hop: inheritedHop,
      ports,
    } = takeSockets(this.#options, { https, http, hop: hop?.listen });
    const listens = {
      https: { ...inheritedHttps, port: this.ports.https },
      http: { ...inheritedHttp, port: this.ports.http },
      hop: inheritedHop === undefined ? undefined : { ...inheritedHop, port: this.ports.hop ?? inheritedHop.port },
      ports,
    };
    const { worker } = await startWorker(this.#options, shared, index, listens);
    if (this.#ending) await discard(worker);
    else this.#keep(worker);
  }

  #keep(worker: Worker): void {
    this.#workers.set(worker.index, worker);
    worker.child.on('message', (message: FromWorker) => {
      worker.silentTicks = 0;
      if (message.type === 'stats') Object.assign(worker, { stats: message.stats, ready: message.ready });
    });
    worker.child.once('exit', (code, signal) => this.#lost(worker, code, signal));
    tell(worker.child, { type: 'control', present: this.#hasControl });
    this.#introduce();
  }

  /** The feed of a worker ends here, so only the primary sees whether control is away. */
  #tellControl(): void {
    const present = this.#feedLink.awayMs < feedSilentMs;
    if (present === this.#hasControl) return;
    this.#hasControl = present;
    for (const { child } of this.#workers.values()) tell(child, { type: 'control', present });
  }

  #endHung(): void {
    for (const worker of this.#workers.values()) {
      if (++worker.silentTicks !== hungTicks) continue;
      this.#options.log.error({ worker: worker.name }, 'worker hangs; ending it');
      worker.child.kill('SIGKILL');
    }
  }

  /** Sends every worker the sockets of the others. */
  #introduce(): void {
    for (const { index, child } of this.#workers.values()) tell(child, { type: 'siblings', paths: this.#pathsBeside(index) });
  }

  #pathsBeside(index: number): readonly string[] {
    const others = [...this.#workers.values()].filter((other) => other.index !== index);
    return [...others.map(({ socketPath }) => socketPath), ...this.#elderPaths];
  }

  #lost(worker: Worker, code: number | null, signal: string | null): void {
    this.#workers.delete(worker.index);
    closeSockets([worker]);
    if (worker.stats !== null) this.#past = sumStats([this.#past, pastOf(worker.stats)]);
    this.#primary.feed.retire(worker.name);
    void rm(worker.socketPath, { force: true });
    if (this.#ending) return;
    this.#options.log.error({ worker: worker.name, code, signal }, 'worker ended; starting another');
    this.#introduce();
    setTimeout(() => void this.#relaunch(worker.index), restartMs);
  }

  async #relaunch(index: number): Promise<void> {
    if (this.#ending) return;
    try {
      await this.#launch(index, true);
    } catch (error) {
      this.#options.log.error({ worker: index, error: (error as Error).message }, 'worker does not start');
      setTimeout(() => void this.#relaunch(index), restartMs);
    }
  }

  #rotateTicketKeys(): void {
    this.#ticketKeys = createTicketKeys();
    for (const { child } of this.#workers.values())
      tell(child, { type: 'ticket-keys', keys: this.#ticketKeys.toString('base64') });
  }

  get ready(): boolean {
    const workers = [...this.#workers.values()];
    return this.#primary.table.loaded && workers.length > 0 && workers.every(({ ready }) => ready);
  }

  get feed(): FeedStanding {
    return this.#feedLink.standing;
  }

  /** The sum of the workers' last messages, at most a second old. */
  stats(): EdgeStats {
    return sumStats([this.#past, ...[...this.#workers.values()].flatMap(({ stats }) => stats ?? [])]);
  }

  /** See EdgeProcess. */
  elderLeft(): void {
    this.#elderPaths = [];
    this.#introduce();
  }

  /** See FeedLink.hold. */
  holdFeed(held: boolean): void {
    this.#feedLink.hold(held);
  }

  sockets(): NamedSocket[] {
    return this.#sorted().flatMap(({ sockets }) => sockets);
  }

  #sorted(): Worker[] {
    return [...this.#workers.values()].sort((a, b) => a.index - b.index);
  }

  /** Where a successor reaches the clients. */
  async siblingPaths(): Promise<readonly string[]> {
    return this.#sorted().map(({ socketPath }) => socketPath);
  }

  drain(graceMs: number): Promise<void> {
    return this.#endWith('drain', graceMs);
  }

  leave(graceMs: number): Promise<void> {
    return this.#endWith('leave', graceMs);
  }

  async #endWith(how: 'drain' | 'leave', graceMs: number): Promise<void> {
    this.#ending = true;
    const workers = [...this.#workers.values()];
    // A socket that is held here would stay open, and the kernel would go on giving it connections.
    closeSockets(workers);
    await Promise.all(workers.map(({ child }) => drainWorker(child, how, graceMs)));
    // What the workers sent last comes over their sockets, and may come after their word that they are done.
    await pause(lastWordsMs);
    await this.#feedLink.flush();
  }

  async close(): Promise<void> {
    this.#ending = true;
    clearInterval(this.#rotation);
    clearInterval(this.#watch);
    this.#feedLink.close();
    await Promise.all([...this.#workers.values()].map(({ child }) => endWorker(child)));
    await this.#options.snapshot?.flush();
    await closePrimaryFeed(this.#primary);
  }
}
