import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ConnectionLimits,
  decideConnectionLimits,
  extraRequestLimit,
  type ProcessLimits,
  visitorLimit,
} from './connection-limits.ts';

const gib = 1024 ** 3;
const unlimited = Number.POSITIVE_INFINITY;

test('the limits follow from descriptors or memory, whichever allows less', () => {
  const rows: [string, ProcessLimits, Partial<ConnectionLimits>, ConnectionLimits][] = [
    ['descriptors', { descriptors: 20_000, memoryBytes: 24 * gib }, {}, { total: 16_000, perAddress: 2_000 }],
    ['memory', { descriptors: 1_048_576, memoryBytes: gib }, {}, { total: 8_192, perAddress: 2_000 }],
    ['no limit of descriptors', { descriptors: unlimited, memoryBytes: 4 * gib }, {}, { total: 32_768, perAddress: 2_000 }],
    ['one address gets less than the total', { descriptors: 1_024, memoryBytes: gib }, {}, { total: 819, perAddress: 204 }],
    ['a set total', { descriptors: 1_024, memoryBytes: gib }, { total: 5_000 }, { total: 5_000, perAddress: 1_250 }],
    ['both set', { descriptors: 1_024, memoryBytes: gib }, { total: 9, perAddress: 50 }, { total: 9, perAddress: 50 }],
  ];
  for (const [why, allowance, set, limits] of rows) assert.deepEqual(decideConnectionLimits(allowance, set), limits, why);
});

test('visitors get nine tenths of the connections', () => {
  assert.equal(visitorLimit({ total: 16_000, perAddress: 1 }), 14_400);
  assert.equal(visitorLimit({ total: 9, perAddress: 1 }), 9);
});

test('one address may have a quarter of the total as extra requests, or its connection limit if that is higher', () => {
  assert.equal(extraRequestLimit({ total: 16_000, perAddress: 2_000 }), 4_000);
  assert.equal(extraRequestLimit({ total: 16_000, perAddress: 14_000 }), 14_000, 'a balancer that hides addresses');
  assert.equal(extraRequestLimit({ total: 3, perAddress: 1 }), 1);
});
