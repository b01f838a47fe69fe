import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { SnapshotFile } from './snapshot-file.ts';

const state = { tunnels: [], certificates: [], challenges: [], peers: [] };

it('a state that takes long to be written down is written as much more rarely', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-snapshot-'));
  t.after(() => rm(folder, { recursive: true }));
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const file = new SnapshotFile(join(folder, 'routes.json'), assert.fail);
  let writes = 0;
  const save = (costMs: number): void =>
    file.save(() => {
      writes++;
      nowMs += costMs;
      return { position: { epoch: '', seq: writes }, state };
    });
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const pass = async (ms: number): Promise<number> => {
    await turns();
    t.mock.timers.tick(ms);
    await turns();
    return writes;
  };
  save(100);
  assert.equal(await pass(200), 1);
  while ((await file.load())?.position.seq !== 1) await pass(0);
  save(0);
  assert.equal(await pass(4_999), 1);
  assert.equal(await pass(1), 2);
  while ((await file.load())?.position.seq !== 2) await pass(0);
  save(0);
  assert.equal(await pass(200), 3);
  await file.flush();
});
