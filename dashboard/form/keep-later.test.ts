// What a form shows after a save.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepLater } from './keep-later.ts';

const allow = ['10.0.0.1'];
const sent = { allow, pending: '10.0.0.2', password: 'secret' };
const saved = { allow: ['10.0.0.1', '10.0.0.2'], pending: '', password: '' };

test('without a later change a form shows what was saved', () => {
  assert.deepEqual(keepLater(saved, sent, { ...sent }), saved);
});

test('a field that was changed during the save stays, and the others show what was saved', () => {
  const now = { ...sent, pending: '10.0.0.3' };
  assert.deepEqual(keepLater(saved, sent, now), { ...saved, pending: '10.0.0.3' });
});

test('a field that was emptied during the save stays empty', () => {
  assert.deepEqual(keepLater(saved, sent, { ...sent, allow: [] }), { ...saved, allow: [] });
});
