// Groups the rows of a query, and keeps a part of each.

export const gather = <Row, T>(rows: readonly Row[], keyOf: (row: Row) => string, pick: (row: Row) => T): Map<string, T[]> =>
  new Map([...Map.groupBy(rows, keyOf)].map(([key, group]) => [key, group.map(pick)]));
