// One edge with thousands of clients: what each costs, and what visitors notice when the edge is killed and all come back.
// The clients are light ones (tests/helpers/herd-program.ts): TLS, protocol and back-off of the real client, one carrier each.
// They have the lowest priority: real ones run on machines of their own and do not take the processor from the edge.
import { constants, setPriority } from 'node:os';
import type { TestContext } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { type Herd, type HerdStatus, startHerd } from '@underpass/tests/helpers/herd.ts';
import { keepVisiting } from '@underpass/tests/helpers/load.ts';
import { visitUntil } from '@underpass/tests/helpers/visitor.ts';
import {
  cpuSeconds,
  type FigureRow,
  measureEach,
  ms,
  rssMb,
  seed,
  sleep,
  startVisited,
  tallied,
  tokenOf,
} from './scale-region.ts';

/** An edge process takes 64 clients of one tunnel. */
const clientsPerTunnel = 60;
const restMs = 10_000;
const allBackMs = 120_000;

export const measureClients = (sizes: readonly number[]): Promise<void> =>
  measureEach(sizes, (size) => `${size} clients`, measureHerd);

async function measureHerd(t: TestContext, size: number): Promise<readonly FigureRow[]> {
  const { port, region, edge, door } = await startVisited(t);
  await region.control.end('SIGTERM');
  const tunnels = Math.ceil(size / clientsPerTunnel);
  await seed(region.home, tunnels);
  await region.restartControl();
  const bareMb = rssMb(edge.process);
  const tokens = Array.from({ length: tunnels }, (_, index) => tokenOf(index));
  const herd = startHerd(t, { port, host: 'eu.localhost', caPem: region.caPem, tokens }, size);
  for (const pid of herd.pids) setPriority(pid, constants.priority.PRIORITY_LOW);
  const isWhole = ({ held }: { readonly held: number }): boolean => held === size;
  await eventually(herd.status, isWhole, allBackMs);
  const before = cpuSeconds(edge.process);
  await sleep(restMs);
  const eachKb = ((rssMb(edge.process) - bareMb) * 1_000) / size;
  const idleShare = (cpuSeconds(edge.process) - before) / (restMs / 1_000) / (size / 1_000);
  const visitors = keepVisiting(t, door, { pauseMs: 5 });
  await sleep(restMs);
  const rest = visitors.take();
  await edge.process.end('SIGKILL');
  await edge.restart();
  const startedAtMs = performance.now();
  const { dials: dialsAtStart } = await herd.status();
  const cpuAtStart = { edge: cpuSeconds(edge.process), herd: herdSeconds(herd) };
  await visitUntil(door, 200);
  const firstMs = performance.now() - startedAtMs;
  visitors.take();
  const { held: back, dials, halfMs, mostMs, lastMs } = await lastHeld(herd, size, startedAtMs);
  const eachCpuMs = {
    edge: ((cpuSeconds(edge.process) - cpuAtStart.edge) * 1_000) / size,
    herd: ((herdSeconds(herd) - cpuAtStart.herd) * 1_000) / size,
  };
  const during = visitors.take();
  await sleep(restMs);
  const after = visitors.take();
  await visitors.stop();
  return [
    ['memory at the edge for each', `${eachKb.toFixed(0)} kB`],
    ['idle CPU of the edge for 1,000', `${(idleShare * 100).toFixed(1)} % of a core`],
    ['first visit after `kill -9` and the start of the edge', ms(firstMs)],
    ['back', `${back} of ${size}: half after ${ms(halfMs)}, 99 % after ${ms(mostMs)}, the last after ${ms(lastMs)}`],
    ['dials of each since that start', ((dials - dialsAtStart) / size).toFixed(2)],
    ['CPU for each that comes back', `${ms(eachCpuMs.edge)} of the edge, ${ms(eachCpuMs.herd)} of the simulated client`],
    ['visitors at rest', tallied(rest)],
    ['visitors while clients come back', tallied(during)],
    ['visitors afterwards', tallied(after)],
  ];
}

interface Return extends HerdStatus {
  readonly halfMs: number;
  readonly mostMs: number;
  readonly lastMs: number;
}

/** The herd once all clients are connected, or when the time is up, and when how many of them were back. */
async function lastHeld(herd: Herd, size: number, startedAtMs: number): Promise<Return> {
  const shares = [0.5, 0.99];
  const reachedMs: number[] = [];
  for (;;) {
    const status = await herd.status();
    const lastMs = performance.now() - startedAtMs;
    while (status.held >= size * (shares[reachedMs.length] ?? 2)) reachedMs.push(lastMs);
    const [halfMs = Number.NaN, mostMs = Number.NaN] = reachedMs;
    if (status.held === size || lastMs > allBackMs) return { ...status, halfMs, mostMs, lastMs };
    await sleep(100);
  }
}

const herdSeconds = ({ pids }: Herd): number => pids.reduce((sum, pid) => sum + cpuSeconds({ pid }), 0);
