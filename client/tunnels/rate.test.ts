import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRate } from './rate.ts';

test('the rate is that of the last five seconds', () => {
  const rate = createRate();
  assert.equal(rate.read(0, 0), 0);
  assert.equal(rate.read(1_000, 500), 500);
  assert.equal(rate.read(5_000, 5_000), 1_000);
  assert.equal(rate.read(6_000, 5_000), 900);
  assert.equal(rate.read(60_000, 5_000), 0);
});

test('the rate is never negative, even if the clock goes back', () => {
  const rate = createRate();
  rate.read(10_000, 100);
  assert.equal(rate.read(5_000, 200), 0);
});
