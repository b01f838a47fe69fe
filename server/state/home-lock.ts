// Lets one process at a time use a home folder: each of two would assume that no other process changes it.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ServerError } from '../process/error.ts';
import type { Settings } from '../settings/settings.ts';
import { openHome } from './home.ts';

/** What needs the lock: control's embedded database; an edge's name and its copy of the routes. */
const lockedParts = ({ role, databaseUrl }: Settings): readonly string[] => [
  ...(role === 'edge' || databaseUrl !== undefined ? [] : ['control']),
  ...(role === 'control' ? [] : ['edge']),
];

const isBusy = (error: unknown): boolean => (((error as { errcode?: number }).errcode ?? 0) & 0xff) === 5;

/** An SQLite lock: the system releases it when the process ends, even after a kill. */
function lock(home: string, part: string): DatabaseSync {
  let file: DatabaseSync | undefined;
  try {
    file = new DatabaseSync(join(home, `${part}.lock`));
    // With the journal in memory SQLite writes nothing, so a full disk does not stop an edge.
    file.exec('pragma journal_mode = memory; begin exclusive');
    return file;
  } catch (error) {
    file?.close();
    if (isBusy(error)) throw new ServerError('home-in-use', home, { cause: error });
    throw new ServerError('home-unusable', `${home} cannot be locked: ${(error as Error).message}`, { cause: error });
  }
}

/** Returns the function that unlocks. The operator's commands run beside a server and take no lock. */
export async function lockHome(settings: Settings): Promise<() => void> {
  const home = await openHome(settings.home);
  const held: DatabaseSync[] = [];
  const unlock = (): void => {
    for (const file of held.splice(0)) file.close();
  };
  try {
    for (const part of lockedParts(settings)) held.push(lock(home, part));
    return unlock;
  } catch (error) {
    unlock();
    throw error;
  }
}
