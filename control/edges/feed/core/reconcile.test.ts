import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { reconcilePauseMs } from './reconcile.ts';

const leastMs = 20_000;
/** The edges' part: 5 s until the change arrives and 5 s to cut connections. */
const atEdgesMs = 10_000;

const cases: readonly (readonly [number, number, string])[] = [
  [0, 20_000, 'the pause of a small installation'],
  [5_000, 20_000, 'reading takes a fifth of the time'],
  [7_000, 28_000, 'a longer reading means a longer pause'],
  [8_500, 33_000, 'the limit of a minute shortens the pause'],
  [20_000, 10_000, 'a long reading leaves a short pause within the minute'],
  [60_000, 1_000, 'a reading longer than a minute leaves the shortest pause'],
];
for (const [readMs, pauseMs, why] of cases) {
  test(`${readMs} ms of reading: ${why}`, () => assert.equal(reconcilePauseMs(readMs, leastMs), pauseMs));
}

test('a change without a message to control reaches the edges within a minute while reading takes at most 24 s', () => {
  fc.assert(
    fc.property(fc.nat({ max: 24_000 }), (readMs) => {
      const worstMs = readMs + reconcilePauseMs(readMs, leastMs) + readMs;
      assert.ok(worstMs + atEdgesMs <= 60_000, `${worstMs}`);
    }),
  );
});
