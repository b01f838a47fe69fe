import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkSpecMap, specMapProblems } from './spec-map.mjs';

const files = { 'rules/email.ts': 'export', 'rules/email.test.ts': "test('refuses a local part of 65 characters'" };
const io = { exists: (path) => path in files, read: (path) => files[path] };
const problemsOf = (...rows) => specMapProblems(['| Spec | Where | Proof |', '| --- | --- | --- |', ...rows].join('\n'), io);

test('accepts a row whose file and test exist', () => {
  assert.deepEqual(problemsOf('| 5 Login | `rules/email.ts` | `rules/email.test.ts` |'), []);
});

test('accepts a row whose test holds the named words', () => {
  assert.deepEqual(problemsOf('| 5 Login | `rules/email.ts` | `rules/email.test.ts: a local part of 65` |'), []);
});

test('accepts a row that says plainly what is not there', () => {
  assert.deepEqual(problemsOf('| 5 Login | not there yet | |'), []);
});

test('refuses a row that points at nothing', () => {
  assert.match(problemsOf('| 5 Login | `rules/gone.ts` | `rules/email.test.ts` |')[0], /rules\/gone\.ts does not exist/);
});

test('refuses words that the test does not hold', () => {
  assert.match(problemsOf('| 5 Login | `rules/email.ts` | `rules/email.test.ts: of 66` |')[0], /does not hold 'of 66'/);
});

test('refuses a row without a test', () => {
  assert.match(problemsOf('| 5 Login | `rules/email.ts` | |')[0], /names no test/);
});

test('refuses an empty map', () => {
  assert.match(problemsOf()[0], /no rows/);
});

test('the map of the repository holds', () => {
  assert.deepEqual(checkSpecMap(dirname(dirname(fileURLToPath(import.meta.url)))).problems, []);
});
