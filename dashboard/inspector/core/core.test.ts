import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEventReader } from '@underpass/rules/inspect/event-data.ts';
import type { Exchange, ExchangeSummary } from '@underpass/rules/inspect/exchange.ts';
import { formatSize } from '@underpass/rules/text/size.ts';
import { noFilter, selectExchanges } from './filter.ts';
import { foldSame } from './fold-same.ts';
import { formatDuration } from './format.ts';
import { renderHex } from './hex.ts';
import { applyEvent, type ListState } from './list-state.ts';
import { draftOf, requestOf } from './replay-draft.ts';
import { rowsInView, scrollToRow } from './rows-in-view.ts';
import { describeTiming, timingParts } from './timing.ts';

const row = (given: Partial<ExchangeSummary>): ExchangeSummary =>
  ({
    id: 1,
    state: 'done',
    method: 'GET',
    host: 'a.example',
    target: '/',
    status: 200,
    error: null,
    ...given,
  }) as ExchangeSummary;

test('the filter combines words, method and status; errors are 400 and above, and requests without an answer', () => {
  const rows = [
    row({ id: 1, target: '/hook', method: 'POST', status: 500 }),
    row({ id: 2, target: '/hook', status: 200 }),
    row({ id: 3, target: '/cart', state: 'failed', status: null }),
  ];
  const ids = (change: object) => selectExchanges(rows, { ...noFilter, ...change }).map(({ id }) => id);
  assert.deepEqual(ids({}), [1, 2, 3]);
  assert.deepEqual(ids({ status: 'errors' }), [1, 3]);
  assert.deepEqual(ids({ text: 'HOOK post' }), [1]);
  assert.deepEqual(ids({ method: 'GET', status: '2' }), [2]);
});

test('an event reader joins lines across chunks and ignores comments', () => {
  const read = createEventReader();
  assert.deepEqual(read(':\n\ndata: {"a"'), []);
  assert.deepEqual(read(':1}\n\ndata: 2\n'), ['{"a":1}', '2']);
});

test('changed rows replace their old ones, new rows come first, removed rows go', () => {
  const before = { state: {}, exchanges: [row({ id: 2 }), row({ id: 1 })] } as unknown as ListState;
  const after = applyEvent(before, { kind: 'exchanges', exchanges: [row({ id: 1, status: 404 }), row({ id: 3 })] });
  assert.deepEqual(
    after.exchanges.map(({ id, status }) => [id, status]),
    [
      [3, 200],
      [2, 200],
      [1, 404],
    ],
  );
  assert.equal(after.exchanges[1], before.exchanges[0], 'an unchanged row is the same object');
  assert.deepEqual(
    applyEvent(after, { kind: 'removed', ids: [3, 1] }).exchanges.map(({ id }) => id),
    [2],
  );
});

test('only rows in view are rendered, with a margin, never beyond the ends', () => {
  assert.deepEqual(rowsInView({ scrollTop: 0, height: 400 }, 40, 1000), [0, 18]);
  assert.deepEqual(rowsInView({ scrollTop: 4000, height: 400 }, 40, 1000), [92, 118]);
  assert.deepEqual(rowsInView({ scrollTop: 4000, height: 400 }, 40, 5), [5, 5]);
  assert.equal(scrollToRow({ scrollTop: 0, height: 400 }, 40, 10), 40);
  assert.equal(scrollToRow({ scrollTop: 100, height: 400 }, 40, 1), 40);
  assert.equal(scrollToRow({ scrollTop: 0, height: 400 }, 40, 3), 0);
});

test('a replay holds only what the person changed, and keeps hidden values hidden', () => {
  const exchange = {
    method: 'POST',
    target: '/a',
    request: {
      headers: [
        ['A', '1'],
        ['Cookie', null],
      ],
      body: { shape: 'text', text: 'x', isCut: false },
    },
  } as unknown as Exchange;
  const draft = draftOf(exchange);
  assert.deepEqual(requestOf(draft, exchange), {});
  assert.deepEqual(requestOf({ ...draft, target: '/b', body: '' }, exchange), { target: '/b', body: { text: '' } });
  const headers = draft.headers.map((header) => (header.name === 'A' ? { ...header, value: '2' } : header));
  assert.deepEqual(requestOf({ ...draft, headers }, exchange), {
    headers: [
      ['A', '2'],
      ['Cookie', null],
    ],
  });
});

test('long runs of equal lines fold to their number', () => {
  const lines = [
    ...Array.from({ length: 9 }, () => ({ side: 'both', text: 'x' }) as const),
    { side: 'left', text: 'y' } as const,
  ];
  assert.deepEqual(
    foldSame(lines).map((part) => (part.side === 'folded' ? part.count : part.side)),
    [6, 'both', 'both', 'both', 'left'],
  );
});

test('sizes and times have at most three figures', () => {
  assert.deepEqual([0, 999, 1250, 5_242_880].map(formatSize), ['0 B', '999 B', '1.25 kB', '5.24 MB']);
  assert.deepEqual([0.42, 9.1, 128, 1250, 125_000].map(formatDuration), ['0.42 ms', '9.1 ms', '128 ms', '1.25 s', '2 min 5 s']);
});

test('a hex dump has offset, bytes and printable characters', () => {
  assert.equal(renderHex(new TextEncoder().encode('hi\n')), `00000000  68 69 0a${' '.repeat(40)}  hi.`);
});

test('the time at the edge is the sum of all parts, and not said without the edge’s own', () => {
  const timing = { edgeMs: 0.5, tunnelMs: 20, connectMs: 0, sendMs: 1, waitMs: 30, receiveMs: 2.5 };
  const say = (given: typeof timing | { edgeMs: null } | { edgeMs: null; tunnelMs: null }) => {
    const whole = { ...timing, ...given };
    return describeTiming(whole, timingParts(whole));
  };
  assert.match(say(timing), /^54 ms at the edge/);
  assert.match(say({ edgeMs: null }), /^The edge has not told/);
  assert.equal(say({ edgeMs: null, tunnelMs: null }), '');
});
