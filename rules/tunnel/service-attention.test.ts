import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideServiceAttention, describeEdges, describeServiceItem, type ServiceFacts } from './service-attention.ts';

const since = '2026-11-27T07:00:00.000Z';
const calm: ServiceFacts = {
  parts: [{ part: 'database', name: 'embedded', ok: true, state: 'answers', since, lastError: 'an old one' }],
  edges: [{ id: 'a', region: 'eu', connected: true, acknowledged: true }],
  registrations: { total: 0 },
  abuseReports: { total: 0 },
};

test('a healthy service needs nobody', () => assert.deepEqual(decideServiceAttention(calm), []));

test('what fails comes before what waits, and each says what it is', () => {
  const items = decideServiceAttention({
    parts: [
      ...calm.parts,
      { part: 'mail', name: '', ok: false, state: 'does not answer', since, lastError: 'ECONNREFUSED' },
      { part: 'region', name: 'eu', ok: false, state: '0 of 1 edges connected', since: null, lastError: null },
    ],
    edges: [
      { id: 'a', region: 'eu', connected: true, acknowledged: false },
      // Its own row of the status tells that it is away.
      { id: 'b', region: 'eu', connected: false, acknowledged: false },
    ],
    registrations: { total: 2, since },
    abuseReports: { total: 1, since },
  });
  assert.deepEqual(
    items.map((item) => [item.kind, describeServiceItem(item).title, item.since]),
    [
      ['part-failing', 'Mail server: does not answer', since],
      ['part-failing', 'Region eu: 0 of 1 edges connected', undefined],
      ['abuse-open', '1 abuse report is open', since],
      ['edge-behind', 'The edge eu/a is behind', undefined],
      ['registrations-waiting', '2 registrations wait', since],
    ],
  );
  assert.equal(describeServiceItem(items[0]!).text, 'Last error: ECONNREFUSED');
});

test('the edges are told in one sentence', () => {
  assert.equal(describeEdges(0, 0), 'No edge has connected yet.');
  assert.equal(describeEdges(1, 1), 'The edge is connected.');
  assert.equal(describeEdges(3, 3), 'All 3 edges are connected.');
  assert.equal(describeEdges(1, 3), '1 of 3 edges is connected.');
});
