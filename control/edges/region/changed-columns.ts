// Which columns of a region an operator has changed: the settings that a start applies leave those as they are.

import type { Schema } from '../../platform/store/schema.ts';
import { readSetting, writeSetting } from '../../platform/store/setting.ts';
import type { Queries } from '../../platform/store/store.ts';

type Column = keyof Schema['regions'];

const settingName = (region: string): string => `region-changed/${region}`;

export const readChangedColumns = async (db: Queries, region: string): Promise<readonly Column[]> =>
  (await readSetting<Column[]>(db, settingName(region))) ?? [];

/** Call with the region's row locked. */
export async function addChangedColumns(trx: Queries, region: string, columns: readonly Column[]): Promise<void> {
  const all = new Set([...(await readChangedColumns(trx, region)), ...columns]);
  await writeSetting(trx, settingName(region), [...all]);
}

export async function forgetChangedColumns(trx: Queries, region: string): Promise<void> {
  await trx.deleteFrom('settings').where('name', '=', settingName(region)).execute();
}

/** What a start would replace by its settings: the region's values that no operator has changed; empty without such a region. */
export async function readUnchangedColumns(db: Queries, region: string): Promise<Partial<Schema['regions']>> {
  const row = await db.selectFrom('regions').selectAll().where('name', '=', region).executeTakeFirst();
  const changed = new Set<string>(await readChangedColumns(db, region));
  return Object.fromEntries(Object.entries(row ?? {}).filter(([column]) => !changed.has(column)));
}
