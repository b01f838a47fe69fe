import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeOf } from './attention-place.ts';

test('nobody is led to a page that their role closes', () => {
  const lead = (role: 'viewer' | 'member') => placeOf({ kind: 'quota-full', quota: 'apiTokens' }, { id: 'p', name: 'p', role });
  assert.deepEqual([lead('viewer'), lead('member')], ['/projects/p/members', '/projects/p/tokens']);
});
