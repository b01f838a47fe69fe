// npm run soak: control with the embedded database, two edges, two clients, mixed traffic, changes and restarts for an hour.
// Prints how memory, descriptors, disk and latency grew, with 95 % intervals. Exits with 1 if a request failed that no restart
// explains, or if a figure surely grew above its bound. One edge and one client are restarted; control, the other edge and the
// other client are measured and stay. Options: --minutes N (at most 1,440), --every SECONDS between samples, --rate 0.25 for
// visitors with four times the usual pauses.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { parseArgs } from 'node:util';
import { startBalancer } from '@underpass/tests/helpers/balancer.ts';
import { footprintOf } from '@underpass/tests/helpers/footprint.ts';
import type { ProcessOf } from '@underpass/tests/helpers/process.ts';
import { tunnelCreated } from '@underpass/tests/helpers/product.ts';
import { hopSettings, type StartedRegion, startRegion } from '@underpass/tests/helpers/region.ts';
import { type Door, visitUntil } from '@underpass/tests/helpers/visitor.ts';
import { type Figure, isAboveBound, isDuring, type Point, renderFigure, type Span, trendOf } from './core/soak.ts';
import { ms, sleep } from './scale-region.ts';
import { kinds, startMixedUpstream } from './soak-traffic.ts';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    every: { type: 'string', default: '10' },
    rate: { type: 'string', default: '1' },
  },
});
const runMs = Math.min(1_440, Number(options.minutes)) * 60_000;
const everyMs = Number(options.every) * 1_000;
/** Compiled code, caches and memory slabs reach their size in this time. */
const warmUpShare = 0.25;
/** Growth that a figure may surely show: memory and descriptors as in tests/helpers/footprint.ts; the system's allocator keeps more. */
const bounds = { held: 16, resident: 32, descriptors: 12, disk: 64, p50: 20, p99: 200 };
/** Requests that fail later than this after a restart are failures (spec 11, Availability). */
const graceMs = 2_000;
const hourMs = 3_600_000;

interface Failure extends Span {
  readonly kind: string;
  readonly text: string;
}

/** Set once everything is up. */
let startedAtMs = 0;
/** A busy machine takes few samples in a short run, and a trend needs some. */
const minSamples = 8;
const isOver = (): boolean => performance.now() - startedAtMs > runMs && (done.get('samples') ?? 0) >= minSamples;
const restarts: { readonly fromMs: number; toMs: number }[] = [];
const done = new Map<string, number>();
const failures: Failure[] = [];
/** Small visits since the last sample. */
let visits: Span[] = [];
const figures = new Map<string, Figure & { readonly points: Point[] }>();

/** Nothing here takes as long: a request without an answer fails. */
const workTimeoutMs = 90_000;

async function inTime(run: () => Promise<void>): Promise<void> {
  const timer = Promise.withResolvers<never>();
  const timeout = setTimeout(() => timer.reject(new Error(`no end after ${workTimeoutMs} ms`)), workTimeoutMs);
  await Promise.race([run(), timer.promise]).finally(() => clearTimeout(timeout));
}

/** Runs one kind of work again and again until the run is over. */
async function keep(kind: string, pauseMs: number, run: () => Promise<void>): Promise<void> {
  while (!isOver()) {
    const fromMs = performance.now();
    try {
      await inTime(run);
      done.set(kind, (done.get(kind) ?? 0) + 1);
      if (kind === kinds[0]?.name) visits.push({ fromMs, toMs: performance.now() });
    } catch (error) {
      failures.push({ kind, fromMs, toMs: performance.now(), text: error instanceof Error ? error.message : String(error) });
    }
    await sleep(pauseMs);
  }
}

/** One life of a tunnel: each change is true once an edge answers visitors by it. */
async function change({ account, doorOf }: StartedRegion, port: number, name: string): Promise<void> {
  const { project, call } = account;
  const expectOk = async (method: string, path: string, body?: unknown): Promise<void> => {
    const answer = await call(method, `/api/${path}?project=${project}`, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  };
  await expectOk('POST', 'security-groups', { name, allow: ['0.0.0.0/0'] });
  await expectOk('POST', 'access-policies', { name, people: ['ada@example.com'] });
  await expectOk('POST', 'tunnels', { name, region: 'eu', type: 'http', ingressDomains: [], proxyProtocol: '' });
  const { url, ingressDomains } = await tunnelCreated(account, name);
  const door = doorOf({ name, url, tokenFile: '', host: ingressDomains[0]?.name ?? '' }, port);
  const noClient = 503;
  await visitUntil(door, noClient);
  await expectOk('PATCH', `tunnels/${name}`, { proxyProtocol: 'v2', securityGroup: name });
  await expectOk('PATCH', `security-groups/${name}`, { allow: ['192.0.2.1'] });
  await visitUntil(door, 403);
  await expectOk('PATCH', `tunnels/${name}`, { securityGroup: 'default', accessPolicy: name });
  await visitUntil(door, 401);
  await expectOk('PATCH', `tunnels/${name}`, { accessPolicy: '' });
  await visitUntil(door, noClient);
  await expectOk('DELETE', `tunnels/${name}`);
  await expectOk('DELETE', `access-policies/${name}`);
  await expectOk('DELETE', `security-groups/${name}`);
}

async function restart(run: () => Promise<void>): Promise<void> {
  const span = { fromMs: performance.now(), toMs: Number.POSITIVE_INFINITY };
  restarts.push(span);
  try {
    await run();
  } finally {
    span.toMs = performance.now() + graceMs;
  }
}

function note(name: string, unit: string, bound: number, value: number): void {
  const figure = figures.get(name) ?? { name, unit, bound, points: [] };
  figures.set(name, figure);
  const atMs = performance.now() - startedAtMs;
  if (atMs > runMs * warmUpShare) figure.points.push({ atHours: atMs / hourMs, value });
}

async function sampleProcess(name: string, process: ProcessOf): Promise<void> {
  // First, because it collects garbage: memory that only waits for a collection does not look like growth.
  const { descriptors, bytes } = await footprintOf(process);
  const rollup = readFileSync(`/proc/${process.pid}/smaps_rollup`, 'utf8');
  const megabytes = (key: string): number => (Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(rollup)?.[1]) * 1024) / 1e6;
  note(`${name}: heap and buffers`, 'MB', bounds.held, bytes / 1e6);
  note(`${name}: anonymous memory`, 'MB', bounds.resident, megabytes('Anonymous'));
  note(`${name}: resident memory`, 'MB', bounds.resident, megabytes('Rss'));
  note(`${name}: descriptors`, 'open', bounds.descriptors, descriptors);
}

function bytesIn(folder: string): number {
  const sizes = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(
    (path) => statSync(join(folder, path), { throwIfNoEntry: false })?.size ?? 0,
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Samples the visits that met no restart. */
function sampleLatency(): void {
  const taken = visits
    .filter((each) => !isDuring(each, restarts))
    .map(({ fromMs, toMs }) => toMs - fromMs)
    .sort((a, b) => a - b);
  visits = [];
  if (taken.length === 0) return;
  const at = (share: number): number => taken[Math.floor(taken.length * share)] ?? 0;
  note('latency of small HTTP/1.1, p50', 'ms', bounds.p50, at(0.5));
  note('latency of small HTTP/1.1, p99', 'ms', bounds.p99, at(0.99));
}

async function soak(t: TestContext): Promise<void> {
  const balancer = await startBalancer(t);
  const region = await startRegion(t, balancer.port);
  const startEdge = async () => region.startEdge({ env: { ...(await hopSettings()), UNDERPASS_EDGE_WORKERS: '1' } });
  const [stays, restarted] = await Promise.all([startEdge(), startEdge()]);
  const balance = (ports: readonly number[]): void => {
    balancer.backends = ports;
  };
  balance([stays.port, restarted.port]);
  const tunnel = await region.createTunnel('web');
  const upstream = await startMixedUpstream(t);
  const client = await region.startClient(tunnel, upstream);
  let other = await region.startClient(tunnel, upstream);
  const doors: readonly Door[] = [stays, restarted].map(({ port }) => region.doorOf(tunnel, port));
  for (const door of doors) await visitUntil(door, 200);
  const door = region.doorOf(tunnel, balancer.port);

  const restartClient = async (signal: NodeJS.Signals): Promise<void> => {
    await other.end(signal);
    other = await region.startClient(tunnel, upstream);
  };
  const restartEdge = async (signal: NodeJS.Signals): Promise<void> => {
    if (signal === 'SIGTERM') balance([stays.port]);
    await restarted.process.end(signal);
    await restarted.restart();
    await visitUntil(doors[1]!, 200);
    balance([stays.port, restarted.port]);
  };
  const turns = [
    () => restartClient('SIGTERM'),
    () => restartEdge('SIGTERM'),
    () => restartClient('SIGKILL'),
    () => restartEdge('SIGKILL'),
  ];
  startedAtMs = performance.now();
  let turn = 0;
  let changes = 0;
  const work = [
    ...kinds.map(({ name, pauseMs, run }) => keep(name, pauseMs / Number(options.rate), () => run(door))),
    keep('changes', everyMs, () => change(region, balancer.port, `soak-${changes++}`)),
    // Not at once, so that every kind of work has to succeed without a restart first.
    sleep(3 * everyMs).then(() => keep('restarts', 3 * everyMs, () => restart(turns[turn++ % turns.length]!))),
    keep('samples', everyMs, async () => {
      sampleLatency();
      await sampleProcess('control', region.control);
      await sampleProcess('edge', stays.process);
      await sampleProcess('client', client);
      note('home folders', 'MB', bounds.disk, (bytesIn(region.home) + bytesIn(stays.home)) / 1e6);
    }),
  ];
  await Promise.all(work);
}

/** Prints the tables; returns whether the run is good. */
function report(): boolean {
  const restartMs = restarts.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
  const lines = [
    `\n# Soak of ${(runMs / 60_000).toFixed(1)} min: ${restarts.length} restarts, which with ${graceMs} ms after each took ${ms(restartMs)}\n`,
    '| work | done | failed during a restart | failed otherwise |\n| --- | ---: | ---: | ---: |',
  ];
  const explained = new Set(failures.filter((each) => each.kind !== 'restarts' && isDuring(each, restarts)));
  const all = [...kinds.map(({ name }) => name), 'changes', 'restarts', 'samples'];
  for (const kind of all) {
    const failed = failures.filter((each) => each.kind === kind);
    const other = failed.filter((each) => !explained.has(each));
    lines.push(`| ${kind} | ${done.get(kind) ?? 0} | ${failed.length - other.length} | ${other.length} |`);
    for (const { text } of other.slice(0, 3)) process.stderr.write(`${kind}: ${text}\n`);
  }
  lines.push(
    '\n| figure | after the warm-up | at the end | growth an hour (95 %) | verdict |\n| --- | ---: | ---: | ---: | --- |',
  );
  for (const figure of figures.values()) lines.push(renderFigure(figure));
  process.stdout.write(`${lines.join('\n')}\n`);
  const grown = [...figures.values()].filter(({ points, bound }) => {
    const trend = trendOf(points);
    return trend !== null && isAboveBound(trend, bound);
  });
  // A restart cannot explain work that never succeeds.
  return all.every((kind) => done.has(kind)) && failures.length === explained.size && grown.length === 0;
}

const closers: (() => unknown)[] = [];
async function close(): Promise<void> {
  for (const each of closers.splice(0).reverse()) await each();
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close().finally(() => process.exit(1)));
try {
  await soak({ after: (run: () => unknown) => void closers.push(run) } as unknown as TestContext);
} finally {
  await close();
}
process.exitCode = report() ? 0 : 1;
