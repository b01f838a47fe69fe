import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FeedClient } from '@underpass/wire/feed/feed.ts';
import { nextLastSeen } from './last-client.ts';

const client = (provenAtMs: number | null, healthy = true): FeedClient => ({
  id: 'a',
  address: '203.0.113.7',
  version: '0.1.0',
  sinceMs: 0,
  rttMs: 1,
  provenAtMs,
  healthy,
});

test('a client is seen when its data path last worked, by our clock', () => {
  const { seen, error } = nextLastSeen({}, { clients: [client(9_000), client(null)] }, 10_000, 50_000);
  assert.deepEqual(seen, { atMs: 49_000, address: '203.0.113.7' });
  assert.equal(error, undefined);
  assert.deepEqual(nextLastSeen({ seen }, { clients: [] }, 20_000, 60_000).seen, seen);
});

test('an upstream that does not answer is an error of its client', () => {
  const { error } = nextLastSeen({}, { clients: [client(10_000, false)] }, 10_000, 50_000);
  assert.deepEqual(error, { atMs: 50_000, address: '203.0.113.7', code: 'upstream-down' });
});

test('a refusal that reports repeat keeps its time, and an unknown code counts for nothing', () => {
  const refused = { code: 'token-refused', address: '198.51.100.1', atMs: 8_000 };
  const first = nextLastSeen({}, { clients: [], refused }, 10_000, 50_000);
  assert.deepEqual(first.error, { atMs: 48_000, address: '198.51.100.1', code: 'token-refused' });
  assert.deepEqual(nextLastSeen(first, { clients: [], refused }, 12_000, 52_010), {
    seen: undefined,
    left: undefined,
    error: first.error,
  });
  assert.equal(nextLastSeen({}, { clients: [], refused: { ...refused, code: '<b>' } }, 10_000, 50_000).error, undefined);
});

test('a client that says goodbye leaves on purpose; the leave keeps its time, and ends with the next client', () => {
  const left = { atMs: 9_500, onPurpose: true };
  const first = nextLastSeen({}, { clients: [], left }, 10_000, 50_000);
  assert.deepEqual(first.left, { atMs: 49_500, onPurpose: true });
  assert.deepEqual(nextLastSeen(first, { clients: [], left }, 12_000, 52_010).left, first.left);
  assert.deepEqual(nextLastSeen(first, { clients: [] }, 12_000, 52_010).left, first.left, 'an earlier edge says nothing');
  assert.equal(nextLastSeen(first, { clients: [client(12_000)] }, 12_000, 52_000).left, undefined);
});
