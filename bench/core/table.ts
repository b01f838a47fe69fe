// Medians, ratios and the printed table of a benchmark run. Pure.

export interface Sample {
  readonly peer: string;
  readonly column: string;
  readonly value: number;
}

/** A column knows which direction is better, so that a ratio reads the same way everywhere. */
export interface Column {
  readonly name: string;
  readonly unit: string;
  readonly better: 'more' | 'less';
  /** The promised bound against the baseline, as a ratio; absent without a promise. */
  readonly bound?: number;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export function medianOf(samples: readonly Sample[], peer: string, column: string): number {
  return median(samples.filter((sample) => sample.peer === peer && sample.column === column).map((sample) => sample.value));
}

/** The median of the ratios of each round: noise of the machine affects both values of a round alike. */
export function ratioOf(samples: readonly Sample[], peer: string, baseline: string, column: string): number {
  const values = (name: string) => samples.filter((s) => s.peer === name && s.column === column).map((s) => s.value);
  const base = values(baseline);
  return median(values(peer).flatMap((value, round) => (base[round] === undefined ? [] : [value / base[round]])));
}

export function holds(column: Column, ratio: number): boolean | undefined {
  if (column.bound === undefined || Number.isNaN(ratio)) return undefined;
  return column.better === 'less' ? ratio <= column.bound : ratio >= column.bound;
}

export function renderTable(
  samples: readonly Sample[],
  columns: readonly Column[],
  peers: readonly string[],
  baseline: string,
): string {
  return columns.map((column) => renderColumn(samples, column, peers, baseline)).join('\n\n');
}

function renderColumn(samples: readonly Sample[], column: Column, peers: readonly string[], baseline: string): string {
  const rows = peers
    .map((peer) => ({ peer, value: medianOf(samples, peer, column.name), ratio: ratioOf(samples, peer, baseline, column.name) }))
    .filter((row) => !Number.isNaN(row.value));
  const head = `## ${column.name} (${column.unit}; ${column.better} is better)\n\n| peer | median | × ${baseline} |\n| --- | ---: | ---: |`;
  return [
    head,
    ...rows.map((row) => `| ${row.peer} | ${digits(row.value)} | ${digits(row.ratio)}${verdict(column, row)} |`),
  ].join('\n');
}

function verdict(column: Column, row: { peer: string; ratio: number }): string {
  if (row.peer !== 'underpass') return '';
  const held = holds(column, row.ratio);
  return held === undefined ? '' : ` (bound ${column.bound}: ${held ? 'holds' : 'MISSED'})`;
}

function digits(value: number): string {
  if (Number.isNaN(value)) return '';
  if (value >= 1000) return Math.round(value).toLocaleString('en-US');
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
