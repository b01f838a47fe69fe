import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { pino } from 'pino';
import { EnteredVisits } from './entered-visits.ts';

const untilMs = 60_000;

function logTo(lines: string[]) {
  return pino({ level: 'error' }, { write: (line) => void lines.push(line) });
}

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-entered-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

it('a visit is entered once at its host', () => {
  const entered = new EnteredVisits(null, logTo([]));
  assert.deepEqual(
    [entered.enter('a', 'n', untilMs), entered.enter('a', 'n', untilMs), entered.enter('b', 'n', untilMs)],
    [true, false, true],
  );
});

it('processes with one folder enter it once, and leave no file behind', async (t) => {
  const folder = await folderOf(t);
  const both = [new EnteredVisits(folder, logTo([])), new EnteredVisits(folder, logTo([]))] as const;
  assert.deepEqual(
    both.map((entered) => entered.enter('a', 'n', untilMs)),
    [true, false],
  );
  for (const entered of both) entered.expire(untilMs - 1);
  assert.equal((await readdir(folder)).length, 1, 'the ticket is still good');
  for (const entered of both) entered.expire(untilMs);
  assert.deepEqual(await readdir(folder), []);
});

it('refuses a ticket, and says so, if the folder takes no file', async (t) => {
  const lines: string[] = [];
  const entered = new EnteredVisits(join(await folderOf(t), 'gone'), logTo(lines));
  assert.equal(entered.enter('a', 'n', untilMs), false);
  assert.match(lines.join(''), /ENOENT/);
});

it('remembers 65,536 visits at most, and refuses more instead of forgetting one', () => {
  const lines: string[] = [];
  const entered = new EnteredVisits(null, logTo(lines));
  for (let visit = 0; visit < 65_536; visit++) entered.enter('a', `${visit}`, untilMs);
  assert.deepEqual([entered.enter('a', 'more', untilMs), entered.enter('a', '0', untilMs)], [false, false]);
  assert.equal(lines.length, 1);
  entered.expire(untilMs);
  assert.equal(entered.enter('a', 'more', untilMs), true);
});
