// The browsers in which a person has signed in. A sign-in in another one is mailed to them.

import { createId } from '../../platform/store/id.ts';
import type { Queries } from '../../platform/store/store.ts';

// A person with more of them deletes their cookies at each visit. The oldest make room.
const browsersPerUser = 50;

/** Remembers the browser. True if the person has signed in before, and never in this one. */
export async function meetBrowser(trx: Queries, userId: string, browserHash: string, nowMs: number): Promise<boolean> {
  const query = trx.selectFrom('known_browsers').select(['id', 'browser_hash']).where('user_id', '=', userId);
  const known = await query.orderBy('seen_at', 'desc').execute();
  const surplus = known.slice(browsersPerUser - 1).map(({ id }) => id);
  if (surplus.length > 0) await trx.deleteFrom('known_browsers').where('id', 'in', surplus).execute();
  await trx
    .insertInto('known_browsers')
    .values({ id: createId(nowMs), user_id: userId, browser_hash: browserHash, seen_at: nowMs })
    .onConflict((conflict) => conflict.columns(['user_id', 'browser_hash']).doUpdateSet({ seen_at: nowMs }))
    .execute();
  return known.length > 0 && !known.some((each) => each.browser_hash === browserHash);
}
