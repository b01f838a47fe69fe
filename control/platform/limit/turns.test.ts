import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LimitReached } from './limit-reached.ts';
import { createTurns } from './turns.ts';

test('a key has a bound of running work and of waiting work, in order; more is refused, and a failure frees its place', async () => {
  const turns = createTurns(2, 3, 'Too many.');
  const begun: number[] = [];
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<number>());
  const run = (index: number) =>
    turns('ann', () => {
      begun.push(index);
      return ends[index]!.promise;
    });
  const all = ends.map((_, index) => run(index));
  await nextTurn();
  assert.deepEqual(begun, [0, 1]);
  await assert.rejects(turns('ann', assert.fail), (error) => error instanceof LimitReached);
  assert.equal(await turns('bob', async () => 'at once'), 'at once');
  const failed = assert.rejects(all[1]!, /no/);
  ends[1]!.reject(new Error('no'));
  await failed;
  await nextTurn();
  assert.deepEqual(begun, [0, 1, 2]);
  for (const end of ends) end.resolve(0);
  await Promise.allSettled(all);
  assert.deepEqual(begun, [0, 1, 2, 3, 4]);
  assert.equal(await turns('ann', async () => 'again'), 'again');
});
