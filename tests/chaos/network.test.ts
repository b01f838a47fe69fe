// A client on a second machine, behind a wire that delays, loses packets, or falls silent in one or both directions.
// Needs root: the second machine is a network namespace.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { describe, it, type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { eventually } from '@underpass/rules/test-kit.ts';
import { offeredControls } from '@underpass/wire/path/tcp-path.ts';
import { watchFootprints } from '../helpers/footprint.ts';
import { type FarMachine, skipWithoutFarMachine, startFarMachine, type WireState } from '../helpers/network.ts';
import { hashOfNumbered } from '../helpers/numbered-bytes.ts';
import { freePorts } from '../helpers/port.ts';
import { type ProcessOf, type StartedServer, startClientProcess, startServerProcess } from '../helpers/process.ts';
import { figureOf } from '../helpers/region.ts';
import { skipWithout } from '../helpers/tool.ts';
import { type Door, getRequest, openVisitor, visit, visitUntil } from '../helpers/visitor.ts';
import { doorOf } from './stage.ts';

const skip = skipWithoutFarMachine() || skipWithout('curl');
const regionHost = 'edge.underpass.test';
/** docs/protocol.md 6, Pings: 15 s of silence, checked every 5 s; if one direction works, a last PING may arrive 5 s later. */
const foundDeadMs = 25_000;
const slackMs = 10_000;
/** The longest pause between two attempts after about 20 s of failures, and the time of one attempt. */
const backWithinMs = 30_000;

interface Scene {
  readonly far: FarMachine;
  readonly product: StartedServer;
  readonly client: ProcessOf;
  readonly door: Door;
  carriers(): Promise<number>;
  /** Reads one of the metrics by its name. */
  figure(name: string): Promise<number>;
}

/** Sets the wire before the client dials: a carrier estimates its path from the pings of the last minute. */
async function setUp(t: TestContext, wire: WireState = {}): Promise<Scene> {
  const far = await startFarMachine(t, [regionHost]);
  await far.spoil(wire);
  const [metricsPort = 0] = await freePorts(1);
  const product = await startServerProcess(t, {
    UNDERPASS_LISTEN: '0.0.0.0',
    UNDERPASS_DATA_PLANE_HOST: regionHost,
    UNDERPASS_METRICS_PORT: String(metricsPort),
  });
  const upstream = far.start(t, ['tests/helpers/bulk-upstream.ts']);
  const [, port] = await upstream.seen(/port (\d+)/);
  const client = await startClientProcess(t, product, `http://127.0.0.1:${port}`, far.start);
  const door = doorOf(product);
  await visitUntil(door, 200);
  const figure = (name: string): Promise<number> => figureOf({ metricsPort }, name);
  const carriers = (): Promise<number> => figure('underpass_edge_clients');
  await eventually(carriers, (count) => count === 2);
  return { far, product, client, door, carriers, figure };
}

async function download(door: Door, bytes: number): Promise<{ hash: string; seconds: number }> {
  const started = performance.now();
  const socket = await openVisitor(door);
  socket.write(getRequest(door, `/${bytes}`));
  const hash = createHash('sha256');
  let head = '';
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    if (head.includes('\r\n\r\n')) hash.update(chunk);
    else {
      head += chunk.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end >= 0) hash.update(Buffer.from(head.slice(end + 4), 'latin1'));
    }
  }
  return { hash: hash.digest('hex'), seconds: (performance.now() - started) / 1_000 };
}

test('with 400 ms of delay windows grow until a download fills the path', { skip }, async (t) => {
  const { door } = await setUp(t, { delayMs: 200 });
  const bytes = 20_000_000;
  // If windows did not grow, one first window per round trip would carry 0.65 MB/s: far less than a busy machine can.
  const withoutGrowthSeconds = (bytes / 262_144) * 0.4;
  const { hash, seconds } = await download(door, bytes);
  t.diagnostic(`20 MB at 400 ms of round trip: ${seconds.toFixed(1)} s; ${withoutGrowthSeconds.toFixed(1)} s if no window grew`);
  assert.equal(hash, hashOfNumbered(bytes));
  assert.ok(seconds < withoutGrowthSeconds * 0.75, `it took ${seconds} s`);
});

test('on a long path a client opens carriers while downloads fill those that it has, and BBR carries them without a standing queue', {
  skip,
}, async (t) => {
  const { far, door, carriers, figure } = await setUp(t, { delayMs: 25, rate: { megabits: 40, queueMs: 50 } });
  // Until its first PING comes back, a carrier is a last resort.
  await eventually(
    () => figure('underpass_edge_carriers\\{congestion="unknown"\\}'),
    (count) => count === 0,
  );
  const visitor = spawn(...far.command(process.execPath, ['-e', `net.connect(${door.port}, '${far.nearAddress}')`]));
  t.after(() => visitor.kill());
  if (offeredControls()?.far === 'bbr')
    await eventually(
      async () => seen(far.farAddress),
      (ends) => ends.length === 3 && ends.filter((end) => end.includes(' bbr ')).length === 2,
    );
  const address = ['--resolve', `${door.host}:${door.port}:${far.nearAddress}`, `https://${door.host}:${door.port}/2000000`];
  const reader = spawn(...far.command('curl', ['-sk', '--limit-rate', '500k', ...address]));
  t.after(() => reader.kill());
  reader.stdout.resume();
  if (offeredControls()?.far === 'bbr')
    await eventually(
      async () => seen(far.farAddress),
      (ends) => ends.length === 4 && ends.filter((end) => end.includes(' bbr ')).length === 3,
    );
  if (offeredControls()?.far === 'bbr')
    await eventually(
      async () => seen(far.nearAddress, far),
      (ends) => ends.length === 2 && ends.every((end) => windowOf(end) > 60),
    );
  const downloads = Promise.all([1, 2, 3].map(() => download(door, 5_000_000)));
  await eventually(carriers, (count) => count > 2);
  if (offeredControls()?.far === 'bbr')
    await eventually(
      async () => seen(far.nearAddress, far),
      (ends) => ends.every((end) => end.includes(' bbr ')) && ends.some((end) => /pacing_rate \d+bps\/\d+bps/.test(end)),
    );
  for (const { hash } of await downloads) assert.equal(hash, hashOfNumbered(5_000_000));
  if (offeredControls()?.far === 'bbr')
    await eventually(
      () => figure('underpass_edge_carriers\\{congestion="bbr"\\}'),
      (count) => count > 2,
    );
});

/** What ss(8) says of connections to a peer, a line for each: `bbr` or another control, and after a slash the most that it may send at. */
function seen(peer: string, far?: FarMachine): readonly string[] {
  const args = ['-tinHO', 'state', 'established', 'dst', peer];
  const [program, all] = far === undefined ? ['ss', args] : far.command('ss', args);
  return execFileSync(program, all, { encoding: 'utf8' }).trim().split('\n');
}

/** Segments; a new connection has 10. */
const windowOf = (end: string): number => Number(/cwnd:(\d+)/.exec(end)?.[1]);

test('with 100 ms of delay and 1 % of loss pages and downloads arrive complete', { skip }, async (t) => {
  const { door, carriers } = await setUp(t, { delayMs: 50, lossPercent: 1 });
  const pages = await Promise.all(Array.from({ length: 50 }, () => visit(door)));
  assert.deepEqual(new Set(pages.map(({ status }) => status)), new Set([200]));
  const { hash, seconds } = await download(door, 2_000_000);
  t.diagnostic(`2 MB at 100 ms and 1 % of loss: ${seconds.toFixed(1)} s`);
  assert.equal(hash, hashOfNumbered(2_000_000));
  assert.equal(await carriers(), 2, 'no carrier was closed');
});

test('once packets were lost, PINGs follow lone calls', { skip }, async (t) => {
  const { far, door } = await setUp(t, { delayMs: 25 });
  /** A side sends ten probes a second at most. */
  const pauseMs = 150;
  const sentBy = (end: string): number => Number(/data_segs_out:(\d+)/.exec(end)?.[1]);
  const sentByClient = (): number => seen(far.nearAddress, far).reduce((sum, end) => sum + sentBy(end), 0);
  const segmentsPerCall = async (calls = 12): Promise<number> => {
    const before = sentByClient();
    for (let call = 0; call < calls; call++) {
      assert.equal((await visit(door)).status, 200);
      await setTimeout(pauseMs);
    }
    return (sentByClient() - before) / calls;
  };
  // The first carriers send padding at first.
  let before = Number.POSITIVE_INFINITY;
  await eventually(
    () => segmentsPerCall(),
    (now) => {
      const isSteady = now > before - 0.3;
      before = now;
      return isSteady;
    },
  );
  await far.spoil({ delayMs: 25, lossPercent: 15 });
  await segmentsPerCall(24);
  await far.spoil({ delayMs: 25 });
  // PINGs of the client, and PONGs for those of the edge. A side looks at its losses every 5 s.
  const since = await eventually(
    () => segmentsPerCall(),
    (now) => now >= before + 0.7,
  );
  t.diagnostic(`segments of a call: ${before.toFixed(1)}, after losses ${since.toFixed(1)}`);
});

const silences = { both: 'both directions', out: 'the direction to the client', back: 'the direction to the edge' } as const;

describe('a network path that falls silent', { skip, concurrency: 3 }, () => {
  for (const [drop, way] of Object.entries(silences) as [keyof typeof silences, string][]) {
    it(`in ${way}: carriers close in time, visitors get an error, and the client reconnects by itself`, (t) =>
      assertHeals(t, drop));
  }
});

async function assertHeals(t: TestContext, drop: keyof typeof silences): Promise<void> {
  const { far, product, client, door, carriers } = await setUp(t);
  const comesBack = await watchFootprints(t, { server: product.server, client });
  const begun = await openVisitor(door);
  begun.on('error', () => {}).write(getRequest(door, '/50000000'));
  await once(begun, 'data');
  const cutAt = performance.now();
  const broken = new Promise<number>((resolve) => {
    begun.resume().once('close', () => resolve(performance.now() - cutAt));
  });
  await far.spoil({ drop });
  const answers = await Promise.all(Array.from({ length: 20 }, () => visit(door)));
  for (const { status, text } of answers) assert.ok([502, 503].includes(status), `${status}: ${text}`);
  await eventually(carriers, (count) => count === 0, foundDeadMs + slackMs);
  assert.ok((await broken) < foundDeadMs + slackMs, 'the download in progress ends');
  assert.match((await visit(door)).text, /UNDERPASS_NO_CLIENT/);
  t.diagnostic(`carriers closed ${Math.round(performance.now() - cutAt)} ms after the cut`);

  await far.spoil({});
  const mendedAt = performance.now();
  await visitUntil(door, 200, backWithinMs);
  t.diagnostic(`served again ${Math.round(performance.now() - mendedAt)} ms after the wire worked again`);
  await eventually(carriers, (count) => count === 2, backWithinMs);
  await comesBack();
}
