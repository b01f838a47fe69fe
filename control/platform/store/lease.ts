// Named locks between control processes. A lock expires, so a process that dies does not block the others for long.

import { randomUUID } from 'node:crypto';
import type { ExpressionBuilder } from 'kysely';
import type { Schema } from './schema.ts';
import type { Store } from './store.ts';

/** The work under a lease ends well before. A dead holder blocks the others no longer than this. */
const leaseMs = 10 * 60_000;

/** Runs the work if the lease is free; answers false when another holds it. */
export type WithLease = (name: string, work: () => Promise<void>) => Promise<boolean>;

export function createWithLease(store: Store, clock: () => number): WithLease {
  const take = (name: string, holder: string): Promise<boolean> =>
    store.write(async (trx) => {
      const now = clock();
      // A lease that ends later than any could was taken before the clock went back.
      const isDead = ({ eb, or }: ExpressionBuilder<Schema, 'leases'>) =>
        or([eb('expires_at', '<=', now), eb('expires_at', '>', now + leaseMs)]);
      await trx.deleteFrom('leases').where('name', '=', name).where(isDead).execute();
      const row = { name, holder, expires_at: now + leaseMs };
      const taken = await trx
        .insertInto('leases')
        .values(row)
        .onConflict((conflict) => conflict.column('name').doNothing())
        .returning('name')
        .execute();
      return taken.length > 0;
    });

  const give = async (name: string, holder: string): Promise<void> => {
    await store.db.deleteFrom('leases').where('name', '=', name).where('holder', '=', holder).execute();
  };

  return async (name, work) => {
    const holder = randomUUID();
    if (!(await take(name, holder))) return false;
    try {
      await work();
    } finally {
      await give(name, holder);
    }
    return true;
  };
}
