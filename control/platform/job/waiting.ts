// How many jobs wait, for the metrics, `underpass-server status` and the operators.

import type { Queries } from '../store/store.ts';

export interface WaitingJobs {
  readonly total: number;
  readonly oldestAtMs: number | null;
  /** Why the newest job that failed was not done. */
  readonly lastError: string | null;
}

export async function readQueue(db: Queries): Promise<WaitingJobs> {
  const [sums, failed] = await Promise.all([
    db
      .selectFrom('jobs')
      .select((eb) => [eb.fn.countAll<number>().as('total'), eb.fn.min('created_at').as('oldest')])
      .executeTakeFirstOrThrow(),
    db
      .selectFrom('jobs')
      .select('last_error')
      .where('last_error', 'is not', null)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst(),
  ]);
  const oldest: number | string | null = sums.oldest;
  return {
    total: Number(sums.total),
    oldestAtMs: oldest === null ? null : Number(oldest),
    lastError: failed?.last_error ?? null,
  };
}
