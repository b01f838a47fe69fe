// Sizes and times as the inspector shows them.

const sizeUnits = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Decimal units, three figures at most: `0 B`, `999 B`, `1.25 kB`. */
export function formatSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // 999.5 would be written as 1000: the next unit says it in three figures.
  while (value >= 999.5 && unit < sizeUnits.length - 1) {
    value /= 1000;
    unit++;
  }
  const decimals = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(decimals)} ${sizeUnits[unit]}`;
}

/** Three figures at most: `0.42 ms`, `128 ms`, `1.25 s`, `2 min 5 s`. */
export function formatDuration(ms: number): string {
  if (ms < 9.995) return `${ms.toFixed(ms < 0.995 ? 2 : 1)} ms`;
  if (ms < 999.5) return `${ms.toFixed(0)} ms`;
  const seconds = ms / 1000;
  if (seconds < 59.5) return `${seconds.toFixed(seconds < 9.995 ? 2 : 1)} s`;
  const whole = Math.round(seconds);
  return whole < 3600
    ? `${Math.floor(whole / 60)} min ${whole % 60} s`
    : `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}
