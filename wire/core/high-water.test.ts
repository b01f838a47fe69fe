import assert from 'node:assert/strict';
import { it } from 'node:test';
import { maxHighWaterBytes, minHighWaterBytes, nextHighWater } from './high-water.ts';

function after(rounds: number, start: number, bytesPerMs: number): number {
  let bytes = start;
  for (let round = 0; round < rounds; round++) bytes = nextHighWater(bytes, 1_000_000, 1_000_000 / bytesPerMs);
  return bytes;
}

it('a carrier of 5 MB/s gets what it sends in 30 ms', () => {
  assert.ok(Math.abs(after(30, maxHighWaterBytes, 5_000) - 150_000) < 2_000);
});

it('a carrier of 10 KB/s gets the minimum, one of 100 MB/s the maximum', () => {
  assert.ok(after(50, maxHighWaterBytes, 10) < minHighWaterBytes + 10);
  assert.ok(after(50, minHighWaterBytes, 100_000) > maxHighWaterBytes - 10);
});

it('small writes change nothing, and a write that took no time counts as fast', () => {
  assert.equal(nextHighWater(500_000, 65_535, 1_000), 500_000);
  assert.ok(nextHighWater(500_000, 65_536, 0) > 500_000);
});
