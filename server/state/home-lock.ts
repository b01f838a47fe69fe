// One process at a time keeps its state in a home folder: two would each believe that nobody else changes it.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ServerError } from '../process/error.ts';
import type { Settings } from '../settings/settings.ts';
import { openHome } from './home.ts';

/** Of control the embedded database; of an edge its name and its copy of the routes. */
const lockedParts = ({ role, databaseUrl }: Settings): readonly string[] => [
  ...(role === 'edge' || databaseUrl !== undefined ? [] : ['control']),
  ...(role === 'control' ? [] : ['edge']),
];

const isBusy = (error: unknown): boolean => (((error as { errcode?: number }).errcode ?? 0) & 0xff) === 5;

/** A lock of SQLite's: the system takes it back when its process ends, however that ends. */
function lock(home: string, part: string): DatabaseSync {
  let file: DatabaseSync | undefined;
  try {
    file = new DatabaseSync(join(home, `${part}.lock`));
    // A journal in memory: not a byte is written, so that a full disk stops no edge.
    file.exec('pragma journal_mode = memory; begin exclusive');
    return file;
  } catch (error) {
    file?.close();
    if (isBusy(error)) throw new ServerError('home-in-use', home, { cause: error });
    throw new ServerError('home-unusable', `${home} cannot be locked: ${(error as Error).message}`, { cause: error });
  }
}

/** Answers how to give it back. The operator's commands work beside a server and take no lock. */
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
