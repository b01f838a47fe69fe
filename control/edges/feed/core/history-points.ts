// Turns rows of minutes and quarters of an hour into the points of a chart: a fixed number for each range. Pure.

import type { AnswerFigures, HistoryRange, TunnelHistory } from '@underpass/rules/entity/resource.ts';
import {
  addFigures,
  countOfClass,
  countsOf,
  type Figures,
  type FirstBytePart,
  firstByteParts,
  quantileOf,
  statusClasses,
} from '@underpass/rules/tunnel/figures.ts';

export interface MinuteRow {
  /** Start of the minute, or of the quarter of an hour that it sums up, ms. */
  readonly minuteMs: number;
  readonly rxBytes: number;
  readonly txBytes: number;
  readonly connections: number;
  /** The most clients that were connected at once in that time. */
  readonly clients: number;
  /** Empty where no edge said any. */
  readonly figures: Figures;
}

export const minuteMs = 60_000;
/** A step of the longer ranges is a whole number of quarters. */
export const quarterMs = 15 * minuteMs;

export const startOf = (stepMs: number, ms: number): number => Math.floor(ms / stepMs) * stepMs;

/** 60, 96 and 168 points. */
const steps: Readonly<Record<HistoryRange, { readonly stepMs: number; readonly count: number }>> = {
  hour: { stepMs: minuteMs, count: 60 },
  day: { stepMs: quarterMs, count: 96 },
  week: { stepMs: 4 * quarterMs, count: 168 },
};

/** No range shows older rows. */
export const historyKeptMs = steps.week.stepMs * (steps.week.count + 1);
/** The longer ranges show quarters instead of older minutes. */
export const minutesKeptMs = steps.hour.stepMs * (steps.hour.count + 1);

/** The first moment that a query for this range needs. */
export function historyFrom(range: HistoryRange, nowMs: number): number {
  const { stepMs, count } = steps[range];
  return startOf(stepMs, nowMs) - (count - 1) * stepMs;
}

/** Null without an answer of that kind: an edge of an earlier version says none, which is not zero. */
function figuresOf(rows: readonly MinuteRow[]): AnswerFigures {
  const figures = rows.map((row) => row.figures).reduce(addFigures, []);
  if (figures.length === 0) return { answers: null, firstByte: null };
  const quantiles = (part: FirstBytePart) => {
    const counts = countsOf(figures, part);
    const [p50, p95, p99] = [quantileOf(counts, 0.5), quantileOf(counts, 0.95), quantileOf(counts, 0.99)];
    return p50 === null || p95 === null || p99 === null ? null : { p50, p95, p99 };
  };
  const answers = Object.fromEntries(statusClasses.map((name) => [name, countOfClass(figures, name)]));
  const firstByte = Object.fromEntries(firstByteParts.map((part) => [part, quantiles(part)]));
  return { answers, firstByte } as AnswerFigures;
}

function pointOf(atMs: number, stepMs: number, rows: readonly MinuteRow[]): TunnelHistory['points'][number] {
  const seconds = stepMs / 1000;
  const sum = (read: (row: MinuteRow) => number): number => rows.reduce((total, row) => total + read(row), 0);
  return {
    at: new Date(atMs).toISOString(),
    rx: sum((row) => row.rxBytes) / seconds,
    tx: sum((row) => row.txBytes) / seconds,
    tcpConnectionRate: sum((row) => row.connections) / seconds,
    clients: rows.reduce((most, row) => Math.max(most, row.clients), 0),
    ...figuresOf(rows),
  };
}

/** A point for every step, zero where nothing happened. */
export function historyPoints(range: HistoryRange, rows: readonly MinuteRow[], nowMs: number): TunnelHistory {
  const { stepMs, count } = steps[range];
  const fromMs = historyFrom(range, nowMs);
  const byStep = Map.groupBy(rows, (row) => Math.floor((row.minuteMs - fromMs) / stepMs));
  const points = Array.from({ length: count }, (_, step) => pointOf(fromMs + step * stepMs, stepMs, byStep.get(step) ?? []));
  return { stepSeconds: stepMs / 1000, points, whole: figuresOf(rows.filter((row) => row.minuteMs >= fromMs)) };
}

const tracePointMs = 2 * minuteMs;
const tracePointsCount = 30;

/** The last hour, without the running minute and the one before it, which are written up to a minute late. */
export function traceSpan(nowMs: number): { readonly fromMs: number; readonly beforeMs: number } {
  const beforeMs = startOf(minuteMs, nowMs) - minuteMs;
  return { fromMs: beforeMs - tracePointsCount * tracePointMs, beforeMs };
}

/** Bytes per second, both ways. */
export function tracePoints(
  rows: readonly Pick<MinuteRow, 'minuteMs' | 'rxBytes' | 'txBytes'>[],
  { fromMs }: { readonly fromMs: number },
): readonly number[] {
  const sums = Array.from({ length: tracePointsCount }, () => 0);
  for (const { minuteMs: at, rxBytes, txBytes } of rows) {
    const index = Math.floor((at - fromMs) / tracePointMs);
    if (index in sums) sums[index]! += rxBytes + txBytes;
  }
  return sums.map((bytes) => Math.round(bytes / (tracePointMs / 1000)));
}
