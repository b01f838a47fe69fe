import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createProcessIo } from '../process/process-io.ts';
import { claimSlot } from './slot.ts';

async function world(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), 'underpass-slot-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  const locks = join(home, '.cache', 'underpass', 'quick');
  const claim = () => claimSlot({ ...createProcessIo({}), home }, home, []);
  return { locks, claim };
}

test('commands that start together behind a crash get a slot each, and the first slot is used again', async (t) => {
  const { locks, claim } = await world(t);
  const first = await claim();
  const [name = ''] = await readdir(locks);
  await first.release();
  for (let round = 0; round < 5; round++) {
    // Nothing listens there any more.
    await writeFile(join(locks, name), '');
    const places = await Promise.all([claim(), claim(), claim()]);
    const keys = places.map(({ key }) => key);
    assert.deepEqual([new Set(keys).size, keys.includes(first.key)], [3, true], `round ${round}`);
    for (const { release } of places) await release();
  }
});

test('a guard that a crash left does not stop a command', async (t) => {
  const { locks, claim } = await world(t);
  const { key, release } = await claim();
  const [name = ''] = await readdir(locks);
  await release();
  await mkdir(join(locks, `${name}.guard`));
  assert.equal((await claim()).key, key);
  assert.deepEqual(await readdir(locks), [name]);
});
