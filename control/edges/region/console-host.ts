// The dashboard's own host, if an edge serves it: a name of ours like a region's, and certificates for it come the same way.

import { readSetting, writeSetting } from '../../platform/store/setting.ts';
import type { Queries } from '../../platform/store/store.ts';

interface ConsoleHost {
  readonly host: string;
  /** The region whose edges answer challenges for the host and get its certificate. */
  readonly region: string;
}

const settingName = 'console';

export const readConsoleHost = (db: Queries): Promise<ConsoleHost | undefined> => readSetting<ConsoleHost>(db, settingName);

/** Null if no edge of ours serves the dashboard. */
export async function keepConsoleHost(db: Queries, console: ConsoleHost | null): Promise<void> {
  if (console === null) await db.deleteFrom('settings').where('name', '=', settingName).execute();
  else await writeSetting(db, settingName, console);
}
