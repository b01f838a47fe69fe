// The user's lock: counts of what is the user's own hold until the transaction ends. Take it after a project's lock.

import type { Queries } from '../../platform/store/store.ts';
import { refuse } from '../http/refusal.ts';

export async function lockUser(trx: Queries, userId: string): Promise<void> {
  const locked = await trx
    .updateTable('users')
    .set((eb) => ({ created_at: eb.ref('created_at') }))
    .where('id', '=', userId)
    .executeTakeFirst();
  if (locked.numUpdatedRows === 0n) refuse('signedOut', 'Sign in first.');
}
