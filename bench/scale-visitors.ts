// One edge with thousands of visitors' WebSockets, idle and with messages: on one tunnel, and spread over two hundred.
// The clients are light ones that answer by themselves (tests/helpers/herd-program.ts), so the figures are those of the edge.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { openSqliteStore } from '@underpass/control/platform/store/sqlite.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { startHerd } from '@underpass/tests/helpers/herd.ts';
import { keepVisiting } from '@underpass/tests/helpers/load.ts';
import type { StartedRegion } from '@underpass/tests/helpers/region.ts';
import {
  cpuSeconds,
  type FigureRow,
  hashOf,
  measureEach,
  percentiles,
  rssMb,
  seed,
  sleep,
  startVisited,
  tallied,
  tokenOf,
} from './scale-region.ts';

/** A client takes 16,384 streams, and an edge process 64 clients of one tunnel. */
const clientsOfOne = 4;
const spreadOver = 200;
/** Visitors of one process of an edge: seven tenths of 20,000 descriptors, a usual limit. More get more processes. */
const mostOfProcess = 14_000;
const processes = 2;
const openWithinMs = 120_000;
const partMs = 10_000;

export interface VisitorsPart {
  readonly port: number;
  readonly hosts: readonly string[];
  readonly caPem: string;
  readonly from: number;
  readonly to: number;
}

export interface VisitorsStatus {
  readonly open: number;
  readonly failed: number;
  /** Round trips of the messages since the last status. */
  readonly roundTripsMs: readonly number[];
}

export const measureVisitors = (sizes: readonly number[]): Promise<void> =>
  measureEach(
    sizes.flatMap((size) => [
      [size, 1],
      [size, spreadOver],
    ]),
    ([size = 0, tunnels = 0]) => `${size} visitors, ${tunnels === 1 ? 'one tunnel' : `${tunnels} tunnels`}`,
    (t, [size = 0, tunnels = 0]) => measureOpen(t, size, tunnels),
  );

async function measureOpen(t: TestContext, size: number, tunnels: number): Promise<readonly FigureRow[]> {
  const { port, region, edge, door } = await startVisited(t, Math.ceil(size / mostOfProcess));
  await region.control.end('SIGTERM');
  await seed(region.home, tunnels);
  await region.restartControl();
  const tokens = Array.from({ length: tunnels }, (_, index) => tokenOf(index));
  const clients = Math.max(clientsOfOne, tunnels);
  const herd = startHerd(t, { port, host: 'eu.localhost', caPem: region.caPem, tokens, answers: true }, clients);
  await eventually(herd.status, ({ held }) => held === clients, openWithinMs);
  const hosts = await readHosts(region, tunnels);
  await sleep(partMs / 5);
  const bareMb = rssMb(edge.process);
  const visitors = startVisitors(t, { port, hosts, caPem: region.caPem }, size);
  const beganMs = performance.now();
  const cpuBefore = cpuSeconds(edge.process);
  const { open, failed } = await eventually(
    visitors.status,
    (now) => now.open + now.failed >= size || performance.now() - beganMs > openWithinMs,
    openWithinMs * 2,
  );
  const openMs = performance.now() - beganMs;
  const openCpuMs = ((cpuSeconds(edge.process) - cpuBefore) * 1_000) / Math.max(open, 1);
  await sleep(partMs / 2);
  const eachKb = ((rssMb(edge.process) - bareMb) * 1_000) / Math.max(open, 1);
  const idle = await during(() => cpuSeconds(edge.process));
  const others = keepVisiting(t, door, { pauseMs: 5 });
  await sleep(partMs);
  const besideIdle = others.take();
  await others.stop();
  visitors.tell('active');
  await sleep(partMs / 5);
  await visitors.status();
  const active = await during(() => cpuSeconds(edge.process));
  const { roundTripsMs, open: stillOpen } = await visitors.status();
  const more = keepVisiting(t, door, { pauseMs: 5 });
  await sleep(partMs);
  const besideActive = await more.stop();
  const share = (cpu: number): string => `${(cpu * 100).toFixed(0)} % of a core`;
  return [
    ['open', `${open} in ${(openMs / 1_000).toFixed(0)} s, failed ${failed}; at the end ${stillOpen}`],
    ['CPU of the edge to open one', `${openCpuMs.toFixed(2)} ms`],
    ['memory of the edge for each', `${eachKb.toFixed(0)} kB`],
    ['idle: CPU of the edge', share(idle)],
    ['idle: new visits beside them', tallied(besideIdle)],
    ['active: CPU of the edge', `${share(active)}, ${Math.round((roundTripsMs.length * 1_000) / partMs)} messages/s`],
    ['active: a message and its answer', percentiles([...roundTripsMs])],
    ['active: new visits beside them', tallied(besideActive)],
  ];
}

/** CPU seconds for each second. */
async function during(cpu: () => number): Promise<number> {
  const before = cpu();
  await sleep(partMs);
  return (cpu() - before) / (partMs / 1_000);
}

async function readHosts(region: StartedRegion, tunnels: number): Promise<readonly string[]> {
  const store = await openSqliteStore(join(region.home, 'underpass.db'));
  const query = store.db.selectFrom('tunnel_tokens as k').innerJoin('tunnel_hosts as h', 'h.tunnel_id', 'k.tunnel_id');
  const rows = await query.select(['h.host', 'k.token_hash']).execute();
  await store.close();
  const byHash = new Map(rows.map((row) => [row.token_hash, row.host]));
  return Array.from({ length: tunnels }, (_, index) => byHash.get(hashOf(tokenOf(index))) ?? '');
}

function startVisitors(t: TestContext, target: Omit<VisitorsPart, 'from' | 'to'>, size: number) {
  const children = Array.from({ length: processes }, (_, index) => {
    const child = fork(join(import.meta.dirname, 'scale-visitors-program.ts'));
    const part: VisitorsPart = { ...target, from: (size * index) / processes, to: (size * (index + 1)) / processes };
    child.send(part);
    return child;
  });
  t.after(() => {
    for (const child of children) child.kill('SIGKILL');
  });
  return {
    tell: (word: 'active'): void => {
      for (const child of children) child.send(word);
    },
    status: async (): Promise<VisitorsStatus> => {
      const all = await Promise.all(children.map(ask));
      return {
        open: all.reduce((sum, each) => sum + each.open, 0),
        failed: all.reduce((sum, each) => sum + each.failed, 0),
        roundTripsMs: all.flatMap((each) => each.roundTripsMs),
      };
    },
  };
}

async function ask(child: ChildProcess): Promise<VisitorsStatus> {
  const answered = once(child, 'message');
  child.send('status');
  return (await answered)[0] as VisitorsStatus;
}
