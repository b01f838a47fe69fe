import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { eachCase } from '../test-kit.ts';
import { parseFolderKey, parseLasting, renderQuickLabel } from './quick-tunnel.ts';

test('a time is one or more whole numbers with their units', (t) => {
  const rows: [string, number | null][] = [
    ['60s', 60],
    ['30m', 1800],
    ['2h', 7200],
    ['1d', 86_400],
    ['1h30m', 5400],
    [' 2h ', 7200],
    ['30d', 30 * 86_400],
    ['59s', null],
    ['31d', null],
    ['2', null],
    ['2 h', null],
    ['-2h', null],
    ['2h!', null],
    ['1.5h', null],
    ['', null],
    ['9999999d', null],
  ];
  eachCase(t, rows, ([text, seconds]) => {
    const parsed = parseLasting(text);
    assert.equal(parsed.ok ? parsed.value : null, seconds);
  });
});

test('a key is 22 to 64 signs of base64url', (t) => {
  const rows: [string, boolean][] = [
    ['a'.repeat(22), true],
    ['A-_9'.repeat(16), true],
    ['a'.repeat(21), false],
    ['a'.repeat(65), false],
    [`${'a'.repeat(30)}/`, false],
    [`${'a'.repeat(30)}\n`, false],
  ];
  eachCase(t, rows, ([key, ok]) => assert.equal(parseFolderKey(key).ok, ok));
});

test('a label is a DNS label that no ordinary generated name has, and digests differ in it', () => {
  const labels = Array.from({ length: 2000 }, (_, i) => renderQuickLabel(createHash('sha256').update(String(i)).digest()));
  for (const label of labels) assert.match(label, /^[a-z]+-[a-z]+-[a-z2-7]{10}$/);
  assert.equal(new Set(labels).size, labels.length);
  assert.equal(renderQuickLabel(createHash('sha256').update('1').digest()), labels[1]);
});
