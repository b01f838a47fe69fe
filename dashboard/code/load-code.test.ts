import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { CodeError, loadPart } from './load-code.ts';

test('a part whose code stalls fails within 21 s, after a second try', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const stalls = mock.fn(() => new Promise<never>(() => {}));
  const failed = assert.rejects(loadPart(stalls, 'The part could not be loaded.'), CodeError);
  for (let passed = 0; passed < 21; passed++) {
    mock.timers.tick(1_000);
    await setImmediate();
  }
  await failed;
  assert.equal(stalls.mock.callCount(), 2);
});
