// Reads one page of a log, newest first. A log may hold millions of rows, so nothing is counted, and a cursor is the id of a row.

import { type SelectQueryBuilder, sql } from 'kysely';

export interface LogCursor {
  /** The page begins behind this row. */
  readonly before?: string;
  /** The page ends before this row, or is the newest one. */
  readonly after?: string;
}

interface LogPage<Row> {
  readonly rows: readonly Row[];
  /** The `before` of the page with older rows; null on the last. */
  readonly next: string | null;
  /** The `after` of the page with newer rows; null on the first. */
  readonly previous: string | null;
}

/** Any query: its tables do not matter here. */
type Rows = SelectQueryBuilder<Record<string, Record<string, unknown>>, string, object>;

/** `id`: the column, which sorts by time. */
export async function readLogPage<DB, TB extends keyof DB, Row extends { readonly id: string }>(
  all: SelectQueryBuilder<DB, TB, Row>,
  id: string,
  { before, after }: LogCursor,
  limit: number,
): Promise<LogPage<Row>> {
  const key = sql.ref<string>(id);
  const rows = all as unknown as Rows;
  if (after !== undefined && before === undefined) {
    const newer = rows.where(key, '>', after).orderBy(key, 'asc');
    const found = (await newer.limit(limit + 1).execute()) as Row[];
    // The newest page is full, if there are enough rows.
    if (found.length <= limit) return readLogPage(all, id, {}, limit);
    const page = found.slice(0, limit).reverse();
    return { rows: page, next: page.at(-1)!.id, previous: page[0]!.id };
  }
  const older = before === undefined ? rows : rows.where(key, '<', before);
  const found = (await older
    .orderBy(key, 'desc')
    .limit(limit + 1)
    .execute()) as Row[];
  const page = found.slice(0, limit);
  return {
    rows: page,
    next: found.length > limit ? page.at(-1)!.id : null,
    previous: before === undefined ? null : (page[0]?.id ?? before),
  };
}
