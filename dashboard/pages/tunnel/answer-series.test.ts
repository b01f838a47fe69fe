import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TunnelHistory } from '@underpass/rules/entity/resource.ts';
import { answersChart, firstByteChart, firstByteRows, formatMs, isLate, summariseAnswers } from './answer-series.ts';

const quantiles = (p50: number) => ({ p50, p95: 2 * p50, p99: 3 * p50 });
const none = { answers: null, firstByte: null };
const some = {
  answers: { '1xx': 0, '2xx': 30, '3xx': 0, '4xx': 1, '5xx': 0 },
  firstByte: { total: quantiles(40), edge: quantiles(0.25), tunnel: null, upstream: quantiles(1_500) },
};
const point = (at: string, figures: typeof some | typeof none) => ({
  ...{ at, rx: 0, tx: 0, tcpConnectionRate: 0, clients: 1 },
  ...figures,
});
const history: TunnelHistory = {
  stepSeconds: 60,
  points: [
    point('2026-11-20T12:00:00Z', some),
    point('2026-11-20T12:01:00Z', none),
    point('2026-11-20T12:02:00Z', none),
    point('2026-11-20T12:03:00Z', none),
  ],
  whole: some,
};

test('answers are shown per minute, and times as a gap where none was measured', () => {
  assert.deepEqual(
    answersChart(history).series.map(({ label, values }) => [label, values]),
    [
      ['2xx', [30, 0]],
      ['3xx', [0, 0]],
      ['4xx', [1, 0]],
      ['5xx', [0, 0]],
    ],
  );
  assert.deepEqual(answersChart({ ...history, stepSeconds: 900 }).series[0]?.values, [2, 0, 0]);
  assert.deepEqual(
    firstByteChart(history, 'total').series.map(({ values }) => values),
    [
      [40, null],
      [80, null],
      [120, null],
    ],
  );
  assert.deepEqual(firstByteChart(history, 'tunnel').series[0]?.values, [null, null]);
});

test('a history of a control that knows no figures has none', () => {
  const { whole: _, ...rest } = history;
  const old = {
    ...rest,
    points: rest.points.map(({ answers: _a, firstByte: _f, ...point }) => point),
  } as unknown as TunnelHistory;
  assert.deepEqual(answersChart(old).series[0]?.values, [0, 0]);
  assert.deepEqual(firstByteChart(old, 'total').series[0]?.values, [null, null]);
  assert.equal(summariseAnswers(old.whole, 'hour'), 'No answers in the last hour.');
  assert.deepEqual(firstByteRows(old.whole), []);
});

test('answers are late while the strip shows traffic and none is counted', () => {
  const metrics = { rx: 1, tx: 2, tcpConnectionRate: 0.1 };
  const idle = { rx: 0, tx: 0, tcpConnectionRate: 0 };
  const idlePoint = point('2026-11-20T10:00:00.000Z', none);
  const before = { stepSeconds: 60, points: [idlePoint], whole: none };
  const counted = { ...before, whole: some };
  const streaming = { ...before, points: [{ ...idlePoint, tx: 5 }] };
  assert.deepEqual(
    [
      isLate(before, metrics),
      isLate(counted, metrics),
      isLate(streaming, metrics),
      isLate(before, idle),
      isLate(before, undefined),
    ],
    [true, false, false, false, false],
  );
});

test('the words name each class that was answered, and each part that was measured', () => {
  assert.equal(summariseAnswers(some, 'day'), '31 answers in the last day: 30 2xx, 1 4xx.');
  assert.equal(summariseAnswers(none, 'week'), 'No answers in the last week.');
  assert.deepEqual(
    firstByteRows(some).map(({ label, values }) => [label, ...values]),
    [
      ['Whole', '40 ms', '80 ms', '120 ms'],
      ['Edge', '0.3 ms', '0.5 ms', '0.8 ms'],
      ['Upstream', '1.5 s', '3.0 s', '4.5 s'],
    ],
  );
});

test('no label appears twice on the axis of an idle tunnel', () => {
  for (const { leastTop, format } of [answersChart(history), firstByteChart(history, 'edge')]) {
    const labels = [0, 1, 2, 3, 4, 5].map((step) => format((leastTop * step) / 5));
    assert.equal(new Set(labels).size, labels.length, labels.join());
  }
});

test('times have a unit and as many digits as they are worth', () => {
  assert.deepEqual([0.04, 4.23, 180.4, 999, 2_500, 60_000].map(formatMs), [
    '0 ms',
    '4.2 ms',
    '180 ms',
    '999 ms',
    '2.5 s',
    '60 s',
  ]);
});
