// kill -9 in the middle of writing: every confirmed write is there afterwards, complete, and the database is intact.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { openSqliteStore } from './sqlite.ts';

// Writes pairs of rows, and prints the number of each pair once its write has resolved.
const writer = `
  import { openSqliteStore } from ${JSON.stringify(new URL('./sqlite.ts', import.meta.url).href)};
  const store = await openSqliteStore(process.argv[1]);
  for (let i = Number(process.argv[2]); ; i++) {
    await store.write(async (trx) => {
      await trx.insertInto('settings').values({ name: 'a' + i, value: String(i) }).execute();
      await trx.insertInto('settings').values({ name: 'b' + i, value: 'x'.repeat(5000) }).execute();
    });
    process.stdout.write(i + '\\n');
  }
`;

/** Kills the writer after it has printed `count` writes; returns the last printed number. */
async function writeAndKill(path: string, from: number, count: number): Promise<number> {
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', writer, path, String(from)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let last = from - 1;
  for await (const line of createInterface({ input: child.stdout })) {
    last = Number(line);
    if (last === from + count) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  assert.equal(child.signalCode, 'SIGKILL');
  return last;
}

it('resolved writes survive kill -9 five times, and no write is there by half', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-durable-'));
  const path = join(folder, 'underpass.db');
  let next = 0;
  for (let round = 0; round < 5; round++) {
    const last = await writeAndKill(path, next, 20);
    const store = await openSqliteStore(path);
    const names = new Set((await store.db.selectFrom('settings').select('name').execute()).map((row) => row.name));
    for (let i = 0; i <= last; i++) assert.ok(names.has(`a${i}`) && names.has(`b${i}`), `write ${i} was confirmed and is gone`);
    const written = [...names].filter((name) => name.startsWith('a')).length;
    assert.equal(names.size, 2 * written, 'a pair is complete or absent');
    await store.close();
    next = written;
  }
  const database = new DatabaseSync(path);
  assert.deepEqual({ ...database.prepare('pragma integrity_check').get() }, { integrity_check: 'ok' });
  assert.deepEqual(database.prepare('pragma foreign_key_check').all(), []);
  database.close();
  rmSync(folder, { recursive: true });
});

it('the embedded database syncs every commit', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-pragma-'));
  const store = await openSqliteStore(join(folder, 'underpass.db'));
  const { sql } = await import('kysely');
  const read = async (name: string) => Object.values((await sql<object>`pragma ${sql.raw(name)}`.execute(store.db)).rows[0]!)[0];
  assert.deepEqual([await read('journal_mode'), await read('synchronous'), await read('foreign_keys')], ['wal', 2, 1]);
  await store.close();
  rmSync(folder, { recursive: true });
});
