import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { forEachAtOnce } from './at-once.ts';

test('work goes on beside an item that takes long, never on more at once, and ends at a failure', async () => {
  const ends = Array.from({ length: 6 }, () => Promise.withResolvers<void>());
  const begun: number[] = [];
  const all = forEachAtOnce([0, 1, 2, 3, 4, 5], 2, (item) => {
    begun.push(item);
    return ends[item]!.promise;
  });
  await nextTurn();
  assert.deepEqual(begun, [0, 1]);
  for (const item of [1, 2, 3]) {
    ends[item]!.resolve();
    await nextTurn();
  }
  assert.deepEqual(begun, [0, 1, 2, 3, 4]);
  ends[4]!.reject(new Error('no'));
  await assert.rejects(all, /no/);
  ends[0]!.resolve();
  await nextTurn();
  assert.deepEqual(begun, [0, 1, 2, 3, 4]);
});
