// Underpass and its peers over a long path between edge and client: a wire with delay and loss (tests/helpers/network.ts).
// Visitors and edge are near, client and origin far. Needs root; runs in network namespaces of its own.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type FarMachine, skipWithoutFarMachine, startFarMachine } from '@underpass/tests/helpers/network.ts';
import { requireTool } from '@underpass/tests/helpers/tool.ts';
import { renderGrid, type Sample } from './core/table.ts';
import { load } from './measurements.ts';
import type { Peer, Place, Running } from './peers/peer.ts';
import { firstJson, type Started, start, stopAll } from './peers/processes.ts';

interface Path {
  readonly roundTripMs: number;
  readonly lossPercent: number;
}

interface Cell {
  readonly workload: 'pull' | 'push' | 'pieces';
  readonly streams: number;
  readonly http2: boolean;
}
/** Downloads first: what an aborted upload leaves on the path would delay the windows of a download. */
const cellsOf = (carries: Peer['carries'], { pieces }: Pick<DistanceOptions, 'pieces'>): readonly Cell[] =>
  (pieces ? (['pieces'] as const) : (['pull', 'push'] as const)).flatMap((workload) =>
    (carries === 'https' ? [false, true] : [false]).flatMap((http2) =>
      (pieces ? [8] : [1, 8]).map((streams) => ({ workload, streams, http2 })),
    ),
  );

export interface DistanceOptions {
  readonly peers: readonly Peer[];
  readonly baseline: string;
  readonly folder: string;
  readonly host: string;
  readonly rounds: number;
  readonly seconds: number;
  /** Eight visitors load pieces one after another, instead of endless transfers. A figure is a quarter of `seconds`. */
  readonly pieces: boolean;
  /** A congestion control that namespaces may choose: one of /proc/sys/net/ipv4/tcp_allowed_congestion_control. */
  readonly congestion: string;
  readonly roundTripsMs: readonly number[];
  readonly lossPercents: readonly number[];
}

const pathsOf = ({ roundTripsMs, lossPercents }: DistanceOptions): readonly Path[] =>
  roundTripsMs.flatMap((roundTripMs) => lossPercents.map((lossPercent) => ({ roundTripMs, lossPercent })));

/** One round. Nothing starts later than this, so that a busy machine ends in time, too. */
const roundAtMostMs = 570_000;
/** Not below localhost, which resolvers answer without /etc/hosts. */
const regionHost = 'region.example';
const inOwnNetwork = 'BENCH_OWN_NETWORK';

/** Runs this program again in a network namespace of its own, where no other address exists; returns false if it is there already. */
export function movedToOwnNetwork(): boolean {
  if (process.env[inOwnNetwork]) return false;
  const missing = skipWithoutFarMachine();
  if (missing !== false) throw new Error(`no wire: ${missing}`);
  const again = ['--net', process.execPath, ...process.argv.slice(1)];
  process.exitCode = spawnSync('unshare', again, { stdio: 'inherit', env: { ...process.env, [inOwnNetwork]: '1' } }).status ?? 1;
  return true;
}

export async function measureDistance(options: DistanceOptions): Promise<void> {
  const closers: (() => unknown)[] = [];
  const t = { after: (run: () => unknown) => void closers.push(run) } as unknown as TestContext;
  try {
    execFileSync(requireTool('ip'), ['link', 'set', 'lo', 'up']);
    const far = await startFarMachine(t, [regionHost]);
    // The system's memory of earlier connections must not help later ones.
    const script = 'cd /proc/sys/net/ipv4 && echo 1 > tcp_no_metrics_save && echo "$0" > tcp_congestion_control';
    const setting = ['-c', script, options.congestion];
    execFileSync('sh', setting);
    execFileSync(...far.command('sh', setting));
    process.stdout.write(`\n${options.seconds} s for each figure, congestion control ${options.congestion}\n`);
    const samples: Sample[] = [];
    for (let round = 0; round < options.rounds; round++) samples.push(...(await runRound(options, far, round)));
    for (const carries of ['https', 'tcp'] as const) print(options, carries, samples);
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

async function runRound(options: DistanceOptions, far: FarMachine, round: number): Promise<readonly Sample[]> {
  const { peers } = options;
  const endsAt = performance.now() + roundAtMostMs;
  const samples: Sample[] = [];
  for (const [at, path] of pathsOf(options).entries()) {
    await far.spoil({ delayMs: path.roundTripMs / 2, lossPercent: path.lossPercent });
    const first = (round + at) % peers.length;
    for (const peer of [...peers.slice(first), ...peers.slice(0, first)]) {
      if (performance.now() > endsAt) break;
      process.stderr.write(`${peer.name} (${peer.carries}): ${path.roundTripMs} ms, ${path.lossPercent} %\n`);
      const folder = join(options.folder, `${peer.name.replace(/\W/g, '')}-${peer.carries}-${round}-${at}`);
      mkdirSync(folder);
      samples.push(...(await runPeer(peer, path, far, { ...options, folder })));
    }
  }
  return samples;
}

async function runPeer(
  peer: Peer,
  path: Path,
  far: FarMachine,
  options: Pick<DistanceOptions, 'folder' | 'host' | 'seconds' | 'pieces'>,
): Promise<readonly Sample[]> {
  const { folder, host, seconds } = options;
  const place: Place = {
    edgeAddress: far.nearAddress,
    clientAddress: far.farAddress,
    regionHost,
    startAtClient: (program, args, env) => start(...far.command(program, args), env),
  };
  const origin = place.startAtClient(process.execPath, [join(import.meta.dirname, 'origin.ts')]);
  const samples: Sample[] = [];
  try {
    const { port: originPort } = await firstJson<{ port: number }>(origin);
    const running = await peer.start({ ...place, originPort, folder, host });
    for (const cell of cellsOf(peer.carries, options)) {
      const measure = cell.workload === 'pieces' ? quarters : total;
      const values = await measure(cell, { running, host, seconds }, origin).catch(noFigure);
      const columns = columnsOf(peer.carries, path, cell);
      for (const [at, value] of (values ?? []).entries()) samples.push({ peer: peer.name, column: columns[at] as string, value });
    }
  } catch (error) {
    noFigure(error);
  } finally {
    await stopAll();
  }
  return samples;
}

interface On {
  readonly running: Running;
  readonly host: string;
  readonly seconds: number;
}

/** MB/s. */
async function total({ workload, streams, http2 }: Cell, on: On, origin: Started): Promise<readonly number[]> {
  const before = await readBy(origin);
  const visitors = load(on, workload, { connections: streams, http2 });
  try {
    const { bytes, seconds } = await firstJson<{ bytes?: number; seconds: number }>(visitors, (on.seconds + 15) * 1000);
    return [(bytes ?? (await readBy(origin)) - before) / 1e6 / seconds];
  } finally {
    await visitors.stop();
  }
}

async function quarters({ workload, streams, http2 }: Cell, on: On): Promise<readonly number[]> {
  const visitors = load(on, workload, { connections: streams, http2 });
  const bytes = await firstJson<Record<string, number>>(visitors, (on.seconds + 15) * 1000);
  return Object.values(bytes).map((value) => value / 1e6 / (on.seconds / 4));
}

async function readBy(origin: Started): Promise<number> {
  origin.child.stdin?.write('\n');
  return (await firstJson<{ read: number }>(origin)).read;
}

function noFigure(error: unknown): undefined {
  process.stderr.write(`  no figure: ${error instanceof Error ? error.message : String(error)}\n`);
}

const columnsOf = (carries: Peer['carries'], path: Path, cell: Cell): readonly string[] => {
  const name = columnOf(carries, path, cell);
  return cell.workload === 'pieces' ? [1, 2, 3, 4].map((quarter) => `${name}, quarter ${quarter}`) : [name];
};

const columnOf = (carries: Peer['carries'], { roundTripMs, lossPercent }: Path, { workload, streams, http2 }: Cell): string =>
  [
    `${roundTripMs} ms`,
    `${lossPercent} %`,
    `${{ pull: 'down', push: 'up', pieces: 'pieces' }[workload]} × ${streams}`,
    ...(carries === 'tcp' ? [] : [http2 ? 'HTTP/2' : 'HTTP/1.1']),
  ].join(', ');

function print(options: DistanceOptions, carries: Peer['carries'], samples: readonly Sample[]): void {
  const { peers, baseline } = options;
  const columns = pathsOf(options).flatMap((path) => cellsOf(carries, options).flatMap((cell) => columnsOf(carries, path, cell)));
  const names = peers.filter((peer) => peer.carries === carries).map((peer) => peer.name);
  const title = carries === 'https' ? 'https: TLS ends at the edge' : 'tcp: bytes passed through';
  process.stdout.write(`\n## ${title} (MB/s; more is better)\n\n${renderGrid(samples, columns, names, baseline)}\n`);
}
