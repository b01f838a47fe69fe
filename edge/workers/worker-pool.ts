// The primary of an edge with several workers: starts and restarts them, tells each of the others, and adds up their figures.

import { rm } from 'node:fs/promises';
import { createTicketKeys, ticketKeysMs } from '../door/ticket-keys.ts';
import { type FeedLink, feedSilentMs } from '../feed/feed-link.ts';
import { type EdgeStats, pastOf, sumStats } from '../metrics/stats.ts';
import type { EdgePorts } from '../process/edge-options.ts';
import { closePrimaryFeed, createFeedLink, openPrimaryFeed, type PrimaryFeed } from './primary-feed.ts';
import type { FromWorker } from './worker-message.ts';
import { drainWorker, endWorker, startWorker, tell, type Worker, type WorkerOptions } from './worker-process.ts';

const tickMs = 1_000;
/** A worker that is silent for this long hangs and is killed: its clients have left it by then (wire/keep-alive.ts). */
const hungTicks = 15;

/** A worker that ended is started again after this long. */
const restartMs = 500;

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

  private constructor(
    options: WorkerOptions,
    primary: PrimaryFeed,
    feedLink: FeedLink,
    ticketKeys: Buffer,
    { worker, ports }: { readonly worker: Worker; readonly ports: EdgePorts },
  ) {
    this.#options = options;
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
    const first = await startWorker(options, { folder, ticketKeys, siblingPaths: [], isRestart }, 0, {
      https: options.https,
      http: options.http,
      hop: options.hop?.listen,
    }).catch((error) => closePrimaryFeed(primary).then(() => Promise.reject(error)));
    const feedLink = createFeedLink(options, primary, held?.position ?? null);
    onReport = (tunnelIds) => feedLink.presenceChanged(tunnelIds);
    const pool = new WorkerPool(options, primary, feedLink, ticketKeys, first);
    const others = Array.from({ length: options.workers - 1 }, (_, i) => pool.#launch(i + 1, isRestart));
    await Promise.all(others).catch((error) => pool.close().then(() => Promise.reject(error)));
    return pool;
  }

  async #launch(index: number, isRestart: boolean): Promise<void> {
    const { https, http, hop } = this.#options;
    const siblingPaths = [...this.#workers.values()].map(({ socketPath }) => socketPath);
    const shared = { folder: this.#primary.folder, ticketKeys: this.#ticketKeys, siblingPaths, isRestart };
    const listens = {
      https: { ...https, port: this.ports.https },
      http: { ...http, port: this.ports.http },
      hop: hop === undefined ? undefined : { ...hop.listen, port: this.ports.hop ?? hop.listen.port },
    };
    const { worker } = await startWorker(this.#options, shared, index, listens);
    if (this.#ending) worker.child.kill('SIGKILL');
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
    for (const { index, child } of this.#workers.values()) {
      const others = [...this.#workers.values()].filter((other) => other.index !== index);
      tell(child, { type: 'siblings', paths: others.map(({ socketPath }) => socketPath) });
    }
  }

  #lost(worker: Worker, code: number | null, signal: string | null): void {
    this.#workers.delete(worker.index);
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

  get feedConnected(): boolean {
    return this.#feedLink.connected;
  }

  /** From the workers' last messages, at most a second old. */
  stats(): EdgeStats {
    return sumStats([this.#past, ...[...this.#workers.values()].flatMap(({ stats }) => stats ?? [])]);
  }

  async drain(graceMs: number): Promise<void> {
    this.#ending = true;
    await Promise.all([...this.#workers.values()].map(({ child }) => drainWorker(child, graceMs)));
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
