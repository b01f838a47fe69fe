// Runs one suite of tests on each database.

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { skipWithout } from '../tests/helpers/tool.ts';
import { openPostgresStore } from './platform/store/postgres.ts';
import { openSqliteStore } from './platform/store/sqlite.ts';
import type { Store } from './platform/store/store.ts';
import { startPostgres, type TestPostgres } from './test-kit-postgres.ts';

export type StoreSuite = (name: string, skip: string | false, open: () => Promise<Store>) => void;

export interface PostgresOfFile {
  readonly skip: string | false;
  /** A new empty database. */
  createDatabase(): Promise<string>;
}

/** Time for fifty writes at once: some wait for a connection, on a busy machine longer than the product allows. */
const crowdMs = 60_000;

/** Declares the suite twice; each call of `open` gives a new store. Other tests of the file may use the Postgres too. */
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
