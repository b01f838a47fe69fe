// For tests: one suite on each of the databases that a store may have.

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { skipWithout } from '../tests/helpers/tool.ts';
import { openPostgresStore } from './store/postgres.ts';
import { openSqliteStore } from './store/sqlite.ts';
import type { Store } from './store/store.ts';
import { startPostgres, type TestPostgres } from './test-kit-postgres.ts';

export type StoreSuite = (name: string, skip: string | false, open: () => Promise<Store>) => void;

export interface PostgresOfFile {
  readonly skip: string | false;
  /** A new empty database. */
  createDatabase(): Promise<string>;
}

/** Of fifty that write at once some wait for the connections of the others, on a busy machine for longer than anybody should. */
const crowdMs = 60_000;

/** Declares the suite twice; each call of open gives a new store. The Postgres is there for other tests of the file too. */
export function onBothDatabases(suite: StoreSuite): PostgresOfFile {
  const skip = skipWithout('postgres');
  let postgres: TestPostgres;
  if (!skip) {
    before(async () => {
      postgres = await startPostgres();
    });
    after(() => postgres.close());
  }
  const createDatabase = (): Promise<string> => postgres.createDatabase();
  suite('node:sqlite', false, () => openSqliteStore(':memory:'));
  suite('Postgres', skip, async () => openPostgresStore(await createDatabase(), (error) => assert.fail(error), crowdMs));
  return { skip, createDatabase };
}
