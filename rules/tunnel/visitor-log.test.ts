import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachCase } from '../test-kit.ts';
import { truncateAddress } from './visitor-log.ts';

test('a truncated address names a network of 256 neighbours, or a site', (t) => {
  const rows = [
    ['203.0.113.9', '203.0.113.0/24'],
    ['203.0.113.0', '203.0.113.0/24'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
    ['2001:db8:1::', '2001:db8:1::/48'],
    ['203.0.113.0/24', '', 'a range is no address'],
    ['::ffff:203.0.113.9', '', 'an edge writes IPv4 as such'],
    ['', ''],
    ['nonsense', ''],
  ] as const;
  eachCase(t, rows, ([address, network]) => assert.equal(truncateAddress(address), network));
});
