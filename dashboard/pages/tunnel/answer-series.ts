// Turns the figures of an http tunnel into chart data and words: its answers by status, and the time to their first byte. Pure.

import type { TunnelMetrics } from '@underpass/rules/entity/entity.ts';
import type { AnswerFigures, HistoryRange, TunnelHistory } from '@underpass/rules/entity/resource.ts';
import { counted } from '@underpass/rules/text/counted.ts';
import { type FirstBytePart, firstByteParts, type StatusClass, statusClasses } from '@underpass/rules/tunnel/figures.ts';
import type { ChartData, SeriesTone } from '../../ui/chart/draw-chart.ts';
import { seriesOf, timesOf } from './traffic-series.ts';

export const answerTitles = { answers: 'Answers per minute', firstByte: 'Time to the first byte' };

export const partLabels: Readonly<Record<FirstBytePart, string>> = {
  total: 'Whole',
  edge: 'Edge',
  tunnel: 'Tunnel',
  upstream: 'Upstream',
};

/** Most tunnels have no 1xx: only WebSockets do. */
const classTones: readonly (readonly [StatusClass, SeriesTone])[] = [
  ['2xx', 'ok'],
  ['3xx', 'info'],
  ['4xx', 'accent'],
  ['5xx', 'danger'],
];

const formatCount = (value: number): string =>
  value === 0 ? '0' : value < 10 ? value.toFixed(2).replace(/\.?0+$/, '') : String(Math.round(value));

/** `4.2 ms`, `180 ms`, `2.5 s`. */
export function formatMs(ms: number): string {
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ms`;
}

export function answersChart(history: TunnelHistory): ChartData {
  const perMinute = 60 / history.stepSeconds;
  return {
    title: answerTitles.answers,
    times: timesOf(history),
    format: formatCount,
    leastTop: 1,
    series: classTones.map(([label, tone]) => ({
      ...{ label, tone },
      values: seriesOf(history, ({ answers }) => (answers?.[label] ?? 0) * perMinute),
    })),
  };
}

/** Nothing is drawn where nothing was measured. */
export function firstByteChart(history: TunnelHistory, part: FirstBytePart): ChartData {
  const of = (share: 'p50' | 'p95' | 'p99') => seriesOf(history, ({ firstByte }) => firstByte?.[part]?.[share] ?? null);
  return {
    title: answerTitles.firstByte,
    times: timesOf(history),
    format: formatMs,
    leastTop: 5,
    series: [
      { label: 'p50', values: of('p50'), tone: 'ok' },
      { label: 'p95', values: of('p95'), tone: 'accent' },
      { label: 'p99', values: of('p99'), tone: 'danger' },
    ],
  };
}

const countAll = (whole: AnswerFigures | undefined): number =>
  statusClasses.reduce((sum, name) => sum + (whole?.answers?.[name] ?? 0), 0);

/**
 * Control writes answers and bytes up to a minute late, and the words must not deny the traffic that the strip shows. A stream that
 * began before has bytes and no answer.
 */
export const isLate = ({ whole, points }: TunnelHistory, now: TunnelMetrics | undefined): boolean =>
  countAll(whole) === 0 && points.every(({ tx }) => tx === 0) && (now?.tx ?? 0) > 0;
export const lateText = 'The latest answers are not counted yet.';

/** Undefined from a control of an earlier version. `1,204 answers in the last hour: 1,100 2xx, 104 4xx.` */
export function summariseAnswers(whole: AnswerFigures | undefined, range: HistoryRange): string {
  const answers = whole?.answers ?? null;
  const all = countAll(whole);
  if (answers === null || all === 0) return `No answers in the last ${range}.`;
  const parts = statusClasses
    .filter((name) => answers[name] > 0)
    .map((name) => `${answers[name].toLocaleString('en-US')} ${name}`);
  return `${counted(all, 'answer')} in the last ${range}: ${parts.join(', ')}.`;
}

export interface PartRow {
  readonly part: FirstBytePart;
  readonly label: string;
  readonly values: readonly string[];
}

/** p50, p95 and p99 of each part over the whole range; empty without a time. */
export const firstByteRows = (whole: AnswerFigures | undefined): readonly PartRow[] =>
  firstByteParts.flatMap((part) => {
    const quantiles = whole?.firstByte?.[part];
    if (!quantiles) return [];
    return [{ part, label: partLabels[part], values: [quantiles.p50, quantiles.p95, quantiles.p99].map(formatMs) }];
  });
