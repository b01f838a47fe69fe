// The merge of a reloaded first page with older pages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditPage } from '@underpass/rules/entity/resource.ts';
import { withNewest } from './audit-page.ts';

const page = (ids: string, next: string | null): AuditPage => ({
  entries: [...ids].map((id) => ({ id, at: '', actor: '', action: '', target: '', address: '', detail: {} })),
  next,
});

const cases: readonly (readonly [name: string, known: AuditPage, newest: AuditPage, shown: AuditPage])[] = [
  ['no new entry', page('cba', 'a'), page('cb', 'b'), page('cba', 'a')],
  ['one new entry: keeps all, and continues after the oldest', page('cba', 'a'), page('dc', 'c'), page('dcba', 'a')],
  ['more new entries than a page holds: continues after the new page', page('ba', null), page('fe', 'e'), page('fe', 'e')],
  ['the log was empty', page('', null), page('a', null), page('a', null)],
];

for (const [name, known, newest, shown] of cases) {
  test(name, () => assert.deepEqual(withNewest(known, newest), shown));
}
