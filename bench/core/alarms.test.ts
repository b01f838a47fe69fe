import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasten, renderAlarms } from './alarms.ts';

test('every duration of a rule is divided, and no threshold is', () => {
  const rule = `
        expr: sum(rate(a[5m])) < 0.5 * sum(a offset 15m) or time() - b < 10 * 86400
        for: 1h`;
  assert.equal(
    hasten(rule, 30),
    `
        expr: sum(rate(a[10000ms])) < 0.5 * sum(a offset 30000ms) or time() - b < 10 * 86400
        for: 120000ms`,
  );
});

test('an alert that did not fire shows in the table', () => {
  const table = renderAlarms([
    { alert: 'A', cause: 'this', firedMs: 1_400, others: ['B', 'C'] },
    { alert: 'D', cause: 'that', firedMs: null, others: [] },
  ]);
  assert.match(table, /\| A \| this \| 1 s \| B, C \|\n\| D \| that \| never \|/);
});
