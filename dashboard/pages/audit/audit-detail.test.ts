// The lines of an audit entry's detail.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detailLines } from './audit-detail.ts';

const cases: readonly (readonly [name: string, detail: Record<string, unknown>, lines: readonly string[]])[] = [
  ['no detail', {}, []],
  [
    'a replaced field has what it was before',
    { proxyProtocol: 'v1', securityGroup: 'office', before: { proxyProtocol: '', securityGroup: 'default' } },
    ['Proxy protocol: none → v1', 'Security group: default → office'],
  ],
  ['a row of an earlier version has only what it is now', { proxyProtocol: 'v1' }, ['Proxy protocol: v1']],
  ['a list says what is new and what is gone', { added: ['a', 'b'], removed: [] }, ['Added: a, b']],
  [
    'also inside another field',
    { people: { added: ['ann@x.org'], removed: ['bob@x.org'] } },
    ['People, added: ann@x.org', 'People, removed: bob@x.org'],
  ],
  ['a role', { from: 'member', to: 'admin' }, ['Changed: member → admin']],
  ['a name, whose new one is the target', { from: 'old' }, ['Before: old']],
  ['limits, one line each', { limits: { tunnels: 5 }, before: { limits: { tunnels: 3 } } }, ['Tunnels: 3 → 5']],
  [
    'flags and nothing in words',
    { suspended: true, overlap: false, ends: null, allow: [] },
    ['Suspended: yes', 'Overlap: no', 'Ends: none', 'Allow: none'],
  ],
  ['objects in a list', { rules: [{ path: '/x', public: true }] }, ['Rules: path /x, public yes']],
  ['what the sentence says is not said again', { by: 'api-token', apiToken: 'ci' }, []],
  ['odd values do not fail', { before: null, from: undefined, x: { y: { z: [] } } }, ['Z: none']],
];

for (const [name, detail, lines] of cases) {
  test(name, () =>
    assert.deepEqual(
      detailLines(detail).map((line) => `${line.name}: ${line.before === undefined ? '' : `${line.before} → `}${line.text}`),
      lines,
    ),
  );
}
