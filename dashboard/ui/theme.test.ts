import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTheme } from './theme.ts';

test('only a theme that exists is read from storage; everything else follows the system', () => {
  assert.deepEqual(['light', 'dark', 'system', 'sepia', '', null].map(parseTheme), [
    'light',
    'dark',
    'system',
    'system',
    'system',
    'system',
  ]);
});
