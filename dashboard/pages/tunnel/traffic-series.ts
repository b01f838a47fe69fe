// Turns a tunnel's history into chart data and into a summary in words. Pure.

import type { TunnelMetrics } from '@underpass/rules/entity/entity.ts';
import type { HistoryPoint, HistoryRange, TunnelHistory } from '@underpass/rules/entity/resource.ts';
import { formatByteRate, formatRate } from '@underpass/rules/screen/metrics.ts';
import type { ChartData } from '../../ui/chart/draw-chart.ts';

/**
 * Leaves out the current step and the minute before it, which control writes up to a minute late: incomplete values would look like
 * traffic that ended.
 */
export const seriesOf = <Value>({ points, stepSeconds }: TunnelHistory, pick: (point: HistoryPoint) => Value) =>
  points.slice(0, stepSeconds > 60 ? -1 : -2).map(pick);
export const timesOf = (history: TunnelHistory) => seriesOf(history, (point) => Date.parse(point.at) / 1000);

export const chartTitles = { bytes: 'Bytes per second', connections: 'TCP connections per second' };

export function bytesChart(history: TunnelHistory): ChartData {
  return {
    title: chartTitles.bytes,
    times: timesOf(history),
    format: formatByteRate,
    leastTop: 100,
    series: [
      { label: 'RX', values: seriesOf(history, (point) => point.rx), tone: 'accent' },
      { label: 'TX', values: seriesOf(history, (point) => point.tx), tone: 'info' },
    ],
  };
}

export function connectionsChart(history: TunnelHistory): ChartData {
  return {
    title: chartTitles.connections,
    times: timesOf(history),
    format: formatRate,
    leastTop: 0.1,
    series: [{ label: 'TCP conn rate', values: seriesOf(history, (point) => point.tcpConnectionRate), tone: 'ok' }],
  };
}

const noRates: TunnelMetrics = { rx: 0, tx: 0, tcpConnectionRate: 0 };

interface TrafficSummary {
  readonly bytes: string;
  readonly connections: string;
}

/** `now`: the rates of the last minutes, which the history gets up to a minute late. The words must not deny what the strip shows. */
export function summarise(history: TunnelHistory, range: HistoryRange, now: TunnelMetrics = noRates): TrafficSummary {
  const peak = (pick: (point: TunnelMetrics) => number) =>
    history.points.reduce((most, point) => Math.max(most, pick(point)), pick(now));
  const [rx, tx, rate] = [peak((p) => p.rx), peak((p) => p.tx), peak((p) => p.tcpConnectionRate)];
  const figures = `RX ${formatByteRate(rx)}, TX ${formatByteRate(tx)}`;
  return {
    bytes: rx + tx === 0 ? `No traffic in the last ${range}.` : `Peak of the last ${range}: ${figures}.`,
    connections:
      rate === 0
        ? `No connections in the last ${range}.`
        : `Peak of the last ${range}: ${rate < 0.005 ? 'under 0.01' : formatRate(rate)} connections per second.`,
  };
}
