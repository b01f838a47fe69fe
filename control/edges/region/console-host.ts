// The dashboard's own host, if an edge serves it: a name of ours like a region's, and certificates for it come the same way.

import type { Queries } from '../../platform/store/store.ts';

export interface ConsoleHost {
  readonly host: string;
  /** The region whose edges answer challenges for the host and get its certificate. */
  readonly region: string;
}

const settingName = 'console';

export async function readConsoleHost(db: Queries): Promise<ConsoleHost | undefined> {
  const row = await db.selectFrom('settings').select('value').where('name', '=', settingName).executeTakeFirst();
  return row && (JSON.parse(row.value) as ConsoleHost);
}

/** Null if no edge of ours serves the dashboard. */
export async function keepConsoleHost(db: Queries, console: ConsoleHost | null): Promise<void> {
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
}
