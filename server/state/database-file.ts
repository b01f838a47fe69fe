// What a start expects of the embedded database's file: that an earlier server's database is still there, and that it is whole.

import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { checkSqliteFile } from '@underpass/control/platform/store/sqlite-check.ts';
import type { Logger } from 'pino';
import { ServerError } from '../process/error.ts';
import type { Settings } from '../settings/settings.ts';

export const databasePath = (home: string): string => join(home, 'underpass.db');

/** SQLite reads an empty file as a database without tables. */
export const hasDatabase = (home: string): boolean => (statSync(databasePath(home), { throwIfNoEntry: false })?.size ?? 0) > 0;

/** A server makes these only after its database. `keys` is missing if UNDERPASS_MASTER_KEY is set, and `ca-key.pem` in production. */
const laterFiles = ['keys', 'ca-key.pem', 'edge-id'] as const;

/** Throws if a used home has lost its database: it would look like a first start, and everything would be gone without a word. */
export function expectNoLostDatabase({ home, databaseUrl }: Settings): void {
  if (databaseUrl !== undefined || hasDatabase(home)) return;
  const left = laterFiles.find((name) => existsSync(join(home, name)));
  if (left === undefined) return;
  throw new ServerError('database-lost', `${databasePath(home)} does not exist, but ${join(home, left)} does`);
}

/** The check reads some 400 MB a second from memory, and at most as much as the disk gives. */
const checkLimitMs = 20_000;

/** Refuses a damaged database before a migration or a sweep writes to it. */
export async function expectWholeDatabase({ home, databaseUrl }: Settings, log: Logger): Promise<void> {
  if (databaseUrl !== undefined || !hasDatabase(home)) return;
  const path = databasePath(home);
  const found = await checkSqliteFile(path, checkLimitMs);
  if (found === 'unfinished') log.warn({ path, limitMs: checkLimitMs }, 'store: not checked for damage within the limit');
  if (typeof found === 'object') throw new ServerError('database-damaged', `${path}: ${found.damage}`);
}
