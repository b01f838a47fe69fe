import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextSort, selectRows } from './table-rows.ts';

const rows = [
  { name: 'tunnel-10', clients: 2 },
  { name: 'Tunnel-9', clients: 10 },
  { name: 'billing', clients: 2 },
];
const searchText = (row: { name: string }) => row.name;
const all = { query: '', searchText, sort: undefined, sortBy: undefined };

test('a row must contain every word of the query, in any case and order', () => {
  assert.deepEqual(selectRows(rows, { ...all, query: '  10 TUNNEL ' }), [rows[0]]);
  assert.deepEqual(selectRows(rows, { ...all, query: 'tunnel bill' }), []);
});

test('without a query returns the same array', () => {
  assert.equal(selectRows(rows, all), rows);
});

test('numbers in names sort by value: 9 before 10', () => {
  const sorted = selectRows(rows, { ...all, sort: { key: 'name', direction: 'ascending' }, sortBy: (row) => row.name });
  assert.deepEqual(sorted.map(searchText), ['billing', 'Tunnel-9', 'tunnel-10']);
});

test('equal rows keep their order in both directions', () => {
  const sortBy = (row: { clients: number }) => row.clients;
  const up = selectRows(rows, { ...all, sort: { key: 'clients', direction: 'ascending' }, sortBy });
  const down = selectRows(rows, { ...all, sort: { key: 'clients', direction: 'descending' }, sortBy });
  assert.deepEqual(up.map(searchText), ['tunnel-10', 'billing', 'Tunnel-9']);
  assert.deepEqual(down.map(searchText), ['Tunnel-9', 'tunnel-10', 'billing']);
});

test('a second click reverses the order, a third restores it, another column starts ascending', () => {
  const first = nextSort(undefined, 'name');
  assert.deepEqual(first, { key: 'name', direction: 'ascending' });
  const second = nextSort(first, 'name');
  assert.equal(second.direction, 'descending');
  assert.equal(nextSort(second, 'name').direction, 'ascending');
  assert.deepEqual(nextSort(second, 'type'), { key: 'type', direction: 'ascending' });
});
