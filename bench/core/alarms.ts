// Alert rules with shorter durations, and the table of what made each of them fire. Pure.

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Divides every duration: how long a condition must hold, ranges, and offsets. Thresholds stay. */
export function hasten(rules: string, factor: number): string {
  const shorter = (_: string, before: string, count: string, unit: string): string =>
    `${before}${Math.round((Number(count) * (unitMs[unit] ?? 0)) / factor)}ms`;
  return rules.replace(/(\bfor: |\[|\boffset )(\d+)([smh])\b/g, shorter);
}

export interface Alarm {
  readonly alert: string;
  readonly cause: string;
  /** Time from the break until it fired; null if it did not. */
  readonly firedMs: number | null;
  /** Alerts that fired by the same break. */
  readonly others: readonly string[];
}

export const renderAlarm = ({ alert, cause, firedMs, others }: Alarm): string =>
  `| ${alert} | ${cause} | ${firedMs === null ? 'never' : `${Math.round(firedMs / 1_000)} s`} | ${others.join(', ')} |`;

export const renderAlarms = (alarms: readonly Alarm[]): string =>
  ['| alert | what was broken | fired after | also fired |', '|---|---|---:|---|', ...alarms.map(renderAlarm)].join('\n');
