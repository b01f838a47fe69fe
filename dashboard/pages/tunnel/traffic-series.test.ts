import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TunnelHistory } from '@underpass/rules/entity/resource.ts';
import { bytesChart, connectionsChart, summarise } from './traffic-series.ts';

const point = (at: string, rx: number, tx: number, tcpConnectionRate: number) => ({ at, rx, tx, tcpConnectionRate, clients: 1 });
const history: TunnelHistory = {
  stepSeconds: 60,
  points: [
    point('2026-11-20T12:00:00Z', 10, 2000, 0.5),
    point('2026-11-20T12:01:00Z', 1500, 20, 0.25),
    point('2026-11-20T12:02:00Z', 0, 0, 0),
    point('2026-11-20T12:03:00Z', 0, 0, 0),
  ],
};

test('each chart has one time axis, as many values as times, and ends before what may not be written yet', () => {
  for (const chart of [bytesChart(history), connectionsChart(history)]) {
    assert.deepEqual(chart.times, [1795176000, 1795176060]);
    for (const series of chart.series) assert.equal(series.values.length, 2);
  }
  assert.equal(bytesChart({ ...history, stepSeconds: 900 }).times.length, 3, 'of a longer step a minute is little');
});

test('no label appears twice on the axis of an idle tunnel', () => {
  for (const { leastTop, format } of [bytesChart(history), connectionsChart(history)]) {
    const labels = [0, 1, 2, 3, 4, 5].map((step) => format((leastTop * step) / 5));
    assert.equal(new Set(labels).size, labels.length, labels.join());
  }
});

test('the summary has the peak of each figure separately', () => {
  assert.deepEqual(summarise(history, 'hour'), {
    bytes: 'Peak of the last hour: RX 1.50 kB/s, TX 2.00 kB/s.',
    connections: 'Peak of the last hour: 0.50 connections per second.',
  });
});

test('one connection in five minutes, which the history does not have yet, is not called none or 0.00', () => {
  const now = { rx: 22, tx: 400, tcpConnectionRate: 1 / 300 };
  assert.deepEqual(summarise({ stepSeconds: 60, points: [] }, 'hour', now), {
    bytes: 'Peak of the last hour: RX 22 B/s, TX 400 B/s.',
    connections: 'Peak of the last hour: under 0.01 connections per second.',
  });
});

test('a history without traffic has a text that says so', () => {
  for (const points of [[], [point('2026-11-20T12:00:00Z', 0, 0, 0)]])
    assert.deepEqual(summarise({ stepSeconds: 60, points }, 'week'), {
      bytes: 'No traffic in the last week.',
      connections: 'No connections in the last week.',
    });
});
