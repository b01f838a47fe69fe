import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eachAccepted, eachCase } from '../test-kit.ts';
import { formatPortRange, isInRange, parsePortRange } from './port-range.ts';

it('reads two ports or one', (t) => {
  eachAccepted(t, parsePortRange, [
    ['20000-20099', { first: 20_000, last: 20_099 }],
    [' 20000-20000 ', { first: 20_000, last: 20_000 }],
    ['1024', { first: 1_024, last: 1_024 }],
    ['55536-65535', { first: 55_536, last: 65_535 }, 'as many ports as one region may have'],
  ]);
});

it('refuses what is no range, privileged ports and too many', (t) => {
  const refused = [
    '',
    '20000-',
    '-20099',
    '20099-20000',
    '1023-2000',
    '22',
    '65000-65536',
    '20000–20099',
    '1e4-2e4',
    '20000-30000',
    '1,2',
    '020000000',
  ];
  eachCase(t, refused, (text) => assert.equal(parsePortRange(text).ok, false));
});

it('is written as it is read, and has its ends', () => {
  const range = { first: 20_000, last: 20_001 };
  assert.equal(formatPortRange(range), '20000-20001');
  assert.deepEqual(
    [19_999, 20_000, 20_001, 20_002].map((port) => isInRange(range, port)),
    [false, true, true, false],
  );
});
