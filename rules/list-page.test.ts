import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ListQuery, type ListRow, parseListQuery, readPage, renderCounts, renderNumbers, selectPage } from './list-page.ts';

const rules = { statuses: ['Connected', 'Pending'], sorts: ['name', 'status'] };
const all: ListQuery = { words: [], status: undefined, sort: 'name', descending: false, after: undefined, limit: undefined };
const row = (id: string, sortsBy: string | number, status = 'Connected'): ListRow => ({ id, sortsBy, status });
const values = (rows: readonly ListRow[], query: Partial<ListQuery> = {}) =>
  selectPage(rows, { ...all, ...query }).rows.map(({ sortsBy }) => sortsBy);

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

test('counts every status, also those filtered out and those without a row', () => {
  const rows = [row('1', 'a'), row('2', 'b'), row('3', 'c', 'Unknown')];
  const page = selectPage(rows, { ...all, status: 'Connected', limit: 1 }, rules.statuses);
  assert.deepEqual([page.total, page.counts], [2, { Connected: 2, Pending: 0, Unknown: 1 }]);
});

test('reads a query, and refuses what the list does not know', () => {
  const parsed = parseListQuery({ q: ' Shop  SHOP x', status: 'Pending', sort: '-name', limit: '200' }, rules);
  assert.deepEqual(parsed.ok && parsed.value, {
    ...{ words: ['shop', 'x'], status: 'Pending', sort: 'name', descending: true },
    ...{ after: undefined, limit: 200 },
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
  const page = { rows: ['a'], next: '01~a b&c', total: 3, counts: { Connected: 2, Pending: 1 }, sums: { clients: 7 } };
  const link = `</api/tunnels?after=${encodeURIComponent(page.next)}&limit=1>; rel="next"`;
  const headers = new Headers({ 'Underpass-Counts': renderCounts(page), 'Underpass-Sums': renderNumbers(page.sums), Link: link });
  assert.deepEqual(readPage(['a'], headers), page);
  assert.deepEqual(readPage(['a', 'b'], new Headers()), { rows: ['a', 'b'], next: null, total: 2, counts: {}, sums: {} });
});
