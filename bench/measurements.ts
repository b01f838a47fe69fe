// The measurements: each runs one workload on a running peer and returns the values of its columns.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Column } from './core/table.ts';
import type { Peer, Running } from './peers/peer.ts';
import { cpuSeconds, firstJson, residentBytes, type Started, start } from './peers/processes.ts';

export interface Measurement {
  readonly key: string;
  columns(carries: Peer['carries']): readonly Column[];
  run(on: { running: Running; host: string; seconds: number }): Promise<Record<string, number>>;
}

export type On = Parameters<Measurement['run']>[0];

const idleWebSockets = 5000;
/**
 * An edge of ours collects its heap and returns memory in the first seconds after thousands have connected
 * (runtime/memory-reclaim.ts).
 */
const idleRestMs = 5_000;
const bulkBytes = 768 * 1024 * 1024;
/** V8 compiles our code while the first gigabyte passes: until then a gigabyte takes up to 1.5 times the CPU (results.md). */
const bulkWarmBytes = 2 * bulkBytes;
/**
 * Real servers run for days, so the path is warmed up first. A number of requests, because a busy machine does little in a
 * second.
 */
const warmExchanges = 30_000;
const warmAtMostMs = 20_000;

interface Counted {
  readonly count: number;
  readonly seconds: number;
  readonly p50: number;
}
interface Moved {
  readonly bytes: number;
  readonly seconds: number;
}

export function load(on: On, workload: string, more: { connections: number; bytes?: number }): Started {
  const { address = '127.0.0.1', port, tls, cookieFile } = on.running;
  const target = { host: on.host, address, port, tls, cookieFile, seconds: on.seconds, bytes: 0, ...more };
  return start(process.execPath, [join(import.meta.dirname, 'load.ts'), workload, JSON.stringify(target)]);
}

/**
 * Runs the workload to warm up the path, for 1 s or `warmBytes`, then in full, and measures the CPU time that the peer used for
 * it.
 */
async function accounted<T>(
  on: On,
  workload: string,
  { warmBytes = 0, ...more }: { connections: number; bytes?: number; warmBytes?: number },
): Promise<{ result: T; cpu: number }> {
  await firstJson(load({ ...on, seconds: 1 }, workload, { ...more, bytes: warmBytes }), 120_000);
  const before = cpuSeconds(pidsOf(on.running));
  const result = await firstJson<T>(load(on, workload, more), 120_000);
  return { result, cpu: cpuSeconds(pidsOf(on.running)) - before };
}

async function warmUp(on: On): Promise<void> {
  const endsAt = performance.now() + warmAtMostMs;
  for (let done = 0; done < warmExchanges && performance.now() < endsAt; ) {
    const { count } = await firstJson<Counted>(load({ ...on, seconds: 2 }, 'small', { connections: 64 }), 60_000);
    done += count;
  }
}

export function pidsOf({ edgeSide, clientSide }: Running): number[] {
  return [...edgeSide, ...clientSide].map((started) => started.pid);
}

const column = (name: string, unit: string, better: Column['better'], bound?: number): Column =>
  bound === undefined ? { name, unit, better } : { name, unit, better, bound };

/** Only https has bounds to hold, because there both chains do the same work. */
const bounded = (carries: Peer['carries'], ...[name, unit, better, bound]: Required<Parameters<typeof column>>): Column =>
  column(name, unit, better, carries === 'https' ? bound : undefined);

const small: Measurement = {
  key: 'small',
  columns: (carries) => [
    bounded(carries, 'small requests', 'requests/s, 64 connections', 'more', 1.2),
    bounded(carries, 'CPU per small request', 'µs, edge + client', 'less', 0.6),
  ],
  run: async (on) => {
    await warmUp(on);
    const { result, cpu } = await accounted<Counted>(on, 'small', { connections: 64 });
    return { 'small requests': result.count / result.seconds, 'CPU per small request': (cpu / result.count) * 1e6 };
  },
};

const latency: Measurement = {
  key: 'latency',
  columns: (carries) => [bounded(carries, 'latency', 'µs p50, one connection', 'less', 1.1)],
  run: async (on) => {
    await warmUp(on);
    const { result } = await accounted<Counted>(on, 'latency', { connections: 1 });
    return { latency: result.p50 * 1000 };
  },
};

const connect: Measurement = {
  key: 'connect',
  columns: (carries) => [
    bounded(carries, 'new connections', 'connections/s, 32 at once', 'more', 0.9),
    column('CPU per new connection', 'µs, edge + client', 'less'),
  ],
  run: async (on) => {
    const { result, cpu } = await accounted<Counted>(on, 'connect', { connections: 32 });
    return { 'new connections': result.count / result.seconds, 'CPU per new connection': (cpu / result.count) * 1e6 };
  },
};

const bulkWays = [
  { workload: 'down', streams: 1 },
  { workload: 'up', streams: 1 },
  { workload: 'down', streams: 8 },
  { workload: 'up', streams: 8 },
];

const bulk: Measurement = {
  key: 'bulk',
  columns: (carries) =>
    bulkWays.flatMap(({ workload, streams }) => [
      column(`bulk ${workload}, ${streams} streams`, 'MB/s', 'more'),
      bounded(carries, `CPU per GB ${workload}, ${streams} streams`, 's/GB, edge + client', 'less', 0.8),
    ]),
  run: async (on) => {
    const found: Record<string, number> = {};
    for (const { workload, streams } of bulkWays) {
      const each = { connections: streams, bytes: bulkBytes / streams, warmBytes: bulkWarmBytes / streams };
      const { result, cpu } = await accounted<Moved>(on, workload, each);
      found[`bulk ${workload}, ${streams} streams`] = result.bytes / 1e6 / result.seconds;
      found[`CPU per GB ${workload}, ${streams} streams`] = cpu / (result.bytes / 1e9);
    }
    return found;
  },
};

/** WebSockets that have been idle for some seconds. */
export async function openIdle(on: On, connections: number): Promise<Started> {
  const visitors = load(on, 'idle', { connections });
  await firstJson(visitors, 120_000);
  await sleep(idleRestMs);
  return visitors;
}

const idle: Measurement = {
  key: 'idle',
  columns: () => [column('idle WebSocket, edge', 'kB each', 'less'), column('idle WebSocket, client', 'kB each', 'less')],
  run: async (on) => {
    const sides = { edge: on.running.edgeSide, client: on.running.clientSide };
    const resident = () => ({
      edge: residentBytes(sides.edge.map((s) => s.pid)),
      client: residentBytes(sides.client.map((s) => s.pid)),
    });
    await on.running.settle?.();
    const before = resident();
    const visitors = await openIdle(on, idleWebSockets);
    const after = resident();
    await visitors.stop();
    const each = (side: 'edge' | 'client') => (after[side] - before[side]) / 1000 / idleWebSockets;
    return { 'idle WebSocket, edge': each('edge'), 'idle WebSocket, client': each('client') };
  },
};

const stalled: Measurement = {
  key: 'stalled',
  columns: () => [column('beside a stalled reader', 'MB/s, one stream down', 'more')],
  run: async (on) => {
    const { result } = await accounted<Moved>(on, 'stalled', { connections: 1, bytes: bulkBytes / 2, warmBytes: bulkBytes / 16 });
    return { 'beside a stalled reader': result.bytes / 1e6 / result.seconds };
  },
};

/** Idle memory comes first, because it needs fresh processes. */
export const measurements: readonly Measurement[] = [idle, small, latency, connect, bulk, stalled];
