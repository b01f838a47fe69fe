import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTheme } from './theme.ts';

test('reads only known themes from storage; anything else follows the system', () => {
  assert.deepEqual(['light', 'dark', 'system', 'sepia', '', null].map(parseTheme), [
    'light',
    'dark',
    'system',
    'system',
    'system',
    'system',
  ]);
});
