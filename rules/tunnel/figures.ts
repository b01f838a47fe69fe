// The figures of an http tunnel: counts of its answers by class of status, and of the time to the first byte in fixed steps. They
// are one list of counts, so edges, control and its database add, subtract and keep them alike.

/** Each step is at most 1.7 times the one before (twice at the end), and has 1, 2 and 5: quantiles are within half a step. */
export const firstByteStepsMs: readonly number[] = [
  ...[0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700],
  ...[1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000, 20_000, 30_000, 60_000],
];

/** The whole time to the first byte, and its parts as in the visitor log (docs/visitor-log.md). */
export const firstByteParts = ['total', 'edge', 'tunnel', 'upstream'] as const;
export type FirstBytePart = (typeof firstByteParts)[number];

export const statusClasses = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const;
export type StatusClass = (typeof statusClasses)[number];

/** All counts of a tunnel. An empty list: none. */
export type Figures = readonly number[];

/** One more than steps: what is behind the last. */
const countsOfPart = firstByteStepsMs.length + 1;
/** The sum of all times to the first byte, in microseconds. */
const sumAt = statusClasses.length;
const timesAt = sumAt + 1;
export const figureCount: number = timesAt + firstByteParts.length * countsOfPart;

export const emptyFigures = (): number[] => Array.from({ length: figureCount }, () => 0);

export function countStatus(figures: number[], status: number): void {
  const at = Math.floor(status / 100) - 1;
  if (at >= 0 && at < statusClasses.length) figures[at]!++;
}

/** The first step that is not below `ms`. */
function stepOf(ms: number): number {
  let low = 0;
  let high = firstByteStepsMs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ms <= firstByteStepsMs[middle]!) high = middle;
    else low = middle + 1;
  }
  return low;
}

const partAt = (part: number): number => timesAt + part * countsOfPart;

/** Counts a time in each of its parts. Without a measured round trip, the whole rest is the upstream's. */
export function countFirstByte(figures: number[], totalMs: number, edgeMs: number, roundTripMs: number | null): void {
  // The round trip was measured before: this answer may have been faster.
  const tunnelMs = Math.min(roundTripMs ?? 0, Math.max(0, totalMs - edgeMs));
  figures[sumAt]! += Math.round(totalMs * 1_000);
  figures[partAt(0) + stepOf(totalMs)]!++;
  figures[partAt(1) + stepOf(edgeMs)]!++;
  if (roundTripMs !== null) figures[partAt(2) + stepOf(tunnelMs)]!++;
  figures[partAt(3) + stepOf(totalMs - edgeMs - tunnelMs)]!++;
}

export function addFigures(a: Figures, b: Figures): Figures {
  if (a.length === 0 || b.length === 0) return a.length === 0 ? b : a;
  return a.map((count, at) => count + (b[at] ?? 0));
}

/** What was counted between two moments; empty if nothing was. */
export function figuresSince(before: Figures, now: Figures): Figures {
  const since = before.length === 0 ? now : now.map((count, at) => Math.max(0, count - (before[at] ?? 0)));
  return since.some((count) => count > 0) ? since : [];
}

/** Room for the steps of later versions in a list of counts. */
const mostFigures = 1_000;

/** Figures of this version, or of one with other steps. */
export const isFigures = (value: unknown): value is Figures =>
  Array.isArray(value) && value.length <= mostFigures && value.every((count) => Number.isSafeInteger(count) && count >= 0);

/** Undefined for those of a version with other steps: nothing tells which count is which. */
export const knownFigures = (figures: Figures | undefined): Figures | undefined =>
  figures?.length === figureCount ? figures : undefined;

/** The text that the database keeps. Most counts are zero, and take a comma. Texts joined by `;` are the sum of their figures. */
export const renderFigures = (figures: Figures): string =>
  figures
    .map((count) => count || '')
    .join()
    .replace(/,+$/, '');

/** Passes over figures with more steps than this version has. */
export function parseFigures(text: string | null): Figures {
  const parse = (one: string): Figures => {
    const counts = one.split(',', figureCount + 1);
    if (counts.length > figureCount) return [];
    return Array.from({ length: figureCount }, (_, at) => Number(counts[at] ?? 0) || 0);
  };
  return text === null ? [] : text.split(';').map(parse).reduce(addFigures);
}

export const countOfClass = (figures: Figures, name: StatusClass): number => figures[statusClasses.indexOf(name)] ?? 0;

export const countOfAnswers = (figures: Figures): number => statusClasses.reduce((sum, _name, at) => sum + (figures[at] ?? 0), 0);

export const sumOfSeconds = (figures: Figures): number => (figures[sumAt] ?? 0) / 1_000_000;

/** Counts by step; the last one is behind all steps. */
export function countsOf(figures: Figures, part: FirstBytePart): readonly number[] {
  const from = partAt(firstByteParts.indexOf(part));
  return figures.slice(from, from + countsOfPart);
}

/** Milliseconds that this share of the counted times does not exceed, by even spread within a step; null if none was counted. */
export function quantileOf(counts: readonly number[], share: number): number | null {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  const wanted = share * all;
  let below = 0;
  for (const [at, count] of counts.entries()) {
    if (below + count >= wanted && count > 0) {
      const from = at === 0 ? 0 : firstByteStepsMs[at - 1]!;
      const to = firstByteStepsMs[at] ?? from;
      return Math.round((from + ((to - from) * (wanted - below)) / count) * 100) / 100;
    }
    below += count;
  }
  return firstByteStepsMs.at(-1)!;
}
