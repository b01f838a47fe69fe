// A value of the whole installation, as JSON in a row of its own.

import type { Queries } from './store.ts';

/** Undefined without the row. */
export async function readSetting<Value>(db: Queries, name: string): Promise<Value | undefined> {
  const row = await db.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirst();
  return row && (JSON.parse(row.value) as Value);
}

export async function writeSetting(db: Queries, name: string, content: unknown): Promise<void> {
  const value = JSON.stringify(content);
  await db
    .insertInto('settings')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}
