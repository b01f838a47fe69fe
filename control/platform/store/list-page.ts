// Reads one page of a list that may be too long for memory: the database searches, counts, sorts and cuts it. It sorts letters by
// code unit in lower case; `selectPage` sorts short lists as people expect.

import { besidePage, type ListPage, type ListQuery, splitCursor } from '@underpass/rules/list/list-page.ts';
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { containing } from './like.ts';

/** Expressions without parameters: Postgres takes two equal parameters of a group for different ones. */
export interface ListedColumns {
  /** Unique, in the order of creation. */
  readonly id: string;
  /** Whether a row contains a word, as a pattern of `like`. */
  readonly has: (pattern: string) => RawBuilder<boolean>;
  readonly sorts: Readonly<Record<string, RawBuilder<string | number>>>;
  /** The sorts whose values are numbers. */
  readonly numbers: readonly string[];
  readonly status?: RawBuilder<string>;
}

/** Any query: its tables do not matter here. */
type Rows = SelectQueryBuilder<Record<string, Record<string, unknown>>, string, object>;

/** A forged cursor may hold what is no number of the database. */
const wholeOf = (text: string): number => (Number.isSafeInteger(Number(text)) ? Number(text) : 0);

export async function readListPage<DB, TB extends keyof DB, Row>(
  all: SelectQueryBuilder<DB, TB, Row>,
  { id, has, sorts, numbers, status }: ListedColumns,
  query: ListQuery,
  statuses: readonly string[] = [],
): Promise<ListPage<Row>> {
  const { after, before, limit = Number.MAX_SAFE_INTEGER, descending } = query;
  const searched = query.words.reduce((rows, word) => rows.where(has(containing(word))), all as unknown as Rows);
  const grouped = status === undefined ? searched : searched.groupBy(status);
  const counting = grouped.clearSelect().select([(status ?? sql<string>`null`).as('status'), sql<number>`count(*)`.as('n')]);
  const rowsOf = new Map((await counting.execute()).map((row) => [row.status, Number(row.n)]));
  const found = status === undefined || query.status === undefined ? searched : searched.where(sql`${status}`, '=', query.status);
  const total = [...rowsOf].reduce((sum, [each, n]) => (query.status === undefined || each === query.status ? sum + n : sum), 0);

  const key = sql.ref<string>(id);
  const sortsBy = query.sort === undefined ? undefined : sorts[query.sort];
  const order = sortsBy === undefined ? [key] : [sortsBy, key];
  const countTo = async (cursor: string, compared: string): Promise<number> => {
    const [rowId, text] = splitCursor(cursor);
    const value = numbers.includes(query.sort ?? '') ? wholeOf(text) : text;
    const place = sortsBy === undefined ? [rowId] : [value, rowId];
    const rows = found.clearSelect().select(sql<number>`count(*)`.as('n'));
    const sought = rows.where(sql<boolean>`(${sql.join(order)}) ${sql.raw(compared)} (${sql.join(place)})`);
    return Number((await sought.executeTakeFirstOrThrow()).n);
  };
  const earlier = descending ? '>' : '<';
  let start = 0;
  if (after !== undefined) start = await countTo(after, `${earlier}=`);
  else if (before !== undefined) start = Math.max(0, (await countTo(before, earlier)) - limit);
  const sorted = order.reduce((rows, column) => rows.orderBy(column, descending ? 'desc' : 'asc'), found);
  const listed = sorted.select([key.as('listed_id'), (sortsBy ?? sql<string | number | null>`null`).as('sorts_by')]);
  const rows = await listed.limit(limit).offset(start).execute();
  const places = rows.map((row) => ({ id: row.listed_id, sortsBy: row.sorts_by ?? undefined, row: row as Row }));
  const page = besidePage(places, start, total, query);
  const counts = Object.fromEntries(statuses.map((each) => [each, rowsOf.get(each) ?? 0]));
  return { ...page, rows: page.rows.map(({ row }) => row), counts };
}
