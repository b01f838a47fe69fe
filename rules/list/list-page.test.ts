import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ListQuery, type ListRow, parseListQuery, readPage, renderCounts, renderNumbers, selectPage } from './list-page.ts';

const rules = { statuses: ['Connected', 'Pending'], sorts: ['name', 'status'] };
const whole = { after: undefined, before: undefined, limit: undefined };
const all: ListQuery = { words: [], status: undefined, sort: 'name', descending: false, ...whole };
const row = (id: string, sortsBy: string | number, status = 'Connected'): ListRow => ({ id, sortsBy, status });
const values = (rows: readonly ListRow[], query: Partial<ListQuery> = {}) =>
  selectPage(rows, { ...all, ...query }).rows.map(({ sortsBy }) => sortsBy);

const cursorTo = ({ id, sortsBy }: ListRow) => `${id}~${sortsBy}`;

/** Follows the cursor to the end. */
function walk(rows: readonly ListRow[], query: Partial<ListQuery>, between: (rows: readonly ListRow[]) => readonly ListRow[]) {
  const seen: string[] = [];
  for (let after: string | undefined, left = rows; ; left = between(left)) {
    const page = selectPage(left, { ...all, ...query, limit: 2, after });
    seen.push(...page.rows.map(({ id }) => id));
    if (page.next === null) return seen;
    after = page.next;
  }
}

test('numbers sort by value, and letters in any case, with or without accents', () => {
  const rows = ['tunnel-10', 'Tunnel-9', 'élan', 'echo', 'zoo'].map((value, at) => row(`${at}`, value));
  assert.deepEqual(values(rows), ['echo', 'élan', 'Tunnel-9', 'tunnel-10', 'zoo']);
  assert.deepEqual(values(rows, { descending: true }), ['zoo', 'tunnel-10', 'Tunnel-9', 'élan', 'echo']);
  assert.deepEqual(values([10, 9, 100].map((value, at) => row(`${at}`, value))), [9, 10, 100]);
});

test('the pages together are the whole list, in both directions and with many equal values', () => {
  const rows = ['c', 'a', 'b', 'a', 'a', '~b~'].map((value, at) => row(`${at}`, value));
  assert.deepEqual(
    walk(rows, {}, (same) => same),
    ['1', '3', '4', '2', '0', '5'],
  );
  assert.deepEqual(
    walk(rows, { descending: true }, (same) => same),
    ['5', '0', '2', '1', '3', '4'],
  );
  const numbers = [3, 20, 100, 3].map((value, at) => row(`${at}`, value));
  assert.deepEqual(
    walk(numbers, {}, (same) => same),
    ['0', '3', '1', '2'],
  );
  const created = ['a', 'b', 'c'].map((id) => ({ id }));
  assert.deepEqual(
    walk(created, {}, (same) => same),
    ['a', 'b', 'c'],
  );
});

test('the pages backwards are the same pages, and full ones', () => {
  const rows = ['a', 'b', 'b', 'c', 'd', 'e', 'f'].map((value, at) => row(`${at}`, value));
  const page = (query: Partial<ListQuery>) => selectPage(rows, { ...all, limit: 3, ...query });
  const ids = ({ rows: shown }: { rows: readonly ListRow[] }) => shown.map(({ id }) => id).join('');
  const first = page({});
  const second = page({ after: first.next! });
  const third = page({ after: second.next! });
  assert.deepEqual([first, second, third].map(ids), ['012', '345', '6']);
  assert.deepEqual([first.previous, second.previous], [null, '']);
  const back = page({ before: third.previous! });
  assert.deepEqual(back, second);
  // From the middle of the first page, or if rows before it are gone, it is the whole first page.
  assert.deepEqual(page({ before: cursorTo(rows[1]!) }), first);
  // A page that has lost its rows still leads back.
  const gone = selectPage(rows.slice(0, 6), { ...all, limit: 3, after: second.next! });
  assert.deepEqual([ids(gone), ids(page({ before: gone.previous! }))], ['', '234']);
});

test('if the last row of a page goes, the next page has no gap; a row that sorts elsewhere by then comes again there', () => {
  const rows = ['a', 'b', 'c', 'd'].map((value) => row(value, value));
  assert.deepEqual(
    walk(rows, {}, (left) => left.filter(({ id }) => id !== 'b')),
    ['a', 'b', 'c', 'd'],
  );
  assert.deepEqual(
    walk(rows, {}, (left) => left.map((each) => (each.id === 'b' ? row('b', 'z') : each))),
    ['a', 'b', 'c', 'd', 'b'],
  );
});

test('a forged cursor shows rows of the same list only, in order, and never fails', () => {
  const rows = Array.from({ length: 12 }, (_, at) => ({ id: `id-${at}`, sortsBy: at % 2 === 0 ? `name ${at}` : undefined }));
  const odd = [
    '',
    '~',
    '~~',
    'id-3',
    'id-3~~name',
    '__proto__',
    "' or 1=1 --",
    '\0',
    '%00',
    '9'.repeat(400),
    '\ud800',
    '\u212a~K',
  ];
  for (const cursor of odd) {
    for (const turn of [{ after: cursor }, { before: cursor }, { after: cursor, before: cursor }]) {
      const page = selectPage(rows, {
        status: undefined,
        descending: false,
        after: undefined,
        before: undefined,
        limit: 5,
        ...turn,
      });
      assert.ok(page.rows.length <= 5 && page.rows.every((row) => rows.includes(row)), JSON.stringify(cursor));
      assert.equal(page.total, rows.length);
    }
  }
});

test('counts every status, also those filtered out and those without a row', () => {
  const rows = [row('1', 'a'), row('2', 'b'), row('3', 'c', 'Unknown')];
  const page = selectPage(rows, { ...all, status: 'Connected', limit: 1 }, rules.statuses);
  assert.deepEqual([page.total, page.counts], [2, { Connected: 2, Pending: 0, Unknown: 1 }]);
});

test('reads a query, and refuses what the list does not know', () => {
  const parsed = parseListQuery({ q: ' Shop  SHOP x', status: 'Pending', sort: '-name', limit: '200' }, rules);
  assert.deepEqual(parsed.ok && parsed.value, {
    ...{ words: ['shop', 'x'], status: 'Pending', sort: 'name', descending: true },
    ...{ after: undefined, before: undefined, limit: 200 },
  });
  for (const [asked, message] of [
    [{ q: 'x'.repeat(101) }, 'The search must be at most 100 characters long.'],
    [{ status: 'connected' }, "Status must be 'Connected' or 'Pending'."],
    [{ sort: '--name' }, "Sort must be 'name' or 'status', or one after '-'."],
    [{ limit: '0' }, 'Limit must be a number from 1 to 200.'],
    [{ limit: '201' }, 'Limit must be a number from 1 to 200.'],
    [{ limit: '1e2' }, 'Limit must be a number from 1 to 200.'],
  ] as const) {
    assert.deepEqual(parseListQuery(asked, rules), { ok: false, message });
  }
});

test('an answer carries its numbers and cursor in headers; one without them is the whole list', () => {
  const page = {
    rows: ['a'],
    next: '01~a b&c',
    previous: '00~"<a>+',
    total: 3,
    counts: { Connected: 2, Pending: 1 },
    sums: { clients: 7 },
  };
  const query = (cursor: object) => new URLSearchParams({ ...cursor, limit: '1' });
  const link = `</t?${query({ before: page.previous })}>; rel="prev", </t?${query({ after: page.next })}>; rel="next"`;
  const headers = new Headers({ 'Underpass-Counts': renderCounts(page), 'Underpass-Sums': renderNumbers(page.sums), Link: link });
  assert.deepEqual(readPage(['a'], headers), page);
  assert.deepEqual(readPage(['a', 'b'], new Headers()), {
    rows: ['a', 'b'],
    next: null,
    previous: null,
    total: 2,
    counts: {},
    sums: {},
  });
});
