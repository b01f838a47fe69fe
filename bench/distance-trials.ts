// Runs one trial of `--distance` on a peer that has just started: its visitors, in order.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Trial, transfers } from './core/distance.ts';
import { median } from './core/table.ts';
import type { Running } from './peers/peer.ts';
import { firstJson, type Started, type start } from './peers/processes.ts';

export interface Course {
  readonly running: Running;
  readonly host: string;
  /** The longest time of each transfer, and of each half of the small calls. */
  readonly seconds: number;
  /** Where visitors are. */
  readonly startVisitor: typeof start;
  /** Bytes of uploads that the origin has read. */
  readonly readByOrigin: () => Promise<number>;
  /** Loses 1 % of the packets until the returned function is called. */
  readonly spoil: () => Promise<() => Promise<void>>;
}

interface Load {
  readonly connections?: number;
  readonly bytes?: number;
  readonly http2?: boolean;
  readonly seconds?: number;
}

/** A page that takes longer has no figure. */
const workloadAtMostMs = 30_000;
/** Small calls last for this many times a transfer, so that a hundredth of them is some calls. */
const callsTimes = 5;
/** The times of the lossy spell, and of the rest after it. */
const spellMs = 3_000;

async function load<T>(course: Course, workload: string, more: Load): Promise<T> {
  const { address = '127.0.0.1', port, tls } = course.running;
  const target = { host: course.host, address, port, tls, seconds: course.seconds, connections: 1, bytes: 0, ...more };
  const program = join(import.meta.dirname, 'distance-visitor.ts');
  const visitor = course.startVisitor(process.execPath, [program, workload, JSON.stringify(target)]);
  try {
    return await firstJson<T>(visitor, workloadAtMostMs + target.seconds * 2000);
  } finally {
    await visitor.stop();
  }
}

const page = async (course: Course, http2: boolean): Promise<number> =>
  (await load<{ ms: number }>(course, 'page', { http2 })).ms;

/** Measures visitors who come one after another. */
async function laterPages(course: Course, http2: boolean): Promise<readonly number[]> {
  const times: number[] = [];
  while (times.length < 3) times.push(await page(course, http2));
  return times;
}

/** MB/s. */
async function transfer(course: Course, what: keyof typeof transfers, http2: boolean): Promise<number> {
  const { direction, streams: connections, bytes: each } = transfers[what];
  const before = direction === 'up' ? await course.readByOrigin() : 0;
  const { bytes, seconds } = await load<{ bytes?: number; seconds: number }>(course, direction, {
    connections,
    bytes: each,
    http2,
  });
  return (bytes ?? (await course.readByOrigin()) - before) / 1e6 / seconds;
}

/** What a trial does before everybody rests. */
export async function prepare(trial: Trial, course: Course): Promise<void> {
  if (trial.case === 'silence') for (let at = 0; at < 2; at++) await page(course, trial.http2);
}

/** The figures of `figuresOf(trial)`, in its order. */
export async function runTrial(trial: Trial, course: Course): Promise<readonly number[]> {
  switch (trial.case) {
    case 'page':
      return [await page(course, trial.http2), median(await laterPages(course, trial.http2))];
    case 'silence':
      return [await page(course, trial.http2)];
    case 'bulk':
      return [await transfer(course, trial.transfer as keyof typeof transfers, trial.http2)];
    case 'api': {
      const seconds = callsTimes * course.seconds;
      const all = await load<Record<'restP50' | 'restP99' | 'besideP50' | 'besideP99', number>>(course, 'api', { seconds });
      return [all.restP50, all.restP99, all.besideP50, all.besideP99];
    }
    case 'spell':
      return afterSpell(course, trial.http2);
    case 'visitors':
      return farVisitors(course);
  }
}

async function afterSpell(course: Course, http2: boolean): Promise<readonly number[]> {
  const repair = await course.spoil();
  await load(course, 'down', { connections: 8, bytes: 1024 ** 4, http2, seconds: spellMs / 1000 }).finally(repair);
  await sleep(spellMs);
  return [await page(course, http2), await transfer(course, 'one', false)];
}

async function farVisitors(course: Course): Promise<readonly number[]> {
  const { fresh, back, resumed } = await load<Record<'fresh' | 'back' | 'resumed', number>>(course, 'first-byte', {});
  if (resumed < 1) process.stderr.write(`  ${resumed * 100} % of the tickets were accepted\n`);
  return [fresh, back, await page(course, false), await page(course, true), await transfer(course, 'one', false)];
}

export async function readBy(origin: Started): Promise<number> {
  const answer = firstJson<{ read: number }>(origin);
  origin.child.stdin?.write('\n');
  return (await answer).read;
}
