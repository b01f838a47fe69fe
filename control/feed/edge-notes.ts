// The health of all edges, stored once a minute in one row: commands that run beside the server read it.

import type { EdgeHealth } from '@underpass/rules/resource.ts';
import type { Queries } from '../store/store.ts';

const settingName = 'edges-noted';

export interface EdgeNote extends EdgeHealth {
  /** ISO 8601. */
  readonly notedAt: string;
}

export async function noteEdges(db: Queries, edges: readonly EdgeHealth[], nowMs: number): Promise<void> {
  const notedAt = new Date(nowMs).toISOString();
  const value = JSON.stringify(edges.map((edge): EdgeNote => ({ ...edge, notedAt })));
  await db
    .insertInto('settings')
    .values({ name: settingName, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}

export async function readEdgeNotes(db: Queries): Promise<readonly EdgeNote[]> {
  const row = await db.selectFrom('settings').select('value').where('name', '=', settingName).executeTakeFirst();
  return row === undefined ? [] : (JSON.parse(row.value) as EdgeNote[]);
}
