// A worker of an edge: a process of its own with one EdgeProcess, started and fed by the primary.

import type { SendHandle } from 'node:child_process';
import { connect } from 'node:net';
import { countBuffersWithHeap } from '@underpass/runtime/heap.ts';
import { pino } from 'pino';
import type { SocketHandle } from '../door/listen.ts';
import { EdgeProcess } from '../process/edge-process.ts';
import { createLogOutput } from '../process/log-output.ts';
import type { FromWorker, ToWorker, WorkerStart } from './worker-message.ts';

const statsEveryMs = 1_000;
let edge: EdgeProcess | null = null;
let siblingPaths: readonly string[] = [];
let hasControl = true;
let index = 0;

/** Ignores failures: 'disconnect' tells that the primary has gone. */
const say = (message: FromWorker, handle?: SocketHandle): void =>
  void process.send?.(message, handle as SendHandle | undefined, undefined, () => {});

async function start({ edge: options, name, edgeId, feedPath, ticketKeys, logLevel, ...own }: WorkerStart): Promise<void> {
  siblingPaths = own.siblingPaths;
  index = own.index;
  const { socketPath, isRestart } = own;
  edge = await EdgeProcess.start({
    ...options,
    edgeId,
    reportAs: name,
    siblings: { socketPath, siblingPaths: () => siblingPaths, isRestart },
    ticketKeys: Buffer.from(ticketKeys, 'base64'),
    feed: async () => connect({ path: feedPath }),
    snapshot: null,
    onSocket: (socketName, handle) => {
      // Those of the start are said below.
      if (edge !== null) say({ type: handle === null ? 'socket-closed' : 'socket', name: socketName }, handle ?? undefined);
    },
    // Standard output is reserved for what the start command prints.
    log: pino({ level: logLevel }, createLogOutput()).child({ worker: name }),
  });
  edge.hasControl = hasControl;
  // First, so that a primary that ends this worker once it listens holds all its sockets and can close them.
  for (const { name: socketName, handle } of edge.sockets()) say({ type: 'socket', name: socketName }, handle);
  say({ type: 'listening', ready: edge.ready, ...edge.ports });
  const running = edge;
  setInterval(() => say({ type: 'stats', stats: running.stats(), ready: running.ready }), statsEveryMs);
}

async function receive(message: ToWorker): Promise<void> {
  if (message.type === 'siblings') {
    siblingPaths = message.paths;
    edge?.siblingsChanged();
  } else if (message.type === 'control') {
    hasControl = message.present;
    if (edge !== null) edge.hasControl = hasControl;
  } else if (message.type === 'ticket-keys') edge?.setTicketKeys(Buffer.from(message.keys, 'base64'));
  else if (message.type === 'drain' || message.type === 'leave') {
    await (message.type === 'drain' ? edge?.drain(message.graceMs) : edge?.leave(message.graceMs, index));
    say({ type: 'drained' });
  } else {
    await start(message).catch((error: NodeJS.ErrnoException) => {
      say({ type: 'failed', code: error.code ?? 'internal', message: error.message });
    });
  }
}

countBuffersWithHeap();
process.on('message', (message) => void receive(message as ToWorker));
// The primary decides when workers end, so signals are ignored. Without the primary there is nothing to serve.
process.on('disconnect', () => process.exit(0));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
say({ type: 'loaded' });
