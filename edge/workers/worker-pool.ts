// The primary of an edge with several workers: starts and restarts them, passes the feed on, and adds up their figures.

import { type ChildProcess, fork } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Listen, listen } from '../door/listen.ts';
import { createTicketKeys, ticketKeysMs } from '../door/ticket-keys.ts';
import { FeedLink } from '../feed/feed-link.ts';
import { Reporter } from '../feed/reporter.ts';
import { type EdgeStats, pastOf, sumStats } from '../metrics/stats.ts';
import type { EdgePorts, EdgeProcessOptions } from '../process/edge-options.ts';
import { RouteTable } from '../routes/route-table.ts';
import { WorkerFeed } from './worker-feed.ts';
import type { FromWorker, ToWorker, WorkerStart } from './worker-message.ts';

type WorkerPoolOptions = Omit<EdgeProcessOptions, 'siblings' | 'ticketKeys'>;

interface Worker {
  readonly index: number;
  readonly name: string;
  readonly child: ChildProcess;
  readonly socketPath: string;
  stats: EdgeStats | null;
  /** Ticks since its last message; it sends one each second. Not a time: a primary that was itself paused has read none. */
  silentTicks: number;
}

const tickMs = 1_000;
/** A worker that is silent for this long hangs and is killed: its clients have given it up by then (wire/keep-alive.ts). */
const hungTicks = 15;

/** A worker that ended is started again after this long. */
const restartMs = 500;
const startMs = 20_000;
/** Extra time after a drain, and for a worker to end before it is killed. */
const lateMs = 2_000;

export class WorkerPool {
  readonly ports: EdgePorts;
  readonly #options: WorkerPoolOptions;
  readonly #parts: Parts;
  readonly #feedLink: FeedLink;
  readonly #workers = new Map<number, Worker>();
  readonly #rotation: NodeJS.Timeout;
  readonly #watch: NodeJS.Timeout;
  #ticketKeys: Buffer;
  /** Counters of workers that have ended. */
  #past: EdgeStats = sumStats([]);
  /** The edge drains or closes: do not restart workers. */
  #ending = false;

  private constructor(options: WorkerPoolOptions, parts: Parts, ports: EdgePorts, first: Worker, feedLink: FeedLink) {
    this.#options = options;
    this.#parts = parts;
    this.#ticketKeys = parts.ticketKeys;
    this.#feedLink = feedLink;
    this.ports = ports;
    this.#keep(first);
    this.#rotation = setInterval(() => this.#rotateTicketKeys(), ticketKeysMs);
    this.#rotation.unref();
    this.#watch = setInterval(() => this.#endHung(), tickMs).unref();
  }

  static async start(options: WorkerPoolOptions): Promise<WorkerPool> {
    let onReport = (): void => {};
    const parts = await openParts(options, () => onReport());
    const held = await options.snapshot?.load();
    if (held) parts.table.applySnapshot({ type: 'snapshot', seq: held.position.seq, state: held.state });
    // If a port is 0, the first worker gets one from the system, and the others share it.
    const { worker, ports } = await startWorker(options, parts, 0, {
      https: options.https,
      http: options.http,
      hop: options.hop?.listen,
    }).catch((error) => closeParts(parts).then(() => Promise.reject(error)));
    const feedLink = createFeedLink(options, parts, held?.position ?? null);
    onReport = () => feedLink.presenceChanged();
    const pool = new WorkerPool(options, parts, ports, worker, feedLink);
    const others = Array.from({ length: options.workers - 1 }, (_, i) => pool.#launch(i + 1));
    await Promise.all(others).catch((error) => pool.close().then(() => Promise.reject(error)));
    return pool;
  }

  async #launch(index: number): Promise<void> {
    const { https, http, hop } = this.#options;
    const parts = { folder: this.#parts.folder, ticketKeys: this.#ticketKeys };
    const listens = {
      https: { ...https, port: this.ports.https },
      http: { ...http, port: this.ports.http },
      hop: hop === undefined ? undefined : { ...hop.listen, port: this.ports.hop ?? hop.listen.port },
    };
    const { worker } = await startWorker(this.#options, parts, index, listens);
    if (this.#ending) worker.child.kill('SIGKILL');
    else this.#keep(worker);
  }

  #keep(worker: Worker): void {
    this.#workers.set(worker.index, worker);
    worker.child.on('message', (message: FromWorker) => {
      worker.silentTicks = 0;
      if (message.type === 'stats') worker.stats = message.stats;
    });
    worker.child.once('exit', (code, signal) => this.#lost(worker, code, signal));
    this.#introduce();
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
    this.#parts.feed.retire(worker.name);
    void rm(worker.socketPath, { force: true });
    if (this.#ending) return;
    this.#options.log.error({ worker: worker.name, code, signal }, 'worker ended; starting another');
    this.#introduce();
    setTimeout(() => void this.#relaunch(worker.index), restartMs);
  }

  async #relaunch(index: number): Promise<void> {
    if (this.#ending) return;
    try {
      await this.#launch(index);
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
    return this.#parts.table.loaded;
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
    await closeParts(this.#parts);
  }
}

interface Parts {
  readonly table: RouteTable;
  readonly feed: WorkerFeed;
  readonly feedServer: Server;
  /** Sockets of the workers; only the user of the edge may open them. */
  readonly folder: string;
  readonly ticketKeys: Buffer;
}

async function openParts(options: WorkerPoolOptions, onReport: () => void): Promise<Parts> {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-edge-'));
  await chmod(folder, 0o700);
  const table = new RouteTable(options.log);
  const feed = new WorkerFeed(table, onReport);
  const feedServer = createServer((socket) => feed.accept(socket));
  await listen(feedServer, { path: join(folder, 'feed') });
  return { table, feed, feedServer, folder, ticketKeys: createTicketKeys() };
}

async function closeParts({ feed, feedServer, folder }: Parts): Promise<void> {
  feed.close();
  feedServer.close();
  await rm(folder, { recursive: true, force: true });
}

function createFeedLink(options: WorkerPoolOptions, { table, feed }: Parts, position: FeedLink['position']): FeedLink {
  const { region, edgeId, software, hop, snapshot, log } = options;
  const reporter = new Reporter(() => feed.reports());
  return new FeedLink({
    dial: options.feed,
    edgeId,
    region,
    software,
    ...(hop === undefined ? {} : { hopAddress: hop.address }),
    startedAtMs: Date.now(),
    position,
    pace: 'control',
    apply: async (change, at) => {
      if (change.type === 'snapshot') table.applySnapshot(change);
      else table.applyDelta(change);
      snapshot?.save(() => ({ position: at, state: table.state() }));
      await feed.broadcast(change);
    },
    report: (all) => reporter.report(all),
    log,
    random: Math.random,
  });
}

interface Listens {
  readonly https: Listen;
  readonly http: Listen;
  readonly hop: Listen | undefined;
}

async function startWorker(
  options: WorkerPoolOptions,
  { folder, ticketKeys }: Pick<Parts, 'folder' | 'ticketKeys'>,
  index: number,
  { https, http, hop }: Listens,
): Promise<{ worker: Worker; ports: EdgePorts }> {
  const {
    region,
    software,
    regionHosts,
    publicHttpsPort,
    balancers,
    timeouts,
    connectionLimits,
    workers,
    log,
    edgeId,
    dashboard,
  } = options;
  const child = fork(join(import.meta.dirname, 'worker.ts'), { serialization: 'json' });
  const name = `${edgeId}/${index}/${child.pid}`;
  const socketPath = join(folder, `worker-${index}-${child.pid}`);
  const edge: WorkerStart['edge'] = {
    region,
    software,
    regionHosts,
    https,
    http,
    publicHttpsPort,
    balancers,
    timeouts,
    connectionLimits,
    workers,
    dashboard,
    hop: options.hop === undefined || hop === undefined ? undefined : { ...options.hop, listen: hop },
  };
  const feedPath = join(folder, 'feed');
  const started = whenListening(child);
  tell(child, {
    type: 'start',
    edge,
    name,
    edgeId,
    feedPath,
    socketPath,
    ticketKeys: ticketKeys.toString('base64'),
    logLevel: log.level,
  });
  return { worker: { index, name, child, socketPath, stats: null, silentTicks: 0 }, ports: await started };
}

function whenListening(child: ChildProcess): Promise<EdgePorts> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail(new Error('worker did not start in time')), startMs);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(error);
    };
    const ended = (): void => fail(new Error('worker ended before it listened'));
    child.once('exit', ended);
    // A child that could not be started emits no 'exit'.
    child.on('error', fail);
    child.once('message', (message: FromWorker) => {
      child.off('exit', ended);
      if (message.type === 'failed') fail(Object.assign(new Error(message.message), { code: message.code }));
      else if (message.type === 'listening') {
        clearTimeout(timer);
        resolve(message);
      }
    });
  });
}

function tell(child: ChildProcess, message: ToWorker): void {
  // A worker that is ending takes no more messages; #lost handles its exit.
  if (child.connected) child.send(message, () => {});
}

async function drainWorker(child: ChildProcess, graceMs: number): Promise<void> {
  const drained = new Promise<void>((resolve) => {
    const late = setTimeout(resolve, graceMs + lateMs);
    const done = (): void => {
      clearTimeout(late);
      resolve();
    };
    child.on('message', (message: FromWorker) => message.type === 'drained' && done());
    child.once('exit', done);
  });
  tell(child, { type: 'drain', graceMs });
  await drained;
}

async function endWorker(child: ChildProcess): Promise<void> {
  const ended = new Promise<void>((resolve) => void child.once('exit', () => resolve()));
  const late = setTimeout(() => child.kill('SIGKILL'), lateMs);
  if (child.connected) child.disconnect();
  await ended;
  clearTimeout(late);
}
