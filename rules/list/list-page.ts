// A page of a long list: the rows of one status, in one order, behind a cursor; and how many rows have each status. Pure.

import { accept, type Parsed, refuse } from '../parsed.ts';
import { type DisplayStatus, statusTones } from '../tunnel/tunnel-status.ts';

export const searchMostChars = 100;
/** The most that `limit` may ask for. */
export const pageMostRows = 200;
/** Rows of a page of the dashboard. A row is some 20 elements, so that a page stays under 2,000. */
export const pageRows = 50;

/** What the query of a list may ask for. */
export interface ListRules {
  readonly statuses: readonly string[];
  readonly sorts: readonly string[];
  /** The newest rows come first without `sort`. In other lists the oldest do, and the dashboard asks for the first sort. */
  readonly newestFirst?: true;
}

export const tunnelList = {
  statuses: Object.keys(statusTones) as readonly DisplayStatus[],
  sorts: ['name', 'type', 'region', 'domains', 'status'],
} as const satisfies ListRules;
export const domainList = { statuses: ['Verified', 'Unverified'], sorts: ['domain', 'status'] } as const satisfies ListRules;
export const securityGroupList = { statuses: [], sorts: ['name', 'updated', 'assigned', 'rules'] } as const satisfies ListRules;

export const accessPolicyList = { statuses: [], sorts: ['name', 'updated', 'tunnels'] } as const satisfies ListRules;

const newestFirst = <const Rules extends ListRules>(rules: Rules) => ({ ...rules, newestFirst: true }) as const;

/** The operator's lists. A list of suspended things counts them. */
const suspensions = ['Active', 'Suspended'] as const;
export const registrationList = newestFirst({ statuses: [], sorts: ['person', 'company', 'created', 'decided'] });
export const subscriptionList = newestFirst({
  statuses: ['Active', 'Ended'],
  sorts: ['email', 'active', 'source', 'expires', 'updated'],
});
export const userList = newestFirst({ statuses: suspensions, sorts: ['user', 'state', 'since'] });
export const projectList = newestFirst({
  statuses: suspensions,
  sorts: ['name', 'owners', 'tunnels', 'traffic', 'state', 'since'],
});
export const allTunnelList = newestFirst({ statuses: suspensions, sorts: ['name', 'project', 'domains', 'region'] });
export const blockList = newestFirst({ statuses: ['Address', 'Name'], sorts: ['value', 'kind', 'reason', 'by', 'since'] });
export const abuseReportList = newestFirst({ statuses: [], sorts: ['host', 'created'] });

export interface AskedList {
  readonly q?: string | undefined;
  readonly status?: string | undefined;
  /** A name of the sorts; descending with `-` before it. */
  readonly sort?: string | undefined;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly limit?: string | undefined;
}

export interface ListQuery {
  /** Words in lower case. A row must contain each. */
  readonly words: readonly string[];
  readonly status: string | undefined;
  /** Undefined: in the order of creation. */
  readonly sort: string | undefined;
  readonly descending: boolean;
  readonly after: string | undefined;
  /** The page ends before this row; without enough rows there it is the first page. Ignored beside `after`. */
  readonly before: string | undefined;
  /** Undefined: all rows. */
  readonly limit: number | undefined;
}

export function parseListQuery({ q = '', status, sort, after, before, limit }: AskedList, rules: ListRules): Parsed<ListQuery> {
  const searched = parseSearch(q);
  if (!searched.ok) return searched;
  if (status !== undefined && !rules.statuses.includes(status)) return refuse(`Status must be ${either(rules.statuses)}.`);
  const key = sort?.replace(/^-/, '');
  if (key !== undefined && !rules.sorts.includes(key)) return refuse(`Sort must be ${either(rules.sorts)}, or one after '-'.`);
  if (limit !== undefined && !(/^\d{1,3}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= pageMostRows))
    return refuse(`Limit must be a number from 1 to ${pageMostRows}.`);
  return accept({
    words: searchWords(q),
    status,
    sort: key,
    descending: sort?.startsWith('-') ?? rules.newestFirst === true,
    after,
    before,
    limit: limit === undefined ? undefined : Number(limit),
  });
}

const either = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' or ') || 'absent';

/** The words of a search in a list or a log. */
export function parseSearch(q: string): Parsed<readonly string[]> {
  if (q.length > searchMostChars) return refuse(`The search must be at most ${searchMostChars} characters long.`);
  return accept(searchWords(q));
}

export const searchWords = (q: string): readonly string[] => [...new Set(q.toLowerCase().split(/\s+/).filter(Boolean))];

/** The one of a row's texts with most words of the search, else the first. */
export function findShown(texts: readonly string[], words: readonly string[]): string | undefined {
  const hits = (text: string) => words.filter((word) => text.includes(word)).length;
  return texts.reduce<string | undefined>(
    (best, text) => (best === undefined || hits(text) > hits(best) ? text : best),
    undefined,
  );
}

export interface ListRow {
  /** Unique and without `~`. Orders rows that sort alike. */
  readonly id: string;
  readonly status?: string | undefined;
  /** The value of the sort that the query asks for. */
  readonly sortsBy?: string | number | undefined;
}

export interface ListPage<Row> {
  readonly rows: readonly Row[];
  /** The next page's `after`; null on the last. */
  readonly next: string | null;
  /** The previous page's `before`; empty if that is the first page, and null on the first. */
  readonly previous: string | null;
  /** Rows on all pages. */
  readonly total: number;
  /** Rows of each status, without the filter by status. */
  readonly counts: Readonly<Record<string, number>>;
  /** What else the list adds up, over the same rows. */
  readonly sums?: Readonly<Record<string, number>>;
}

/** `rows`: what the search found. */
export function selectPage<Row extends ListRow>(
  rows: readonly Row[],
  { status, descending, after, before, limit = Number.POSITIVE_INFINITY }: Omit<ListQuery, 'words' | 'sort'>,
  statuses: readonly string[] = [],
): ListPage<Row> {
  const counts = Object.fromEntries(statuses.map((each) => [each, 0]));
  for (const row of rows) if (row.status !== undefined) counts[row.status] = (counts[row.status] ?? 0) + 1;
  const found = status === undefined ? rows : rows.filter((row) => row.status === status);
  const order = orderOf(descending);
  const positions = found.map((row) => ({ id: row.id, value: naturalKey(row.sortsBy), row })).sort(order);
  const rowsBefore = (cursor: string, isIncluded: boolean) => {
    const at = positionOf(cursor, found[0]);
    return positions.filter((position) => order(position, at) < Number(isIncluded)).length;
  };
  let start = 0;
  if (after !== undefined) start = rowsBefore(after, true);
  else if (before !== undefined) start = Math.max(0, rowsBefore(before, false) - limit);
  const page = positions.slice(start, start + limit).map(({ row }) => row);
  return { ...besidePage(page, start, found.length, { after, limit }), counts };
}

/** `start`: how many rows come before the page. */
export function besidePage<Row extends ListRow>(
  rows: readonly Row[],
  start: number,
  total: number,
  { after, limit = Number.POSITIVE_INFINITY }: Pick<ListQuery, 'after' | 'limit'>,
): Omit<ListPage<Row>, 'counts'> {
  const next = total > start + limit && rows.length > 0 ? cursorOf(rows.at(-1)!) : null;
  const previous = start === 0 ? null : start <= limit ? '' : rows[0] ? cursorOf(rows[0]) : after!;
  return { rows, next, previous, total };
}

export interface ListedBy<Value, Sort extends string = string> {
  /** What a word is looked for in. */
  readonly texts: (value: Value) => readonly string[];
  readonly sorts: Readonly<Record<Sort, (value: Value) => string | number>>;
  readonly status?: (value: Value) => string;
}

/** A page of values in memory, which come in the order of creation. */
export function selectValues<Value>(
  all: readonly { readonly id: string; readonly value: Value }[],
  { texts, sorts, status }: ListedBy<Value>,
  query: ListQuery,
  statuses: readonly string[] = [],
): ListPage<Value> {
  const { words, sort } = query;
  const hasAll = (value: Value) => words.every((word) => texts(value).some((text) => text.toLowerCase().includes(word)));
  const rows = all
    .filter(({ value }) => hasAll(value))
    .map((row) => ({ ...row, status: status?.(row.value), sortsBy: sort === undefined ? undefined : sorts[sort]?.(row.value) }));
  const page = selectPage(rows, query, statuses);
  return { ...page, rows: page.rows.map(({ value }) => value) };
}

interface ListPosition {
  readonly id: string;
  readonly value: string | number;
}

function orderOf(descending: boolean) {
  const sign = descending ? -1 : 1;
  return (a: ListPosition, b: ListPosition): number => {
    if (a.value !== b.value) return a.value < b.value ? -sign : sign;
    return a.id < b.id ? -1 : Number(a.id > b.id);
  };
}

/** Holds the value too, so that the next page is right even if the row has changed or is gone. */
const cursorOf = ({ id, sortsBy }: ListRow): string => (sortsBy === undefined ? id : `${id}~${sortsBy}`);

/** The id and the value of a cursor. */
export function splitCursor(cursor: string): readonly [id: string, value: string] {
  const [id = '', ...rest] = cursor.split('~');
  return [id, rest.join('~')];
}

function positionOf(cursor: string, row: ListRow | undefined): ListPosition {
  const [id, value] = splitCursor(cursor);
  return { id, value: typeof row?.sortsBy === 'number' ? Number(value) : naturalKey(value) };
}

/** Longer numbers are no numbers to people. */
const numberDigits = 12;
const marks = /\p{M}/gu;

/** Sorts by code unit as people expect: any case, with or without accents, 9 before 10. Far faster than an Intl.Collator. */
function naturalKey(value: string | number = ''): string | number {
  if (typeof value === 'number') return value;
  const plain = /^[\0-\x7f]*$/.test(value) ? value : value.normalize('NFKD').replace(marks, '');
  return plain.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(numberDigits, '0'));
}

/** The header with the numbers of a page: `total=12, Connected=9, Disconnected=3`. */
export const countsHeader = 'Underpass-Counts';

export const renderCounts = ({ total, counts }: Pick<ListPage<unknown>, 'total' | 'counts'>): string =>
  renderNumbers({ total, ...counts });

/** The header with the sums of a page: `ingressDomains=20, connectedClients=11`. */
export const sumsHeader = 'Underpass-Sums';

export const renderNumbers = (numbers: Readonly<Record<string, number>>): string =>
  Object.entries(numbers)
    .map(([name, number]) => `${name}=${number}`)
    .join(', ');

const readNumbers = (header: string | null): Record<string, number> =>
  Object.fromEntries([...(header ?? '').matchAll(/(\w+)=(\d+)/g)].map(([, name, number]) => [name, Number(number)]));

/** The page that an answer with these headers is. */
export function readPage<Row>(rows: readonly Row[], headers: { get(name: string): string | null }): ListPage<Row> {
  const { total = rows.length, ...counts } = readNumbers(headers.get(countsHeader));
  const link = headers.get('Link') ?? '';
  return {
    rows,
    next: cursorIn(link, 'next', 'after'),
    previous: cursorIn(link, 'prev', 'before'),
    total,
    counts,
    sums: readNumbers(headers.get(sumsHeader)),
  };
}

/** Empty if the link has none; null without the link. */
function cursorIn(header: string, relation: 'next' | 'prev', name: string): string | null {
  const url = new RegExp(`<([^>]*)>; rel="${relation}"`).exec(header)?.[1];
  return url === undefined ? null : (new URLSearchParams(url.split('?')[1]).get(name) ?? '');
}
