// Both drivers report an unreachable database as a StoreOutage, unlike a wrong query, and use it again once it is back.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { pino } from 'pino';
import { skipWithout } from '../../../tests/helpers/tool.ts';
import { startPostgres } from '../../test-kit-postgres.ts';
import { Dependency } from '../dependency/dependency.ts';
import { StoreOutage } from './outage.ts';
import { openPostgresStore } from './postgres.ts';
import { openSqliteStore } from './sqlite.ts';
import type { Store } from './store.ts';

const put = (store: Store, name: string, value = 'x'): Promise<unknown> =>
  store.write((trx) => trx.insertInto('settings').values({ name, value }).execute());
const namesIn = async ({ db }: Store): Promise<string[]> =>
  (await db.selectFrom('settings').select('name').orderBy('name').execute()).map(({ name }) => name);

describe('Postgres', { skip: skipWithout('postgres') }, () => {
  it('undoes the open transaction when it dies, and serves again after a restart', async () => {
    const postgres = await startPostgres();
    const idle: Error[] = [];
    const store = await openPostgresStore(await postgres.createDatabase(), (error) => idle.push(error));
    const begun = store.write(async (trx) => {
      await trx.insertInto('settings').values({ name: 'lost', value: 'x' }).execute();
      await postgres.kill();
      // Time for the driver to notice the broken connection while no query waits for it.
      await delay(50);
      await trx.insertInto('settings').values({ name: 'late', value: 'x' }).execute();
    });
    await assert.rejects(begun, StoreOutage);
    await assert.rejects(namesIn(store), StoreOutage);
    await postgres.start();
    await put(store, 'kept');
    assert.deepEqual(await namesIn(store), ['kept']);
    await assert.rejects(put(store, 'kept'), (error) => !(error instanceof StoreOutage));
    await store.close();
    await postgres.close();
  });
});

describe('Postgres that is silent', { skip: skipWithout('postgres') }, () => {
  it('fails calls at once when it is known to be away, and serves again when it answers', { timeout: 60_000 }, async () => {
    const postgres = await startPostgres();
    const away = Promise.withResolvers<void>();
    const back = Promise.withResolvers<void>();
    const log = pino({}, { write: (line) => (JSON.parse(line).level > 40 ? away : back).resolve() });
    const dependency = new Dependency('database', { clock: Date.now, log });
    const store = await openPostgresStore(await postgres.createDatabase(), () => {}, 5_000, dependency);
    await put(store, 'kept');
    postgres.signal('SIGSTOP');
    await away.promise;
    const askedAt = performance.now();
    await assert.rejects(namesIn(store), StoreOutage);
    await assert.rejects(put(store, 'lost'), StoreOutage);
    assert.ok(performance.now() - askedAt < 5_000, 'a question waited until its timeout');
    postgres.signal('SIGCONT');
    await back.promise;
    assert.deepEqual(await namesIn(store), ['kept']);
    await store.close();
    await postgres.close();
  });
});

describe('SQLite', () => {
  it('reports a damaged page as an outage, and serves the other tables', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'underpass-damage-'));
    const path = join(folder, 'underpass.db');
    const first = await openSqliteStore(path);
    await put(first, 'kept');
    const { rows } = await sql<{ rootpage: number }>`select rootpage from sqlite_master where name = 'audit'`.execute(first.db);
    await first.close();
    const page = rows[0]?.rootpage ?? 0;
    writeFileSync(path, readFileSync(path).fill(0xa5, (page - 1) * 4096, page * 4096));
    const store = await openSqliteStore(path);
    await assert.rejects(store.db.selectFrom('audit').selectAll().execute(), StoreOutage);
    assert.deepEqual(await namesIn(store), ['kept']);
    await store.close();
    rmSync(folder, { recursive: true });
  });

  it('undoes a write without room on the disk, and writes again once there is room', async () => {
    const store = await openSqliteStore(':memory:');
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(store.db);
    await sql`pragma max_page_count = ${sql.lit((rows[0]?.page_count ?? 0) + 4)}`.execute(store.db);
    await put(store, 'small');
    await assert.rejects(put(store, 'large', 'x'.repeat(100_000)), StoreOutage);
    assert.deepEqual(await namesIn(store), ['small']);
    await sql`pragma max_page_count = 1000000`.execute(store.db);
    await put(store, 'large', 'x'.repeat(100_000));
    assert.deepEqual(await namesIn(store), ['large', 'small']);
    await assert.rejects(put(store, 'large'), (error) => !(error instanceof StoreOutage));
    await store.close();
  });
});
