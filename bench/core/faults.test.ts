import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costOf, countOnce, graceMs, isGood, type Row, renderHead, renderRow, type Visit } from './faults.ts';

const visit = (fromMs: number, toMs: number, ok = true): Visit => ({ way: 'through', fromMs, toMs, ok });

test('a failure counts as soon while it was under way at a fault or began within the grace after one, and as later otherwise', () => {
  const failed = [
    visit(0, 999, false), // ended before the fault
    visit(500, 1_000, false), // under way
    visit(1_000 + graceMs, 9_000, false), // began at the end of the grace
    visit(1_001 + graceMs, 9_000, false), // began after it
    visit(50_100, 50_200, false), // soon after the second fault
  ];
  const { visits, failedSoon, failedLater, slowestMs } = costOf([...failed, visit(0, 100)], [1_000, 50_000]);
  assert.deepEqual([visits, failedSoon, failedLater, slowestMs], [6, 3, 2, 6_000]);
});

test('what was asked for counts as done once, more often, or not at all', () => {
  const done = new Map([
    ['a', 1],
    ['b', 2],
    ['other', 5],
  ]);
  assert.deepEqual(countOnce(['a', 'b', 'c'], done), { asked: 3, once: 1, more: 1 });
});

const cost = costOf([visit(0, 10)], [0]);
const good: Row = {
  ...{ fault: 'x', through: cost, address: cost, sockets: { cut: 3, failedLater: 0 }, asBeforeMs: 1_500, routesEqual: true },
  changes: { acknowledged: 9, refused: 2, lost: 0 },
  ...{ mails: { asked: 2, once: 2, more: 0 }, orders: { asked: 2, once: 1, more: 0 } },
};
const failure = costOf([visit(9_000, 9_010, false)], [0]);

for (const [why, row, isExpected] of [
  ['failures within the grace, cut sockets and refused changes are no fault', good, true],
  ['a later failure', { ...good, through: failure }, false],
  ['a later failure at another edge', { ...good, address: failure }, false],
  ['a WebSocket refused later', { ...good, sockets: { cut: 0, failedLater: 1 } }, false],
  ['a lost change', { ...good, changes: { ...good.changes, lost: 1 } }, false],
  ['a part that never came back', { ...good, asBeforeMs: null }, false],
  ['routes that differ', { ...good, routesEqual: false }, false],
  ['a mail that was not sent', { ...good, mails: { asked: 2, once: 1, more: 0 } }, false],
  ['a certificate ordered twice', { ...good, orders: { asked: 2, once: 1, more: 1 } }, false],
] as const)
  test(`a row is ${isExpected ? 'good' : 'bad'}: ${why}`, () => assert.equal(isGood(row), isExpected));

test('a row has as many cells as the head', () => {
  const cells = (line: string): number => line.split('|').length;
  for (const line of renderHead().split('\n')) assert.equal(cells(renderRow(good)), cells(line));
});
