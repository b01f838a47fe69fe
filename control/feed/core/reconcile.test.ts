import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { reconcilePauseMs } from './reconcile.ts';

const leastMs = 20_000;
/** What the edges have to hear of it and to cut connections (design 5: a change applies within 5 s). */
const atEdgesMs = 10_000;

const cases: readonly (readonly [number, number, string])[] = [
  [0, 20_000, 'a small installation'],
  [5_000, 20_000, 'a fifth of the time'],
  [7_000, 28_000, 'more to read, read less often'],
  [8_500, 33_000, 'the minute is nearer than a fifth'],
  [20_000, 10_000, 'a long reading leaves a short pause'],
  [60_000, 1_000, 'longer than the minute: without end'],
];
for (const [readMs, pauseMs, why] of cases) {
  test(`${readMs} ms of reading: ${why}`, () => assert.equal(reconcilePauseMs(readMs, leastMs), pauseMs));
}

test('whatever changes behind our back is at the edges within a minute, as long as reading takes less than 24 s', () => {
  fc.assert(
    fc.property(fc.nat({ max: 24_000 }), (readMs) => {
      const worstMs = readMs + reconcilePauseMs(readMs, leastMs) + readMs;
      assert.ok(worstMs + atEdgesMs <= 60_000, `${worstMs}`);
    }),
  );
});
