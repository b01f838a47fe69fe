import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ranOut } from './steer.ts';

const minuteMs = 60_000;

test('a lease ran out after minutes without a carrier or a sleep; else somebody deleted the tunnel', () => {
  const now = 100 * minuteMs;
  for (const [lostAtMs, wokeAtMs, expected] of [
    [undefined, undefined, false],
    [now, undefined, false],
    [now - 3 * minuteMs, undefined, false],
    [now - 4 * minuteMs, undefined, true],
    [undefined, now, true],
    [now, now - 2 * minuteMs, true],
    [now, now - 3 * minuteMs, false],
  ] as const)
    assert.equal(ranOut({ lostAtMs, wokeAtMs }, now), expected, `${lostAtMs} ${wokeAtMs}`);
});
