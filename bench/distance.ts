// Underpass and its peers over a long path: a wire with a rate, a queue, delay and loss (tests/helpers/network.ts), between edge
// and client or, for far visitors, between visitor and edge. Needs root; runs in namespaces of its own (own-network.ts).
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FarMachine, skipWithoutFarMachine, startFarMachine } from '@underpass/tests/helpers/network.ts';
import {
  type Carries,
  columnsOf,
  type DistanceOptions,
  figuresOf,
  onPath,
  type Path,
  pathsOf,
  renderGrid,
  shortfallsOf,
  type Trial,
  trialsOf,
} from './core/distance.ts';
import type { Sample } from './core/table.ts';
import { type Course, prepare, readBy, runTrial } from './distance-trials.ts';
import { useCongestion } from './own-network.ts';
import { type Machines, makeCertificate, oneMachine, type Peer, type Running } from './peers/peer.ts';
import { firstJson, type Started, start, stopAll } from './peers/processes.ts';

export interface DistanceRun {
  readonly options: DistanceOptions;
  readonly peers: readonly Peer[];
  /** Peers of far visitors: only these end TLS at an edge beside a machine of their own. */
  readonly visitorPeers: readonly Peer[];
  readonly baseline: string;
  readonly folder: string;
  readonly host: string;
}

/** The rate of each direction. The queue is as long as the path at 50 ms of round trip, which is a common rule. */
const rate = { megabits: 200, queueMs: 50 };
const spellLossPercent = 1;
/** A name that is not below localhost, which resolvers answer without /etc/hosts. */
const regionHost = 'region.example';

interface Origin {
  readonly started: Started;
  readonly port: number;
  readonly tlsPort: number;
}

interface Stage extends DistanceRun {
  readonly far: FarMachine;
  /** One on each machine. */
  readonly origins: Readonly<Record<'near' | 'far', Origin>>;
}

export async function measureDistance(run: DistanceRun): Promise<void> {
  const missing = skipWithoutFarMachine();
  if (missing !== false) throw new Error(`no wire: ${missing}`);
  const closers: (() => unknown)[] = [];
  const t = { after: (close: () => unknown) => void closers.push(close) } as unknown as TestContext;
  try {
    const far = await startFarMachine(t, [regionHost]);
    for (const congestion of run.options.congestion) {
      useCongestion(congestion, far);
      const samples = await measureAll({ ...run, far, origins: await startOrigins(run, far) });
      await stopAll();
      for (const carries of run.options.carries) print(run, congestion, carries, samples[carries]);
    }
  } finally {
    await stopAll();
    for (const close of closers.reverse()) await close();
  }
}

async function startOrigins({ folder, host }: DistanceRun, far: FarMachine): Promise<Stage['origins']> {
  const { certificate, key } = makeCertificate(folder, host);
  const args = [join(import.meta.dirname, 'origin.ts'), certificate, key];
  const one = async (started: Started): Promise<Origin> => ({
    started,
    ...(await firstJson<{ port: number; tlsPort: number }>(started)),
  });
  const [near, behind] = await Promise.all([
    one(start(process.execPath, args)),
    one(start(...far.command(process.execPath, args))),
  ]);
  return { near, far: behind };
}

let trials = 0;

async function measureAll(stage: Stage): Promise<Readonly<Record<Carries, readonly Sample[]>>> {
  const { options } = stage;
  const samples: Record<Carries, Sample[]> = { https: [], tcp: [] };
  for (let round = 0; round < options.rounds; round++) {
    for (const path of pathsOf(options))
      for (const trial of trialsOf(options, path)) samples[trial.carries].push(...(await measure(stage, path, trial, round)));
  }
  return samples;
}

/** All peers start afresh, together; then they are measured in turn. */
async function measure(stage: Stage, path: Path, trial: Trial, round: number): Promise<readonly Sample[]> {
  const { far } = stage;
  const clear = { delayMs: path.roundTripMs / 2, rate };
  const peers = (trial.case === 'visitors' ? stage.visitorPeers : stage.peers).filter(({ carries }) => carries === trial.carries);
  const figures = figuresOf(trial);
  process.stderr.write(
    `${path.roundTripMs} ms, ${path.lossPercent} %, round ${round + 1}: ${figures[0]?.name} (${trial.carries})\n`,
  );
  await far.spoil(clear);
  const folder = join(stage.folder, String(++trials));
  mkdirSync(folder);
  const ready = await Promise.all(turned(peers, round).map((peer) => startPeer(stage, trial, peer, folder)));
  await far.spoil({ ...clear, lossPercent: path.lossPercent });
  const spoil: Course['spoil'] = async () => {
    await far.spoil({ ...clear, lossPercent: spellLossPercent });
    return () => far.spoil(clear);
  };
  const courses = ready.flatMap((one) =>
    one === undefined ? [] : [{ ...one, course: courseOf(stage, trial, one.running, spoil) }],
  );
  const samples: Sample[] = [];
  try {
    for (const { course } of courses) await prepare(trial, course).catch(noFigure);
    if (trial.case === 'silence') await sleep(stage.options.silenceSeconds * 1000);
    for (const { peer, course, running } of courses) {
      const values = (await runTrial(trial, course).catch(noFigure)) ?? [];
      process.stderr.write(`  ${peer.name}: ${values.map((value) => value.toPrecision(3)).join(', ')}\n`);
      for (const [at, value] of values.entries())
        samples.push({ peer: peer.name, column: onPath(path, figures[at] as (typeof figures)[number]).name, value });
      await stop(running);
      // What is still on the wire must not meet the next peer.
      await sleep(path.roundTripMs + rate.queueMs);
    }
  } finally {
    await Promise.all(courses.map(({ running }) => stop(running)));
  }
  return samples;
}

async function startPeer(
  { far, host, origins }: Stage,
  trial: Trial,
  peer: Peer,
  parent: string,
): Promise<{ peer: Peer; running: Running } | undefined> {
  const folder = join(parent, peer.name.replace(/\W/g, ''));
  mkdirSync(folder);
  const originTls = trial.carries === 'tcp' && trial.http2;
  const origin = trial.case === 'visitors' ? origins.near : origins.far;
  const originPort = originTls ? origin.tlsPort : origin.port;
  const machines = trial.case === 'visitors' ? besideEdge : apart(far);
  try {
    const running = await peer.start({ ...machines, originPort, originTls, folder, host });
    return { peer, running: { ...running, address: far.nearAddress, tls: running.tls || originTls } };
  } catch (error) {
    return noFigure(error);
  }
}

const apart = (far: FarMachine): Machines => ({
  edgeAddress: far.nearAddress,
  clientAddress: far.farAddress,
  regionHost,
  startAtClient: (program, args, env) => start(...far.command(program, args), env),
});

/** Client and upstream are on the edge's machine, and the edge listens on the wire, too. */
const besideEdge: Machines = { ...oneMachine, edgeAddress: '0.0.0.0' };

function courseOf({ far, host, options, origins }: Stage, trial: Trial, running: Running, spoil: Course['spoil']): Course {
  const startFar: typeof start = (program, args, env) => start(...far.command(program, args), env);
  return {
    running,
    host,
    seconds: options.seconds,
    startVisitor: trial.case === 'visitors' ? startFar : start,
    readByOrigin: () => readBy(origins.far.started),
    spoil,
  };
}

async function stop({ edgeSide, clientSide }: Running): Promise<void> {
  await Promise.all([...edgeSide, ...clientSide].map((started) => started.stop()));
}

/** Each round starts with another peer, so that the order favours none. */
function turned<T>(items: readonly T[], by: number): readonly T[] {
  const at = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

function noFigure(error: unknown): undefined {
  process.stderr.write(`  no figure: ${error instanceof Error ? error.message : String(error)}\n`);
}

function print(
  { options, peers, visitorPeers, baseline }: DistanceRun,
  congestion: string,
  carries: Carries,
  samples: readonly Sample[],
): void {
  const names = [...new Set([...peers, ...visitorPeers].filter((peer) => peer.carries === carries).map(({ name }) => name))];
  const measured = names.filter((name) => samples.some(({ peer }) => peer === name));
  const columns = columnsOf(options, carries);
  const title = carries === 'https' ? 'https: TLS ends at the edge' : 'tcp: bytes passed through';
  process.stdout.write(
    `\n## ${title}, congestion control ${congestion}\n\n${renderGrid(samples, columns, measured, baseline)}\n`,
  );
  const behind = shortfallsOf(samples, options, { carries, congestion, peer: 'underpass', baseline });
  const summary =
    behind.length === 0 ? 'None is behind its goal.' : `Behind its goal:\n\n${behind.map((text) => `- ${text}`).join('\n')}`;
  process.stdout.write(`\n${summary}\n`);
}
