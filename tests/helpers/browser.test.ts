import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { expect } from './browser.ts';

test('the error of a failed expectation does not hold the page', async () => {
  const failed = await expect
    .poll(() => 'seen', { timeout: 300 })
    .toBe('wanted')
    .catch((error: unknown) => error);
  assert.match(inspect(failed), /wanted/);
  assert.deepEqual(Object.keys(failed as Error), []);
});
