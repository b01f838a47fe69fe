// Keeps in the store which routes the edges have acknowledged, so that they survive a restart of control.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { piecesOf } from '../../platform/store/pieces.ts';
import type { Store } from '../../platform/store/store.ts';
import type { LiveMark } from './region-state.ts';

/** One transaction: short, because the embedded database does one thing at a time. */
const marksAtOnce = 50;

async function saveSome(store: Store, marks: readonly LiveMark[]): Promise<void> {
  await store.write(async (trx) => {
    for (const { tunnelId, hosts } of marks) {
      await trx
        .insertInto('tunnel_routes')
        .columns(['tunnel_id', 'hosts'])
        .expression((eb) =>
          eb
            .selectFrom('tunnels')
            .select((each) => ['id', each.val(hosts).as('hosts')])
            .where('id', '=', tunnelId),
        )
        .onConflict((conflict) => conflict.column('tunnel_id').doUpdateSet({ hosts }))
        .execute();
    }
  });
}

/** Passes over tunnels that are deleted by now. The embedded database answers within the turn, so calls of the API need turns between. */
export async function saveMarks(store: Store, marks: readonly LiveMark[]): Promise<void> {
  for (const some of piecesOf(marks, marksAtOnce)) {
    await saveSome(store, some);
    await nextTurn();
  }
}
