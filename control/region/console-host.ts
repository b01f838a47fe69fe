// The dashboard's own host, where an edge serves it: a name of ours like a region's, with a certificate by the same means.

import type { Queries } from '../store/store.ts';

export interface ConsoleHost {
  readonly host: string;
  /** Its edges answer challenges for the host and get its certificate. */
  readonly region: string;
}

const settingName = 'console';

export const readConsoleHost = async (db: Queries): Promise<ConsoleHost | undefined> => {
  const row = await db.selectFrom('settings').select('value').where('name', '=', settingName).executeTakeFirst();
  return row && (JSON.parse(row.value) as ConsoleHost);
};

/** Null where something else than an edge of ours serves it. */
export const keepConsoleHost = async (db: Queries, console: ConsoleHost | null): Promise<void> => {
  if (console === null) {
    await db.deleteFrom('settings').where('name', '=', settingName).execute();
    return;
  }
  const value = JSON.stringify(console);
  await db
    .insertInto('settings')
    .values({ name: settingName, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
};
