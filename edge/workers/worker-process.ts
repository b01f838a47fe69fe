// One worker as its primary sees it: a process to start, to speak to, to drain and to end.

import { type ChildProcess, fork } from 'node:child_process';
import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { takeSpareTime } from '@underpass/runtime/spare-time.ts';
import type { InheritedSockets } from '../door/inherited-sockets.ts';
import type { Listen, NamedSocket, SocketHandle } from '../door/listen.ts';
import type { EdgeStats } from '../metrics/stats.ts';
import type { EdgePorts, EdgeProcessOptions } from '../process/edge-options.ts';
import { feedPathIn } from './primary-feed.ts';
import { type FromWorker, type SharedOptions, sharedOptions, type ToWorker, type WorkerStart } from './worker-message.ts';

export type WorkerOptions = Omit<EdgeProcessOptions, 'siblings' | 'ticketKeys'> & {
  readonly inherited?: InheritedSockets | undefined;
};

export interface Worker {
  readonly index: number;
  readonly name: string;
  readonly child: ChildProcess;
  readonly socketPath: string;
  /** The worker's listening sockets, held open here too, so that a successor can go on with them. */
  readonly sockets: NamedSocket[];
  stats: EdgeStats | null;
  /** True once the worker has routes, and knows which clients the others have. */
  ready: boolean;
  /** Ticks since its last message; it sends one each second. Not a time: a primary that was itself paused has read none. */
  silentTicks: number;
}

/** The number after standard input, output and error, and the process channel. */
const firstPassedFd = 4;
const startMs = 20_000;
/** Extra time after a drain, and for a worker to end before it is killed. */
const lateMs = 2_000;

/** What the primary knows when a worker starts. */
interface Circumstances extends Pick<WorkerStart, 'siblingPaths' | 'isRestart'> {
  readonly folder: string;
  readonly ticketKeys: Buffer;
}

export interface Listens {
  readonly https: Listen;
  readonly http: Listen;
  readonly hop: Listen | undefined;
  /** Descriptors of public ports of tcp tunnels, by socketKey. */
  readonly ports: Readonly<Record<string, number>>;
}

export async function startWorker(
  options: WorkerOptions,
  { folder, ticketKeys, siblingPaths, isRestart }: Circumstances,
  index: number,
  { https, http, hop, ports: tcpSockets }: Listens,
): Promise<{ worker: Worker; ports: EdgePorts }> {
  const { log, edgeId, elderPaths = [] } = options;
  const passed = [...[https, http, hop].flatMap((where) => where?.fd ?? []), ...Object.values(tcpSockets)];
  const child = fork(join(import.meta.dirname, 'worker.ts'), {
    serialization: 'json',
    stdio: ['inherit', 'inherit', 'inherit', 'ipc', ...passed],
  });
  for (const fd of passed) closeSync(fd);
  // Until then, the process before this one serves.
  const endSpareTime = elderPaths.length > 0 ? takeSpareTime(child.pid) : () => {};
  const there = (where: Listen): Listen =>
    where.fd === undefined ? where : { ...where, fd: firstPassedFd + passed.indexOf(where.fd) };
  const sockets: NamedSocket[] = [];
  child.on('message', (message: FromWorker, handle: unknown) => {
    if (message.type === 'loaded') endSpareTime();
    if (message.type === 'socket' && handle) sockets.push({ name: message.name, handle: handle as SocketHandle });
    if (message.type === 'socket-closed') closeSocket(sockets, message.name);
  });
  const name = `${edgeId}/${index}/${child.pid}`;
  const socketPath = join(folder, `worker-${index}-${child.pid}`);
  const edge: WorkerStart['edge'] = {
    ...(Object.fromEntries(sharedOptions.map((name) => [name, options[name]])) as unknown as SharedOptions),
    https: there(https),
    http: there(http),
    inheritedPorts: Object.fromEntries(Object.entries(tcpSockets).map(([key, fd]) => [key, firstPassedFd + passed.indexOf(fd)])),
    hop: options.hop === undefined || hop === undefined ? undefined : { ...options.hop, listen: there(hop) },
  };
  const feedPath = feedPathIn(folder);
  const started = whenListening(child);
  tell(child, {
    type: 'start',
    edge,
    name,
    index,
    edgeId,
    feedPath,
    socketPath,
    siblingPaths,
    isRestart,
    ticketKeys: ticketKeys.toString('base64'),
    logLevel: log.level,
  });
  const { ready, ...ports } = await started.catch((error) => {
    // Held here, they would stay open, and the kernel would give them connections.
    for (const { handle } of sockets) handle.close();
    throw error;
  });
  return { worker: { index, name, child, socketPath, sockets, stats: null, ready, silentTicks: 0 }, ports };
}

/** Held here, it would stay open, and the kernel would give it connections. */
function closeSocket(sockets: NamedSocket[], name: string): void {
  const at = sockets.findIndex((socket) => socket.name === name);
  if (at >= 0) for (const { handle } of sockets.splice(at, 1)) handle.close();
}

function whenListening(child: ChildProcess): Promise<EdgePorts & { readonly ready: boolean }> {
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
    child.on('message', function hear(message: FromWorker) {
      if (message.type === 'loaded' || message.type === 'socket') return;
      child.off('exit', ended).off('message', hear);
      if (message.type === 'failed') fail(Object.assign(new Error(message.message), { code: message.code }));
      else if (message.type === 'listening') {
        clearTimeout(timer);
        resolve(message);
      }
    });
  });
}

export function tell(child: ChildProcess, message: ToWorker): void {
  // A worker that is ending takes no more messages; #lost handles its exit.
  if (child.connected) child.send(message, () => {});
}

export async function drainWorker(child: ChildProcess, type: 'drain' | 'leave', graceMs: number): Promise<void> {
  const drained = new Promise<void>((resolve) => {
    const late = setTimeout(resolve, graceMs + lateMs);
    const done = (): void => {
      clearTimeout(late);
      resolve();
    };
    child.on('message', (message: FromWorker) => message.type === 'drained' && done());
    child.once('exit', done);
  });
  tell(child, { type, graceMs });
  await drained;
}

export async function endWorker(child: ChildProcess): Promise<void> {
  const ended = new Promise<void>((resolve) => void child.once('exit', () => resolve()));
  const late = setTimeout(() => child.kill('SIGKILL'), lateMs);
  if (child.connected) child.disconnect();
  await ended;
  clearTimeout(late);
}
