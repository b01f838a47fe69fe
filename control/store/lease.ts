// Named locks between control processes, with an end: a process that dies frees them by itself.

import { randomUUID } from 'node:crypto';
import type { Store } from './store.ts';

/** Work of one lease ends well before; a dead holder blocks for so long at most. */
const leaseMs = 10 * 60_000;

/** Runs the work if the lease is free; answers false when another holds it. */
export type WithLease = (name: string, work: () => Promise<void>) => Promise<boolean>;

export function createWithLease(store: Store, clock: () => number): WithLease {
  const take = (name: string, holder: string): Promise<boolean> =>
    store.write(async (trx) => {
      const now = clock();
      await trx.deleteFrom('leases').where('name', '=', name).where('expires_at', '<=', now).execute();
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
