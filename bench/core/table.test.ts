import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Column, holds, median, ratioOf, renderTable, type Sample } from './table.ts';

const cpu: Column = { name: 'cpu', unit: 'µs', better: 'less', bound: 0.8 };
const samples: Sample[] = [
  { peer: 'haproxy', column: 'cpu', value: 40 },
  { peer: 'underpass', column: 'cpu', value: 30 },
  { peer: 'haproxy', column: 'cpu', value: 80 },
  { peer: 'underpass', column: 'cpu', value: 40 },
  { peer: 'haproxy', column: 'cpu', value: 20 },
  { peer: 'underpass', column: 'cpu', value: 12 },
];

test('the median of an even number of values is the mean of the middle two', () => assert.equal(median([4, 1, 3, 2]), 2.5));
test('the median of nothing is not a number', () => assert.ok(Number.isNaN(median([]))));
test('a ratio compares the same round and takes the median of rounds', () => {
  assert.equal(ratioOf(samples, 'underpass', 'haproxy', 'cpu'), 0.6);
});
test('a bound reads in the direction of its column', () => {
  assert.equal(holds(cpu, 0.8), true);
  assert.equal(holds(cpu, 0.81), false);
  assert.equal(holds({ ...cpu, better: 'more', bound: 1.1 }, 1.05), false);
  assert.equal(holds({ name: 'x', unit: '', better: 'more' }, 1), undefined);
});
test('the table names a missed bound', () => {
  const slow = samples.map((sample) => (sample.peer === 'underpass' ? { ...sample, value: 100 } : sample));
  assert.match(renderTable(slow, [cpu], ['underpass', 'haproxy'], 'haproxy'), /MISSED/);
  assert.match(renderTable(samples, [cpu], ['underpass', 'haproxy'], 'haproxy'), /holds/);
});
