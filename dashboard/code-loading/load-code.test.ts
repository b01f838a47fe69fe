import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { CodeError, loadPart } from './load-code.ts';

test('a part whose code stalls fails after 20 s, and its retry joins the load', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const { promise: fetched, resolve } = Promise.withResolvers<string>();
  const message = 'The part could not be loaded.';
  const failed = assert.rejects(
    loadPart(() => fetched, message),
    new CodeError(message),
  );
  mock.timers.tick(20_000);
  await failed;
  const again = loadPart(() => fetched, message);
  resolve('the part');
  assert.equal(await again, 'the part');
});
