import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { eachCase } from '../test-kit.ts';
import { formatByteRate, renderTunnelMetrics } from './metrics.ts';

const values = (tunnel: Parameters<typeof renderTunnelMetrics>[0]) => renderTunnelMetrics(tunnel).map((metric) => metric.value);

test('the strip has four figures with the labels of the spec', () => {
  assert.deepEqual(
    renderTunnelMetrics({ status: 'Created' }).map((metric) => metric.label),
    ['Connected Clients', 'RX (5m)', 'TX (5m)', 'TCP conn rate (5m)'],
  );
});

test('a Pending tunnel shows 0, even with metrics', () => {
  assert.deepEqual(values({ status: 'Pending' }), ['0', '0', '0', '0']);
  assert.deepEqual(values({ status: 'Pending', connectedClients: 1, metrics: { rx: 5, tx: 5, tcpConnectionRate: 1 } }), [
    '0',
    '0',
    '0',
    '0',
  ]);
});

test('shows n/a for a missing figure', () => {
  assert.deepEqual(values({ status: 'Created' }), ['n/a', 'n/a', 'n/a', 'n/a']);
  assert.deepEqual(values({ status: 'Progressing', connectedClients: 0 }), ['0', 'n/a', 'n/a', 'n/a']);
  assert.deepEqual(
    values({ status: 'Created', metrics: { rx: Number.NaN, tx: -1, tcpConnectionRate: Number.POSITIVE_INFINITY } }),
    ['n/a', 'n/a', 'n/a', 'n/a'],
  );
});

test('figures have units, and the connection rate two decimals', () => {
  assert.deepEqual(values({ status: 'Created', connectedClients: 3, metrics: { rx: 1250, tx: 0, tcpConnectionRate: 0.1 } }), [
    '3',
    '1.25 kB/s',
    '0 B/s',
    '0.10',
  ]);
});

test('a byte rate is written in three figures', (t) => {
  const rows: [number, string, string?][] = [
    [0, '0 B/s'],
    [0.4, '0 B/s'],
    [1, '1 B/s'],
    [999, '999 B/s'],
    [999.5, '1.00 kB/s', 'not 1000 B/s'],
    [1000, '1.00 kB/s'],
    [1234, '1.23 kB/s'],
    [9994, '9.99 kB/s'],
    [9995, '10.0 kB/s', 'not 10.00'],
    [99_949, '99.9 kB/s'],
    [99_950, '100 kB/s'],
    [999_499, '999 kB/s'],
    [999_500, '1.00 MB/s'],
    [12_500_000, '12.5 MB/s'],
    [1.5e9, '1.50 GB/s'],
    [2e12, '2.00 TB/s'],
    [5e15, '5000 TB/s', 'no unit above'],
  ];
  eachCase(t, rows, ([rate, text]) => assert.equal(formatByteRate(rate), text));
});

test('a written byte rate is within half a hundredth of the true one', () => {
  const power = { 'B/s': 0, 'kB/s': 3, 'MB/s': 6, 'GB/s': 9, 'TB/s': 12 };
  fc.assert(
    fc.property(fc.double({ min: 100, max: 1e14, noNaN: true }), (rate) => {
      const [figure, unit] = formatByteRate(rate).split(' ') as [string, keyof typeof power];
      const read = Number(figure) * 10 ** power[unit];
      assert.ok(Math.abs(read - rate) <= rate * 0.0051, `${rate} was written ${figure} ${unit}`);
    }),
  );
});
