import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextPauseMs } from './use-auto-retry.ts';

test('pauses double up to half a minute, spread by a quarter each way', () => {
  assert.deepEqual(
    [0, 1, 2, 3, 4, 50].map((failures) => nextPauseMs(failures, 0.5)),
    [2000, 4000, 8000, 16_000, 30_000, 30_000],
  );
  assert.deepEqual([nextPauseMs(0, 0), nextPauseMs(0, 1)], [1500, 2500]);
});

test('waits at least as long as the server asks', () => assert.equal(nextPauseMs(0, 0.5, 60), 60_000));
