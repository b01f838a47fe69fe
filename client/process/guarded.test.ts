import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { guarded } from './guarded.ts';
import { waitMs } from './wait.ts';

async function scratch(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-guarded-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test('one that waits for several slow owners waits for them all', async (t) => {
  const folder = await scratch(t);
  let running = 0;
  const slow = () =>
    guarded(join(folder, 'file'), async () => {
      running++;
      assert.equal(running, 1);
      // Three of them take longer than a crashed owner is waited for.
      await waitMs(900);
      running--;
    });
  await Promise.all([slow(), slow(), slow(), slow()]);
  assert.deepEqual(await readdir(folder), []);
});

test('a guard that nobody can remove stops no command', async (t) => {
  const folder = await scratch(t);
  await writeFile(join(folder, 'file.guard'), '');
  assert.equal(await guarded(join(folder, 'file'), async () => 'done'), 'done');
});
