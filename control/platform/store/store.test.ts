// One suite for both drivers: the guarantees that the rest of control relies on.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { sql } from 'kysely';
import { onBothDatabases, type StoreSuite } from '../../test-kit-databases.ts';
import { checkBackup, dumpStore, restoreStore } from './dump.ts';
import { createId } from './id.ts';
import { isUniqueViolation, migrateToLatest, type Queries, type Store, takeProjectLock } from './store.ts';

const user = (email: string, id = createId(1)) => ({
  id,
  email,
  first_name: 'Ann',
  last_name: 'Lee',
  operator: 0 as const,
  default_project: null,
  invited_by: null,
  suspended_at: null,
  created_at: 1_790_000_000_000,
});
const project = (id: string) => ({
  id,
  name: id,
  limits: null,
  suspended_at: null,
  passkey_required: 0 as const,
  revision: 0,
  created_at: 1,
});
const domain = (projectId: string, apexName: string, owned: boolean) => ({
  id: createId(1),
  project_id: projectId,
  apex_name: apexName,
  challenge: 'c',
  verified_at: owned ? 1 : null,
  owned_apex: owned ? apexName : null,
  checked_at: null,
  misses: 0,
  first_missed_at: null,
  created_at: 1,
});
async function countDomains(db: Queries): Promise<number> {
  const row = await db
    .selectFrom('domains')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .executeTakeFirstOrThrow();
  return Number(row.n);
}
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));

const suite: StoreSuite = (name, skip, open) =>
  describe(`store on ${name}`, { skip }, () => {
    const opened: Store[] = [];
    const fresh = async (): Promise<Store> => {
      const store = await open();
      opened.push(store);
      return store;
    };
    after(async () => {
      for (const store of opened) await store.close();
    });

    it('gives back milliseconds, nulls and flags as they were written', async () => {
      const store = await fresh();
      const row = user('ann@example.com');
      await store.db.insertInto('users').values(row).execute();
      const read = await store.db.selectFrom('users').selectAll().executeTakeFirstOrThrow();
      assert.deepEqual({ ...read }, row);
    });

    it('reports a taken unique key, on a column and on a primary key', async () => {
      const store = await fresh();
      const row = user('ann@example.com');
      await store.db.insertInto('users').values(row).execute();
      const again = [row, user('ann@example.com'), user('bob@example.com', row.id)];
      for (const values of again) {
        await assert.rejects(store.db.insertInto('users').values(values).execute(), isUniqueViolation);
      }
    });

    it('lets several projects add an apex, and only one own it', async () => {
      const store = await fresh();
      for (const id of ['a', 'b', 'c']) await store.db.insertInto('projects').values(project(id)).execute();
      await store.db
        .insertInto('domains')
        .values([domain('a', 'example.com', true), domain('b', 'example.com', false)])
        .execute();
      await assert.rejects(
        store.db
          .insertInto('domains')
          .values(domain('c', 'example.com', true))
          .execute(),
        isUniqueViolation,
      );
      assert.equal(await countDomains(store.db), 2);
    });

    it('undoes a failed write entirely', async () => {
      const store = await fresh();
      const write = store.write(async (trx) => {
        await trx.insertInto('users').values(user('ann@example.com')).execute();
        throw new Error('stop');
      });
      await assert.rejects(write, /stop/);
      assert.equal(await store.db.selectFrom('users').select('id').executeTakeFirst(), undefined);
    });

    it('serialises the writes of one project, so a quota holds against 50 at once', async () => {
      const store = await fresh();
      await store.db.insertInto('projects').values(project('p')).execute();
      const addUnderQuota = (index: number) =>
        store.write(async (trx) => {
          await takeProjectLock(trx, 'p');
          if ((await countDomains(trx)) >= 10) return false;
          await trx
            .insertInto('domains')
            .values(domain('p', `d${index}.com`, false))
            .execute();
          return true;
        });
      const added = await Promise.all(times(50, addUnderQuota));
      assert.equal(added.filter(Boolean).length, 10);
      assert.equal(await countDomains(store.db), 10);
    });

    it('gives a reader one consistent state while others write', async () => {
      const store = await fresh();
      await store.db.insertInto('users').values(user('ann@example.com')).execute();
      const seen = await store.read(async (trx) => {
        const first = await trx.selectFrom('users').select('id').execute();
        if (store.kind === 'postgres') await store.db.insertInto('users').values(user('bob@example.com')).execute();
        const second = await trx.selectFrom('users').select('id').execute();
        return [first.length, second.length];
      });
      assert.deepEqual(seen, [1, 1]);
    });

    it('deletes a project with its rows', async () => {
      const store = await fresh();
      await store.db.insertInto('projects').values(project('p')).execute();
      await store.db
        .insertInto('domains')
        .values(domain('p', 'example.com', true))
        .execute();
      await store.db.deleteFrom('projects').where('id', '=', 'p').execute();
      assert.equal(await countDomains(store.db), 0);
    });

    it('opens a database that the next release has migrated, so a release can be rolled back', async () => {
      const store = await fresh();
      await sql`insert into kysely_migration (name, timestamp) values ('9999-next', '2100-01-01T00:00:00.000Z')`.execute(
        store.db,
      );
      await migrateToLatest(store.db);
      assert.equal(await countDomains(store.db), 0);
    });

    it('restores a dump exactly, and only into an empty store', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'underpass-dump-'));
      const [first, second] = [await fresh(), await fresh()];
      const people = times(1203, (index) => user(`person-${index}@example.com`));
      for (const person of people) await first.db.insertInto('users').values(person).execute();
      await first.db.insertInto('projects').values(project('p')).execute();
      await first.db
        .insertInto('members')
        .values(people.slice(0, 700).map((it) => ({ project_id: 'p', user_id: it.id, role: 'owner' as const, created_at: 1 })))
        .execute();
      const [one, two] = [join(folder, 'one'), join(folder, 'two')];
      await dumpStore(first, one);
      await restoreStore(second, one);
      await dumpStore(second, two);
      assert.equal(readFileSync(two, 'utf8'), readFileSync(one, 'utf8'));
      assert.equal(readFileSync(one, 'utf8').split('\n').length, 1 + 1203 + 1 + 700 + 1 + 1);
      assert.equal(statSync(one).mode & 0o777, 0o600);
      await assert.rejects(restoreStore(second, one), /the database is not empty: it has users, /);
      await assert.rejects(dumpStore(first, one), /EEXIST/);
      const away = { ...first, read: () => Promise.reject(new Error('away')) };
      await assert.rejects(dumpStore(away, join(folder, 'three')), /away/);
      assert.deepEqual(readdirSync(folder), ['one', 'two'], 'a dump that fails leaves no file, and older dumps stay');
      rmSync(folder, { recursive: true });
    });

    it('restores nothing from a damaged dump', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'underpass-dump-'));
      const [first, second] = [await fresh(), await fresh()];
      await first.db.insertInto('users').values(user('ann@example.com')).execute();
      await dumpStore(first, join(folder, 'dump'));
      const whole = readFileSync(join(folder, 'dump'), 'utf8');
      const withoutEnding = whole.slice(0, whole.trimEnd().lastIndexOf('\n') + 1);
      const damaged = [withoutEnding, withoutEnding.replace(/\n.*\n$/, '\n'), whole.slice(0, -20), `${whole}["users",{"id":`];
      for (const text of damaged) {
        writeFileSync(join(folder, 'damaged'), text);
        await assert.rejects(restoreStore(second, join(folder, 'damaged')), /cut off or damaged/);
      }
      assert.equal(await second.db.selectFrom('users').select('id').executeTakeFirst(), undefined);
      rmSync(folder, { recursive: true });
    });

    it('notices any changed byte of a dump, and says which dumps have no checksum', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'underpass-dump-'));
      const path = join(folder, 'dump');
      const first = await fresh();
      await first.db.insertInto('users').values(user('ann@example.com')).execute();
      await dumpStore(first, path, async () => [{ file: 'keys', text: 'secret' }]);
      assert.deepEqual(await checkBackup(path), { rows: 1, files: ['keys'], hasChecksum: true });
      const whole = readFileSync(path, 'utf8');
      for (const text of [
        whole.replace('ann@', 'amn@'),
        whole.replace('secret', 'secreT'),
        whole.replace(/"sha256":"./, '"sha256":"x'),
      ]) {
        writeFileSync(path, text);
        await assert.rejects(checkBackup(path), /cut off or damaged/);
      }
      writeFileSync(path, whole.replace(/,"sha256":"[0-9a-f]+"/, ''));
      assert.deepEqual(await checkBackup(path), { rows: 1, files: ['keys'], hasChecksum: false });
      rmSync(folder, { recursive: true });
    });
  });

onBothDatabases(suite);
