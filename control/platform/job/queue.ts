// Work that an answer must not wait for, kept in the store until it is done: mails, and what sign-in and registration do after
// their constant answer. A failed job is repeated with growing pauses until it expires.

import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { dayMs, hourMs } from '@underpass/rules/limits.ts';
import type { Logger } from 'pino';
import { NoSuchAddress } from '../mail/no-such-address.ts';
import { createId } from '../store/id.ts';
import { isTimeInDoubt } from '../store/known-time.ts';
import type { Schema } from '../store/schema.ts';
import type { Queries, Store } from '../store/store.ts';

/** Every kind of job and its payload. Payloads hold no secrets: tokens are made when their mail is written. */
export interface JobPayloads {
  /**
   * A mail, also without `isMailed`, which earlier releases do not write. With a session, the link renews its proof and does not
   * sign in.
   */
  'login-link': {
    readonly email: string;
    readonly browserHash: string | null;
    readonly isMailed?: boolean;
    readonly sessionId?: string;
    /** The page to open after the sign-in (rules/people/return-path.ts). */
    readonly path?: string;
  };
  /** A visitor's code. `isMailed` is false beyond the limits of mails. */
  'access-code': {
    readonly flowId: string;
    readonly host: string;
    readonly email: string;
    readonly address: string;
    readonly isMailed: boolean;
  };
  registration: {
    readonly email: string;
    readonly firstName: string;
    readonly lastName: string;
    readonly company: string;
    readonly github: string;
    readonly x: string;
    /** The invitation whose link the person held, and their browser, which a login link may open by itself. */
    readonly invitationId?: string;
    readonly browserHash?: string;
  };
  'registration-mail': {
    readonly email: string;
    readonly firstName: string;
    readonly step: 'received' | 'approved' | 'rejected';
  };
  'operator-mail': { readonly subject: string; readonly text: string };
  invitation: { readonly invitationId: string };
  /** One job per recipient: a failing address delays no other, and repeats no other's mail. */
  'domain-lost': { readonly email: string; readonly apexName: string };
  /** Tells a person what changed in their account or project. One job per recipient. */
  notice: { readonly email: string; readonly subject: string; readonly text: string };
  /** `text` is without the links, which the job makes. */
  'alert-mail': {
    readonly projectId: string;
    readonly userId: string;
    readonly subject: string;
    readonly text: string;
  };
  'account-deleted': { readonly email: string; readonly firstName: string };
}
export type JobKind = keyof JobPayloads;
export type JobHandlers = { readonly [K in JobKind]: (payload: JobPayloads[K]) => Promise<void> };

/** How long a job is tried. A login link expires after 15 minutes. */
const lifeMs: Readonly<Record<JobKind, number>> = {
  'login-link': 15 * 60_000,
  'access-code': 10 * 60_000,
  registration: 3 * dayMs,
  'registration-mail': 3 * dayMs,
  'operator-mail': dayMs,
  invitation: dayMs,
  'domain-lost': 3 * dayMs,
  notice: 3 * dayMs,
  'alert-mail': dayMs,
  'account-deleted': 3 * dayMs,
};

// A worker's sole right to a job. Longer than the sum of any job's own timeouts.
const leaseMs = 60_000;
// A job starts after the answer that caused it has left, after a random pause, so that timing reveals nothing to the caller.
const wakeAfterMs = 20;
const wakeWithinMs = 100;
const batch = 20;
const batchPauseMs = 2_000;
const firstPauseMs = 5_000;
const longestPauseMs = 30 * 60_000;
/** How far ahead a job can be due, with an hour by which clocks may differ. */
const furthestMs = longestPauseMs + hourMs;

export const nextPauseMs = (attempts: number): number => Math.min(firstPauseMs * 3 ** (attempts - 1), longestPauseMs);

/** Adds a job in the caller's transaction, or alone. */
export async function addJob<K extends JobKind>(db: Queries, nowMs: number, kind: K, payload: JobPayloads[K]): Promise<void> {
  await db
    .insertInto('jobs')
    .values({
      id: createId(nowMs),
      kind,
      payload: JSON.stringify(payload),
      attempts: 0,
      due_at: nowMs,
      expires_at: nowMs + lifeMs[kind],
      last_error: null,
      created_at: nowMs,
    })
    .execute();
}

export interface JobQueue {
  /** Call after a commit that added a job. */
  wake(): void;
  /** Runs all jobs that are due; resolves when none is left. */
  drain(): Promise<void>;
  start(): void;
  /** Starts no further job; resolves when those under way are done. The rest waits in the store for the next worker. */
  stop(): Promise<void>;
}

interface JobQueueDeps {
  readonly store: Store;
  readonly clock: () => number;
  readonly log: Logger;
  readonly handlers: JobHandlers;
}

/** Whether this worker got the job: of all workers that try, only one moves `due_at`. */
async function takeJob(db: Queries, job: Schema['jobs'], nowMs: number): Promise<boolean> {
  const taken = await db
    .updateTable('jobs')
    .set({ due_at: nowMs + leaseMs, attempts: job.attempts + 1 })
    .where('id', '=', job.id)
    .where('due_at', '=', job.due_at)
    .where('attempts', '=', job.attempts)
    .executeTakeFirst();
  return taken.numUpdatedRows > 0n;
}

/** The jobs that a person waits for. Each kind has its own lane, so a flood of one delays only itself. */
const awaited: readonly JobKind[] = ['login-link', 'access-code'];
const isAwaited = (kind: string): boolean => awaited.some((each) => each === kind);
/** The kinds of each lane. A kind that only a newer control knows is in none: the job waits for that control. */
type Lane = readonly JobKind[];
const lanes: readonly Lane[] = [
  ...awaited.map((kind) => [kind]),
  (Object.keys(lifeMs) as JobKind[]).filter((kind) => !isAwaited(kind)),
];

function dueJobs(db: Queries, lane: Lane, nowMs: number): Promise<Schema['jobs'][]> {
  const due = db
    .selectFrom('jobs')
    .selectAll()
    .where('kind', 'in', lane)
    // A job that is due later than any could be was added before the clock went back.
    .where((eb) => eb.or([eb('due_at', '<=', nowMs), eb('due_at', '>', nowMs + furthestMs)]));
  return due.orderBy('due_at').orderBy('id').limit(batch).execute();
}

const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 500);

async function finish({ store }: JobQueueDeps, job: Schema['jobs']): Promise<void> {
  await store.db.deleteFrom('jobs').where('id', '=', job.id).execute();
}

/**
 * A clock that jumped gives up no mail. Only login links and codes: nobody waits for one any more, and the person asks for
 * another.
 */
const isOver = async ({ store, clock, log }: JobQueueDeps, job: Schema['jobs'], atMs: number): Promise<boolean> =>
  job.expires_at <= atMs && (isAwaited(job.kind) || !(await isTimeInDoubt(store, clock(), log)));

/** Deletes expired links and codes all at once: one after the other, those of a flood would take as long as their mails. */
async function dropExpired(db: Queries, lane: Lane, nowMs: number): Promise<void> {
  const kinds = lane.filter(isAwaited);
  if (kinds.length === 0) return;
  await db.deleteFrom('jobs').where('kind', 'in', kinds).where('expires_at', '<=', nowMs).where('due_at', '<=', nowMs).execute();
}

async function postpone(deps: JobQueueDeps, job: Schema['jobs'], error: unknown): Promise<void> {
  const attempts = job.attempts + 1;
  const dueAt = deps.clock() + nextPauseMs(attempts);
  deps.log.warn({ job: job.id, kind: job.kind, attempts, err: error }, 'job failed');
  if (error instanceof NoSuchAddress || (await isOver(deps, job, dueAt))) return finish(deps, job);
  const change = { due_at: dueAt, last_error: errorText(error) };
  await deps.store.db.updateTable('jobs').set(change).where('id', '=', job.id).execute();
}

/** True if this worker is to run the job. */
async function claimJob(deps: JobQueueDeps, job: Schema['jobs']): Promise<boolean> {
  const nowMs = deps.clock();
  if (!(await isOver(deps, job, nowMs))) return takeJob(deps.store.db, job, nowMs);
  await finish(deps, job);
  return false;
}

async function runJob(deps: JobQueueDeps, job: Schema['jobs']): Promise<void> {
  const { handlers } = deps;
  try {
    const handle = handlers[job.kind as JobKind] as (payload: unknown) => Promise<void>;
    await handle(JSON.parse(job.payload));
    await finish(deps, job);
  } catch (error) {
    await postpone(deps, job, error);
  }
}

/**
 * Starts jobs in order, and none waits for another. Some e-mails get a mail and others do not: if jobs waited, the arrival of the
 * next mail would tell which. The pause after a full batch is the same whatever the jobs do. It bounds the mails under way: ten a
 * second, each for as long as its mail server takes.
 */
function createLane(deps: JobQueueDeps, lane: Lane, stopping: () => AbortSignal) {
  const underWay = new Set<Promise<void>>();
  let looking: Promise<void> | undefined;
  let askedAgain = false;

  const start = (job: Schema['jobs']): void => {
    const work = runJob(deps, job)
      // The job may have added another.
      .then(look)
      .catch((error) => deps.log.error({ err: error, job: job.id }, 'job stopped early'))
      .finally(() => underWay.delete(work));
    underWay.add(work);
  };
  const startDue = async (): Promise<void> => {
    await dropExpired(deps.store.db, lane, deps.clock());
    const read = () => dueJobs(deps.store.db, lane, deps.clock());
    for (let due = await read(); due.length > 0 && !stopping().aborted; due = await read()) {
      for (const job of due) if (!stopping().aborted && (await claimJob(deps, job))) start(job);
      if (due.length === batch) await pause(batchPauseMs, undefined, { signal: stopping() }).catch(() => {});
    }
  };
  /** One look at a time; a request during a look makes it look again before it ends. */
  const lookUntilQuiet = async (): Promise<void> => {
    while (askedAgain && !stopping().aborted) {
      askedAgain = false;
      await startDue();
    }
  };
  const look = (): Promise<void> => {
    askedAgain = true;
    looking ??= lookUntilQuiet().finally(() => {
      looking = undefined;
    });
    return looking;
  };
  const settled = async (): Promise<void> => {
    await looking;
    while (underWay.size > 0) await Promise.all(underWay);
  };
  return { look, settled };
}

export function createJobQueue(deps: JobQueueDeps): JobQueue {
  let stopping = new AbortController();
  const all = lanes.map((lane) => createLane(deps, lane, () => stopping.signal));
  const look = () => Promise.all(all.map((each) => each.look()));
  const settled = async (): Promise<void> => {
    await Promise.all(all.map((each) => each.settled()));
  };
  let timer: NodeJS.Timeout | undefined;
  let waking: NodeJS.Timeout | undefined;
  const lookQuietly = (): void => {
    waking = undefined;
    look().catch((error) => deps.log.error({ err: error }, 'job queue stopped early'));
  };
  return {
    wake: () => {
      if (timer) waking ??= setTimeout(lookQuietly, randomInt(wakeAfterMs, wakeWithinMs));
    },
    drain: async () => {
      await look();
      await settled();
    },
    start: () => {
      stopping = new AbortController();
      timer = setInterval(lookQuietly, firstPauseMs);
      lookQuietly();
    },
    stop: async () => {
      stopping.abort();
      clearInterval(timer);
      clearTimeout(waking);
      timer = undefined;
      waking = undefined;
      await settled();
    },
  };
}
