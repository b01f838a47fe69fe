// Which version a form edits when another one arrives.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideVersion, newestOf } from './version.ts';

const old = { updatedAt: '2026-01-01T00:00:00Z' };
const next = { updatedAt: '2026-01-02T00:00:00Z' };

test('an older version, or the same one, replaces nothing', () => {
  assert.equal(newestOf(old, next), next);
  assert.equal(newestOf({ ...old }, old), old);
  assert.equal(newestOf(next, old), next);
});

test('a form without changes takes a newer version, and one with changes keeps its own and says so', () => {
  assert.equal(decideVersion(next, old, false), 'take');
  assert.equal(decideVersion(next, old, true), 'outdated');
  assert.equal(decideVersion(old, old, false), 'same');
  assert.equal(decideVersion(old, old, true), 'same');
});
