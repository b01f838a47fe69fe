// Groups the rows of a query by a column, and keeps a part of each.

export const gather = <Key extends string, Row extends Readonly<Record<Key, string>>, T>(
  rows: readonly Row[],
  key: Key,
  pick: (row: Row) => T,
): Map<string, T[]> => new Map([...Map.groupBy(rows, (row) => row[key])].map(([value, group]) => [value, group.map(pick)]));
