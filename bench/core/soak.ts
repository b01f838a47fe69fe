// What a long run shows: the growth of each figure with its 95 % interval, and the failures that a restart explains. Pure.

export interface Point {
  readonly atHours: number;
  readonly value: number;
}

export interface Trend {
  readonly first: number;
  readonly last: number;
  readonly measuredHours: number;
  /** Growth per hour; the true one lies between `low` and `high` in 95 of 100 runs. */
  readonly slope: number;
  readonly low: number;
  readonly high: number;
}

export interface Figure {
  readonly name: string;
  readonly unit: string;
  /** The most that it may surely grow in an hour; in a run of minutes, in all. */
  readonly bound: number;
  readonly points: readonly Point[];
}

/**
 * Neighbouring samples resemble each other, for example between two garbage collections. The interval of a plain regression
 * would be too narrow; the means of blocks are nearly independent.
 */
const blocks = 10;
/** 97.5 % quantile of Student's t for 1 to 8 degrees of freedom; a line through n blocks leaves n - 2. */
const quantiles = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306];
/** A process that has just started still compiles code and grows its heap, so a shorter run may grow by ten times the bound. */
const steadyFromHours = 3 / 60;
const growthOfStart = 10;

/** Least squares through the means of blocks; null with fewer than three points. */
export function trendOf(points: readonly Point[]): Trend | null {
  const means = blockMeans(points);
  const quantile = quantiles[means.length - 3];
  if (quantile === undefined) return null;
  const atHours = mean(means.map((each) => each.atHours));
  const value = mean(means.map((each) => each.value));
  const sxx = sum(means.map((each) => (each.atHours - atHours) ** 2));
  const slope = sum(means.map((each) => (each.atHours - atHours) * (each.value - value))) / sxx;
  const squares = sum(means.map((each) => (each.value - value - slope * (each.atHours - atHours)) ** 2));
  const margin = quantile * Math.sqrt(squares / (means.length - 2) / sxx);
  return {
    first: means[0]!.value,
    last: means.at(-1)!.value,
    measuredHours: points.at(-1)!.atHours - points[0]!.atHours,
    slope,
    low: slope - margin,
    high: slope + margin,
  };
}

function blockMeans(points: readonly Point[]): readonly Point[] {
  const count = Math.min(blocks, points.length);
  return Array.from({ length: count }, (_, index) => {
    const block = points.slice(Math.floor((index * points.length) / count), Math.floor(((index + 1) * points.length) / count));
    return { atHours: mean(block.map((each) => each.atHours)), value: mean(block.map((each) => each.value)) };
  });
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]): number => sum(values) / values.length;

export function isAboveBound({ low, measuredHours }: Trend, bound: number): boolean {
  const share = measuredHours < steadyFromHours ? growthOfStart : Math.max(1, measuredHours);
  return low * measuredHours > bound * share;
}

export function renderFigure({ name, unit, bound, points }: Figure): string {
  const trend = trendOf(points);
  if (trend === null) return `| ${name} | | | | too few samples |`;
  const { first, last, slope, low, high } = trend;
  const interval = `${signed(slope)} (${signed(low)} to ${signed(high)})`;
  return `| ${name}, ${unit} | ${digits(first)} | ${digits(last)} | ${interval} | ${verdict(trend, bound)} |`;
}

function verdict(trend: Trend, bound: number): string {
  const { low, high, measuredHours } = trend;
  if (isAboveBound(trend, bound)) return `GROWS ABOVE ITS BOUND of ${bound}: surely ${signed(low * measuredHours)} in this run`;
  if (low > 0) return `grows, in this run by ${digits(low * measuredHours)} to ${digits(high * measuredHours)}`;
  if (high < 0) return 'falls';
  if (low === high) return 'no growth shown: every sample is the same';
  return `no growth shown; up to ${digits(high)} an hour could hide`;
}

const digits = (value: number): string =>
  Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) < 1 ? 2 : 1);
const signed = (value: number): string => `${value < 0 ? '' : '+'}${digits(value)}`;

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export const isDuring = ({ fromMs, toMs }: Span, restarts: readonly Span[]): boolean =>
  restarts.some((restart) => fromMs <= restart.toMs && toMs >= restart.fromMs);
