// What an audit log shows when its newest page comes anew under older ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditPage } from '@underpass/rules/resource.ts';
import { withNewest } from './audit-page.ts';

const page = (ids: string, next: string | null): AuditPage => ({
  entries: [...ids].map((id) => ({ id, at: '', actor: '', action: '', target: '', address: '', detail: {} })),
  next,
});

const CASES: readonly (readonly [name: string, known: AuditPage, newest: AuditPage, shown: AuditPage])[] = [
  ['nothing has come', page('cba', 'a'), page('cb', 'b'), page('cba', 'a')],
  [
    'one has come: none is missing, and the next page is the one after the oldest',
    page('cba', 'a'),
    page('dc', 'c'),
    page('dcba', 'a'),
  ],
  ['more have come than a page holds: what lies between is asked for', page('ba', null), page('fe', 'e'), page('fe', 'e')],
  ['the log was empty', page('', null), page('a', null), page('a', null)],
];

for (const [name, known, newest, shown] of CASES) {
  test(name, () => assert.deepEqual(withNewest(known, newest), shown));
}
