import assert from 'node:assert/strict';
import { it } from 'node:test';
import { nextDelayMs } from './backoff.ts';

it('doubles from 1 s to 30 s and never ends', () => {
  const delays = [0, 1, 2, 3, 4, 5, 6, 2_000].map((failures) => nextDelayMs(failures, 'connection-lost', null, 1));
  assert.deepEqual(delays, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
});

it('spreads clients over the whole range', () => {
  assert.equal(nextDelayMs(9, 'connection-lost', null, 0), 0);
  assert.equal(nextDelayMs(9, 'connection-lost', null, 0.5), 15_000);
});

it('is slower for problems that a person must solve: from 5 s to a minute', () => {
  const delays = [0, 1, 2, 3, 4, 2_000].map((failures) => nextDelayMs(failures, 'token-refused', null, 1));
  assert.deepEqual(delays, [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  assert.equal(nextDelayMs(0, 'token-refused', null, 0), 2_500);
  assert.equal(nextDelayMs(50, 'token-refused', null, 0), 30_000);
  for (const code of ['wrong-type', 'tunnel-private', 'tunnel-public', 'version'] as const)
    assert.equal(nextDelayMs(0, code, null, 0), 2_500, code);
});

it('waits at least as long as the edge asked', () => {
  assert.equal(nextDelayMs(0, 'too-many-clients', 20_000, 0), 20_000);
  assert.equal(nextDelayMs(9, 'token-refused', 90_000, 1), 91_000);
  assert.equal(nextDelayMs(0, 'token-refused', 5_000, 0), 5_000);
  assert.equal(nextDelayMs(9, 'token-refused', 5_000, 0), 30_000);
});

it('does not go back to short waits because a server that is no edge asks for them', () => {
  assert.equal(nextDelayMs(6, 'not-underpass', 1_000, 1), 30_000);
});

it('waits at most five minutes, even if a portal or a proxy asks for more', () => {
  assert.equal(nextDelayMs(0, 'not-underpass', 99_999_000, 0), 300_000);
  assert.equal(nextDelayMs(0, 'token-refused', 99_999_000, 1), 301_000);
});
