import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { SnapshotFile } from './snapshot-file.ts';

const state = { tunnels: [], certificates: [], challenges: [], peers: [] };

it('writes a state less often the longer it takes to render', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-snapshot-'));
  t.after(() => rm(folder, { recursive: true }));
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const waitsMs: number[] = [];
  t.mock.method(globalThis, 'setTimeout', (run: () => void, ms: number) => {
    waitsMs.push(ms);
    setImmediate(run);
  });
  const file = new SnapshotFile(join(folder, 'routes.json'), assert.fail);
  const write = async (seq: number, costMs: number): Promise<void> => {
    file.save(() => {
      nowMs += costMs;
      return { position: { epoch: '', seq }, state };
    });
    while ((await file.load())?.position.seq !== seq) await new Promise((resolve) => setImmediate(resolve));
  };
  for (const [seq, costMs] of [1, 100, 1_000, 0].entries()) await write(seq, costMs);
  assert.deepEqual(waitsMs, [200, 200, 5_000, 15_000]);
  await file.flush();
});
