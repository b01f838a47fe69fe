// Work that an answer must not wait for, kept in the store until it is done: mails, and what sign-in and registration do after
// their constant answer. A failed job is repeated with growing pauses until it expires.

import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import { NoSuchAddress } from '../mail/no-such-address.ts';
import { createId } from '../store/id.ts';
import { isTimeInDoubt } from '../store/known-time.ts';
import type { JobsTable } from '../store/schema.ts';
import type { Queries, Store } from '../store/store.ts';

/** Every kind of job and its payload. Payloads hold no secrets: tokens are made when their mail is written. */
export interface JobPayloads {
  'login-link': { readonly email: string; readonly browserHash: string | null };
  registration: {
    readonly email: string;
    readonly firstName: string;
    readonly lastName: string;
    readonly company: string;
    readonly github: string;
    readonly x: string;
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
  'account-deleted': { readonly email: string; readonly firstName: string };
}
export type JobKind = keyof JobPayloads;
export type JobHandlers = { readonly [K in JobKind]: (payload: JobPayloads[K]) => Promise<void> };

const day = 24 * 3600_000;
/** How long a job is tried. A login link expires after 15 minutes. */
const lifeMs: Readonly<Record<JobKind, number>> = {
  'login-link': 15 * 60_000,
  registration: 3 * day,
  'registration-mail': 3 * day,
  'operator-mail': day,
  invitation: day,
  'domain-lost': 3 * day,
  'account-deleted': 3 * day,
};

// While one worker runs a job, no other takes it. Longer than the sum of any job's own timeouts.
const leaseMs = 60_000;
// A job starts after the answer that caused it has left, after a random pause, so that timing reveals nothing to the caller.
const wakeAfterMs = 20;
const wakeWithinMs = 100;
const batch = 20;
const firstPauseMs = 5_000;
const longestPauseMs = 30 * 60_000;
/** How far ahead a job can be due, with an hour by which clocks may differ. */
const furthestMs = longestPauseMs + 3600_000;

export const nextPauseMs = (attempts: number): number => Math.min(firstPauseMs * 3 ** (attempts - 1), longestPauseMs);

/** In the caller's transaction, or alone. */
export const addJob = async <K extends JobKind>(db: Queries, nowMs: number, kind: K, payload: JobPayloads[K]): Promise<void> => {
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
};

export interface JobQueue {
  /** After a commit that added a job. */
  wake(): void;
  /** Runs all jobs that are due; resolves when none is left. */
  drain(): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

export interface JobQueueDeps {
  readonly store: Store;
  readonly clock: () => number;
  readonly log: Logger;
  readonly handlers: JobHandlers;
}

/** Whether this worker got the job: of all workers that try, only one moves `due_at`. */
const takeJob = async (db: Queries, job: JobsTable, nowMs: number): Promise<boolean> => {
  const taken = await db
    .updateTable('jobs')
    .set({ due_at: nowMs + leaseMs, attempts: job.attempts + 1 })
    .where('id', '=', job.id)
    .where('due_at', '=', job.due_at)
    .where('attempts', '=', job.attempts)
    .executeTakeFirst();
  return taken.numUpdatedRows > 0n;
};

/** Each lane runs its jobs one after the other. Login links have their own, because a user waits for them. */
const lanes = ['=', '<>'] as const;
type Lane = (typeof lanes)[number];

const dueJobs = (db: Queries, lane: Lane, nowMs: number): Promise<JobsTable[]> => {
  const due = db
    .selectFrom('jobs')
    .selectAll()
    .where('kind', lane, 'login-link')
    // A job that is due later than any could be was added before the clock went back.
    .where((eb) => eb.or([eb('due_at', '<=', nowMs), eb('due_at', '>', nowMs + furthestMs)]));
  return due.orderBy('due_at').orderBy('id').limit(batch).execute();
};

const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 500);

const finish = async ({ store }: JobQueueDeps, job: JobsTable): Promise<void> => {
  await store.db.deleteFrom('jobs').where('id', '=', job.id).execute();
};

/** A clock that jumped gives up no mail. Only login links: nobody waits for one any more, and the person asks for another. */
const isOver = async ({ store, clock, log }: JobQueueDeps, job: JobsTable, atMs: number): Promise<boolean> =>
  job.expires_at <= atMs && (job.kind === 'login-link' || !(await isTimeInDoubt(store, clock(), log)));

const postpone = async (deps: JobQueueDeps, job: JobsTable, error: unknown): Promise<void> => {
  const attempts = job.attempts + 1;
  const dueAt = deps.clock() + nextPauseMs(attempts);
  deps.log.warn({ job: job.id, kind: job.kind, attempts, err: error }, 'job failed');
  if (error instanceof NoSuchAddress || (await isOver(deps, job, dueAt))) return finish(deps, job);
  const change = { due_at: dueAt, last_error: errorText(error) };
  await deps.store.db.updateTable('jobs').set(change).where('id', '=', job.id).execute();
};

const runJob = async (deps: JobQueueDeps, job: JobsTable): Promise<void> => {
  const { store, clock, handlers } = deps;
  if (await isOver(deps, job, clock())) return finish(deps, job);
  if (!(await takeJob(store.db, job, clock()))) return;
  try {
    const handle = handlers[job.kind as JobKind] as ((payload: unknown) => Promise<void>) | undefined;
    await handle?.(JSON.parse(job.payload));
    await finish(deps, job);
  } catch (error) {
    await postpone(deps, job, error);
  }
};

const runDue = async (deps: JobQueueDeps, lane: Lane): Promise<void> => {
  const read = () => dueJobs(deps.store.db, lane, deps.clock());
  for (let due = await read(); due.length > 0; due = await read()) {
    for (const job of due) await runJob(deps, job);
  }
};

/** One run of a lane at a time; a request during a run makes it look again before it ends. */
const createDrain = (deps: JobQueueDeps, lane: Lane) => {
  let running: Promise<void> | undefined;
  let askedAgain = false;
  const runUntilQuiet = async (): Promise<void> => {
    do {
      askedAgain = false;
      await runDue(deps, lane);
    } while (askedAgain);
  };
  return {
    drain: (): Promise<void> => {
      askedAgain = true;
      running ??= runUntilQuiet().finally(() => {
        running = undefined;
      });
      return running;
    },
    settled: async (): Promise<void> => running,
  };
};

export const createJobQueue = (deps: JobQueueDeps): JobQueue => {
  const drains = lanes.map((lane) => createDrain(deps, lane));
  const drain = async (): Promise<void> => {
    await Promise.all(drains.map((each) => each.drain()));
  };
  let timer: NodeJS.Timeout | undefined;
  let waking: NodeJS.Timeout | undefined;
  const drainQuietly = (): void => {
    waking = undefined;
    drain().catch((error) => deps.log.error({ err: error }, 'job queue stopped early'));
  };
  return {
    wake: () => {
      if (timer) waking ??= setTimeout(drainQuietly, randomInt(wakeAfterMs, wakeWithinMs));
    },
    drain,
    start: () => {
      timer = setInterval(drainQuietly, firstPauseMs);
      drainQuietly();
    },
    stop: async () => {
      clearInterval(timer);
      clearTimeout(waking);
      timer = undefined;
      waking = undefined;
      await Promise.all(drains.map((each) => each.settled()));
    },
  };
};
