// Two transactions that conflict on Postgres: the one that loses runs again. SQLite runs one write at a time.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sql } from 'kysely';
import { skipWithout } from '../../../tests/helpers/tool.ts';
import { saveMarks } from '../../edges/feed/route-marks.ts';
import { addProject, addRegion, addTunnel } from '../../edges/feed/test-kit.ts';
import { startPostgres, type TestPostgres } from '../../test-kit-postgres.ts';
import { openPostgresStore } from './postgres.ts';
import type { Store } from './store.ts';

const skip = skipWithout('postgres');

/** Resolves once a query of the database waits for the lock of another. */
async function waitForLock({ db }: Store): Promise<void> {
  const waiting = sql<{
    pid: number;
  }>`select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  while ((await waiting.execute(db)).rows.length === 0);
}

describe('a write on Postgres', { skip }, () => {
  let postgres: TestPostgres;
  let store: Store;
  before(async () => {
    postgres = await startPostgres();
    store = await openPostgresStore(await postgres.createDatabase(), assert.fail);
  });
  after(async () => {
    await store.close();
    await postgres.close();
  });

  it('runs again when another write deletes a row that it refers to', async () => {
    await addRegion(store.db, 'eu');
    const ids = await addProject(store.db, 'ann');
    const seed = { ...ids, region: 'eu', hosts: [] };
    const [gone, kept] = [
      await addTunnel(store.db, { ...seed, name: 'gone' }),
      await addTunnel(store.db, { ...seed, name: 'kept' }),
    ];
    const deleted = Promise.withResolvers<void>();
    const commit = Promise.withResolvers<void>();
    const deletion = store.write(async (trx) => {
      await trx.deleteFrom('tunnels').where('id', '=', gone).execute();
      deleted.resolve();
      await commit.promise;
    });
    await deleted.promise;
    const written = saveMarks(store, [
      { tunnelId: gone, hosts: 'a' },
      { tunnelId: kept, hosts: 'b' },
    ]);
    // The writer has read the tunnel before its deletion, and waits for the deletion to commit.
    await waitForLock(store);
    commit.resolve();
    await Promise.all([deletion, written]);
    const routes = await store.db.selectFrom('tunnel_routes').select('tunnel_id').execute();
    assert.deepEqual(routes, [{ tunnel_id: kept }]);
  });
});
