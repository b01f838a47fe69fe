import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { formatAgo, formatDateTime, formatDay, formatLeft, formatSpan, formatTimeOfDay } from './date-format.ts';

test("the text has the spec's format in the reader's zone; the tooltip names the zone and the time in UTC", () => {
  const { text, title } = formatDateTime('2026-11-01T10:20:30Z', 'long', 'Europe/London');
  assert.match(text, /^November 1, 2026 at 10:20:30\sAM$/);
  assert.match(title, /^Sunday, November 1, 2026 at 10:20:30\sAM \(Europe\/London\) · 2026-11-01T10:20:30\.000Z$/);
});

test('the date follows the time zone across midnight', () => {
  assert.match(formatDateTime('2026-11-01T23:30:00Z', 'long', 'Asia/Tokyo').text, /^November 2, 2026 at 8:30:00\sAM$/);
  assert.match(formatDateTime('2026-11-01T23:30:00Z', 'short', 'Asia/Tokyo').text, /^Nov 2, 2026, 8:30\sAM$/);
});

test('text that is not a date reads n/a', () => {
  assert.deepEqual(formatDateTime('soon', 'short', 'UTC'), { text: 'n/a', title: 'n/a' });
});

test('how long ago is in the largest whole unit', () => {
  const now = Date.parse('2026-11-20T10:00:00Z');
  for (const [seconds, text] of [
    [-30, 'just now'],
    [59, 'just now'],
    [60, '1 minute ago'],
    [3599, '59 minutes ago'],
    [3600, '1 hour ago'],
    [86_399, '23 hours ago'],
    [3 * 86_400, '3 days ago'],
  ] as const) {
    assert.equal(formatAgo(new Date(now - seconds * 1000).toISOString(), now), text, `${seconds}`);
  }
  assert.equal(formatAgo('soon', now), 'n/a');
});

test('how long something lasts, and how long is left', () => {
  const now = Date.parse('2026-11-20T12:00:00Z');
  assert.deepEqual(
    ['2026-11-17T11:00:00Z', '2026-11-20T11:59:00Z', '2026-11-20T11:59:30Z', 'x'].map((at) => formatSpan(at, now)),
    ['3 days', '1 minute', 'a moment', 'n/a'],
  );
  assert.deepEqual(
    ['2026-11-23T13:00:00Z', '2026-11-20T12:00:30Z', '2026-11-19T12:00:00Z', 'x'].map((at) => formatLeft(at, now)),
    ['in 3 days', 'now', 'now', 'n/a'],
  );
});

test('a time of day and a day have the clock and the order of the whole date', () => {
  const at = '2026-11-01T23:30:05Z';
  assert.match(formatTimeOfDay(Date.parse(at), 'short', 'UTC'), /^11:30\sPM$/);
  assert.match(formatTimeOfDay(Date.parse(at), 'medium', 'UTC'), /^11:30:05\sPM$/);
  assert.equal(formatDay(at, 'medium', 'UTC'), 'Nov 1, 2026');
  assert.equal(formatDay(at, 'long', 'Asia/Tokyo'), 'November 2, 2026');
});

test('no other file of the dashboard formats dates', () => {
  const root = new URL('../../', import.meta.url);
  const files = globSync('**/*.{ts,tsx}', { cwd: root, exclude: ['node_modules', 'dist', 'dist/**', 'node_modules/**'] });
  const others = files.filter(
    (file) =>
      !file.startsWith('ui/date/date-format.') &&
      /DateTimeFormat\(\s*'|toLocale(Date|Time)String/.test(readFileSync(new URL(file, root), 'utf8')),
  );
  assert.ok(files.length > 100);
  assert.deepEqual(others, []);
});
