import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareVersions } from './version.ts';

test('versions are in the order in which they are released', () => {
  const order = ['dev', '0.9.0', '0.10.0-beta', '0.10.0-rc.2', '0.10.0-rc.10', '0.10.0', '0.10.1', '1.0.0'];
  const shuffled = [...order.slice(3), ...order.slice(0, 3).reverse()];
  assert.deepEqual(shuffled.toSorted(compareVersions), order);
  for (const version of order) assert.equal(compareVersions(version, version), 0);
});
