import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import {
  addFigures,
  countFirstByte,
  countOfClass,
  countStatus,
  countsOf,
  emptyFigures,
  figureCount,
  figuresSince,
  firstByteParts,
  firstByteStepsMs,
  isFigures,
  knownFigures,
  parseFigures,
  quantileOf,
  renderFigures,
  statusClasses,
  sumOfSeconds,
} from './figures.ts';

const figures = fc.array(fc.oneof(fc.constant(0), fc.nat(1_000_000)), { minLength: figureCount, maxLength: figureCount });

it('keeps figures as text, and reads joined texts as their sum', () => {
  fc.assert(
    fc.property(figures, figures, (one, other) => {
      assert.deepEqual(parseFigures(renderFigures(one)), one);
      assert.deepEqual(parseFigures(`${renderFigures(one)};${renderFigures(other)}`), addFigures(one, other));
      assert.deepEqual(figuresSince(one, addFigures(one, other)), other.some((count) => count > 0) ? other : []);
    }),
  );
});

it('takes less room than a line of text while most counts are zero', () => {
  const quiet = emptyFigures();
  for (const ms of [3, 8, 12, 40]) {
    countStatus(quiet, 200);
    countFirstByte(quiet, ms, 0.1, 1);
  }
  assert.ok(renderFigures(quiet).length < 160, renderFigures(quiet));
});

it('counts each answer once in its class, and none with a status that no class has', () => {
  const counted = emptyFigures();
  for (const status of [101, 200, 204, 304, 404, 499, 502, 0, 600, 999]) countStatus(counted, status);
  assert.deepEqual(
    statusClasses.map((name) => countOfClass(counted, name)),
    [1, 2, 1, 2, 1],
  );
});

it('splits each time to the first byte into parts that together are the whole', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 90_000, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }), (totalMs, part) => {
      const counted = emptyFigures();
      countFirstByte(counted, totalMs, totalMs * part, 5);
      for (const name of firstByteParts)
        assert.equal(
          countsOf(counted, name).reduce((a, b) => a + b),
          1,
        );
      assert.ok(Math.abs(sumOfSeconds(counted) * 1_000 - totalMs) < 0.001);
    }),
  );
});

it('counts no time in the tunnel where no round trip was measured', () => {
  const counted = emptyFigures();
  countFirstByte(counted, 10, 1, null);
  assert.equal(quantileOf(countsOf(counted, 'tunnel'), 0.5), null);
  assert.equal(quantileOf(countsOf(counted, 'upstream'), 1), 10);
});

it('tells quantiles within the step that holds the exact one', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 59_000, noNaN: true }), { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0.5, 0.95, 0.99),
      (times, share) => {
        const counted = emptyFigures();
        for (const ms of times) countFirstByte(counted, ms, 0, null);
        const exact = times.toSorted((a, b) => a - b)[Math.ceil(share * times.length) - 1]!;
        const told = quantileOf(countsOf(counted, 'total'), share)!;
        const step = firstByteStepsMs.findIndex((ms) => exact <= ms);
        assert.ok(told >= (firstByteStepsMs[step - 1] ?? 0) - 0.01 && told <= firstByteStepsMs[step]! + 0.01);
      },
    ),
  );
});

it('says the last step for times behind it, as Prometheus does', () => {
  const counted = emptyFigures();
  countFirstByte(counted, 100_000, 0, null);
  assert.equal(quantileOf(countsOf(counted, 'total'), 0.5), 60_000);
});

for (const [value, why] of [
  [Array.from({ length: 1_001 }, () => 0), 'too many'],
  [emptyFigures().with(0, -1), 'below zero'],
  [emptyFigures().with(0, 0.5), 'no whole number'],
  [emptyFigures().with(0, 2 ** 53), 'beyond exact numbers'],
  ['1,2', 'a text'],
] as const)
  it(`takes no counts that are ${why}`, () => assert.equal(isFigures(value), false));

it('takes counts of a version with other steps, and reads them as unknown', () => {
  for (const other of [[], emptyFigures().slice(1), [...emptyFigures(), 0]]) {
    assert.equal(isFigures(other), true);
    assert.equal(knownFigures(other), undefined);
  }
  assert.deepEqual(knownFigures(emptyFigures()), emptyFigures());
  const later = [...emptyFigures().with(1, 7), 3];
  assert.deepEqual(parseFigures(renderFigures(later)), []);
  const own = emptyFigures().with(1, 5);
  assert.deepEqual(parseFigures(`${renderFigures(later)};${renderFigures(own)}`), own);
});
