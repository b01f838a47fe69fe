// The filter that an address asks for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditFilterOf } from './audit-filter.ts';

const now = new Date(2026, 10, 20, 15, 30).getTime();
const given = (search: string) =>
  Object.fromEntries(Object.entries(auditFilterOf(new URLSearchParams(search), now)).filter(([, value]) => value !== undefined));
const day = (of: number, month = 10) => new Date(2026, month, of).toISOString();

const cases: readonly (readonly [name: string, search: string, filter: Record<string, string>])[] = [
  ['nothing', '', {}],
  ['what nobody offers is no filter', 'what=constructor&when=toString&who=&from=2026-11-01', {}],
  ['a group of actions', 'what=people', { action: 'member,invitation' }],
  ['a person', 'who=ann@example.com', { actor: 'ann@example.com' }],
  ['a person whose address begins like a token', 'who=api-token@example.com', { actor: 'api-token@example.com' }],
  ['all tokens, and one', 'who=api-token:ci', { by: 'api-token:ci' }],
  ['today', 'when=today', { from: day(20) }],
  ['the last seven days include today', 'when=week', { from: day(14) }],
  ['the last thirty days', 'when=month', { from: day(22, 9) }],
  ['dates include the last day', 'when=dates&from=2026-11-01&to=2026-11-02', { from: day(1), to: day(3) }],
  ['one date, and what is none', 'when=dates&from=2026-11-01&to=soon', { from: day(1) }],
  ['the next page is older', 'after=7', { before: '7' }],
  ['the previous page is newer', 'before=7', { after: '7' }],
];

for (const [name, search, filter] of cases) test(name, () => assert.deepEqual(given(search), filter));
