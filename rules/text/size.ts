// Sizes as people read them. Pure.

const units = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Decimal units, three figures at most: `0 B`, `999 B`, `1.25 kB`. */
export function formatSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // 999.5 would be written as 1000: the next unit says it in three figures.
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  const decimals = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(decimals)} ${units[unit]}`;
}
