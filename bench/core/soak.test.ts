import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAboveBound, isDuring, type Point, renderFigure, type Trend, trendOf } from './soak.ts';

const line = (values: readonly number[]): Point[] => values.map((value, index) => ({ atHours: index + 1, value }));

/** Normal noise that always comes out the same (mulberry32, Box-Muller). */
function createNoise(seed: number): () => number {
  let state = seed;
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

test('slope and interval are those of a worked example', () => {
  // Residuals -0.8, 0.6, 1, -0.6, -0.2: standard error sqrt(2.4 / 3 / 10), times t(3) = 3.182.
  const { slope, low, high } = trendOf(line([2, 4, 5, 4, 5])) ?? assert.fail();
  assert.ok(Math.abs(slope - 0.6) < 1e-9);
  assert.ok(Math.abs(high - 0.6 - 0.9) < 1e-3);
  assert.ok(Math.abs(0.6 - low - 0.9) < 1e-3);
});

test('the interval holds the true slope in about 95 of 100 runs, also when neighbouring samples resemble each other', () => {
  const noise = createNoise(1);
  const runs = 1_000;
  let held = 0;
  for (let run = 0; run < runs; run++) {
    let drift = 0;
    const points = Array.from({ length: 270 }, (_, index) => {
      drift = 0.7 * drift + noise();
      return { atHours: index / 360, value: 50 + (3 * index) / 360 + drift };
    });
    const { low, high } = trendOf(points) ?? assert.fail();
    if (low <= 3 && 3 <= high) held += 1;
  }
  assert.ok(held > 0.92 * runs && held < 0.97 * runs, `${held} of ${runs}`);
});

test('two samples show no trend', () => assert.equal(trendOf(line([1, 2])), null));

const trend = (low: number, measuredHours: number): Trend => ({
  ...{ first: 0, last: 0, slope: low, low, high: low, measuredHours },
});

for (const [why, low, hours, above] of [
  ['over an hour the bound is for each hour', 17, 2, true],
  ['over an hour the bound is for each hour', 15, 2, false],
  ['a shorter run may grow by the bound in all', 100, 0.1, false],
  ['a shorter run may grow by the bound in all', 200, 0.1, true],
  ['a run of seconds may grow by ten times the bound', 15_000, 0.01, false],
  ['a run of seconds may grow by ten times the bound', 17_000, 0.01, true],
] as const)
  test(`${why}: ${low} an hour in ${hours} h`, () => assert.equal(isAboveBound(trend(low, hours), 16), above));

for (const [values, words] of [
  [[5, 5.2, 4.9, 5.1, 5], /no growth shown; up to 0\.\d+ an hour could hide/],
  [[1, 2, 3, 4, 5.1], /grows, in this run by 3\.\d to 4\.\d/],
  [[5, 4, 3, 2, 0.9], /falls/],
  [[0, 100, 200, 300, 401], /GROWS ABOVE ITS BOUND of 16/],
  [[7, 7, 7, 7], /no growth shown: every sample is the same/],
  [[1], /too few samples/],
] as const)
  test(`a figure of ${values} reads ${words}`, () =>
    assert.match(renderFigure({ name: 'memory', unit: 'MB', bound: 16, points: line(values) }), words));

test('a failure belongs to a restart if the two overlap', () => {
  const restarts = [{ fromMs: 100, toMs: 200 }];
  assert.ok(isDuring({ fromMs: 50, toMs: 150 }, restarts));
  assert.ok(isDuring({ fromMs: 120, toMs: 130 }, restarts));
  assert.ok(!isDuring({ fromMs: 50, toMs: 99 }, restarts));
  assert.ok(!isDuring({ fromMs: 201, toMs: 300 }, restarts));
});
