// Damage in the file of the embedded database is found, whichever page it hits, and the search ends in time.

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { openSqliteStore } from './sqlite.ts';
import { checkSqliteFile } from './sqlite-check.ts';

const pageBytes = 4096;
const limitMs = 30_000;

describe('the check of the embedded database', () => {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-check-'));
  const whole = join(folder, 'whole.db');
  const spoilt = join(folder, 'spoilt.db');
  let pages = 0;

  before(async () => {
    const store = await openSqliteStore(whole);
    const names = Array.from({ length: 400 }, (_, index) => ({ name: `name ${index}`, value: 'x'.repeat(40) }));
    await store.db.insertInto('settings').values(names).execute();
    await store.close();
    const database = new DatabaseSync(whole);
    database.exec('vacuum');
    pages = Number(database.prepare('pragma page_count').get()?.page_count);
    database.close();
  });
  after(() => rmSync(folder, { recursive: true }));

  /** A copy with one page changed. */
  const spoil = (page: number, change: (bytes: Buffer) => void): void => {
    const bytes = readFileSync(whole);
    change(bytes.subarray(page * pageBytes, (page + 1) * pageBytes));
    writeFileSync(spoilt, bytes);
  };

  it('passes a whole file', async () => {
    assert.equal(await checkSqliteFile(whole, limitMs), 'whole');
  });

  it('passes a file whose server was killed, with the last writes still in the log beside it', async () => {
    const live = join(folder, 'live.db');
    const store = await openSqliteStore(live);
    await store.db.insertInto('settings').values({ name: 'late', value: 'x' }).execute();
    const killed = join(folder, 'killed.db');
    for (const suffix of ['', '-wal']) cpSync(`${live}${suffix}`, `${killed}${suffix}`);
    await store.close();
    assert.equal(await checkSqliteFile(killed, limitMs), 'whole');
    const database = new DatabaseSync(killed);
    assert.equal(database.prepare(`select count(*) as n from settings where name = 'late'`).get()?.n, 1);
    database.close();
  });

  const damages: readonly (readonly [what: string, page: () => number, change: (bytes: Buffer) => void])[] = [
    ['zeros over the first page', () => 0, (bytes) => bytes.fill(0)],
    ['zeros over the second page', () => 1, (bytes) => bytes.fill(0)],
    ['zeros over a page in the middle', () => pages >> 1, (bytes) => bytes.fill(0)],
    ['noise over a page in the middle', () => pages >> 1, (bytes) => bytes.fill(0xa5)],
    ['noise over the last page', () => pages - 1, (bytes) => bytes.fill(0xa5)],
    ['noise over the first half of a page', () => pages - 2, (bytes) => bytes.fill(0xa5, 0, pageBytes / 2)],
  ];
  for (const [what, page, change] of damages) {
    it(`finds ${what}`, async () => {
      spoil(page(), change);
      const found = await checkSqliteFile(spoilt, limitMs);
      assert.ok(typeof found === 'object' && found.damage.length > 0, JSON.stringify(found));
      assert.doesNotMatch(found.damage, /\n/);
    });
  }

  it('finds a file that lost its end', async () => {
    cpSync(whole, spoilt);
    truncateSync(spoilt, (pages - 3) * pageBytes);
    assert.ok(typeof (await checkSqliteFile(spoilt, limitMs)) === 'object');
  });

  it('leaves the file as it is', async () => {
    spoil(pages >> 1, (bytes) => bytes.fill(0));
    const before = readFileSync(spoilt);
    await checkSqliteFile(spoilt, limitMs);
    assert.ok(before.equals(readFileSync(spoilt)));
  });

  it('ends when its time is over, and says so', async () => {
    assert.equal(await checkSqliteFile(whole, 1), 'unfinished');
  });

  it('leaves a file that cannot be opened to the one who opens it', async () => {
    assert.equal(await checkSqliteFile(join(folder, 'none', 'underpass.db'), limitMs), 'unfinished');
  });
});
