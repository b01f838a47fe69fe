import assert from 'node:assert/strict';
import { test } from 'node:test';
import { admitsNobody, type DescribedPolicy, describeVisitors, isOpen } from './describe.ts';

const nobody: DescribedPolicy = {
  members: false,
  people: [],
  provider: null,
  password: false,
  tokenCount: 0,
  linkCount: 0,
  rules: [],
};
const google = { label: 'Google', people: ['*@firm.com'], groups: [] };

const cases: readonly (readonly [line: string, policy: Partial<DescribedPolicy>])[] = [
  ['Nobody', {}],
  ['Members', { members: true }],
  ['Members, 3 people, password', { members: true, people: ['a@x.com', 'b@x.com', '*@y.com'], password: true }],
  ['1 person, Google, 1 token, 2 links', { people: ['a@x.com'], provider: google, tokenCount: 1, linkCount: 2 }],
  ['Sign-in provider', { provider: { ...google, label: '' } }],
  // It admits those whom it lists.
  ['Nobody', { provider: { ...google, people: [] } }],
  ['Members, everybody on public paths', { members: true, rules: [{ path: '/docs/*', action: 'public' }] }],
  ['Everybody on public paths', { rules: [{ path: '/docs/*', action: 'public' }] }],
  ['Everybody', { members: true, rules: [{ path: '/*', action: 'public' }] }],
  ['Nobody', { members: true, rules: [{ path: '/*', action: 'deny' }] }],
  // The rules before it keep some paths closed.
  [
    'Members, everybody on public paths',
    {
      members: true,
      rules: [
        { path: '/admin/*', action: 'sign-in' },
        { path: '/*', action: 'public' },
      ],
    },
  ],
];

for (const [line, policy] of cases) {
  test(`${JSON.stringify(policy)} is ‘${line}’`, () => assert.equal(describeVisitors({ ...nobody, ...policy }), line));
}

test('recognises a policy that admits nobody, and one that is open to everybody', () => {
  assert.ok(admitsNobody(nobody));
  assert.ok(!admitsNobody({ ...nobody, tokenCount: 1 }));
  assert.ok(isOpen({ rules: [{ path: '/*', action: 'public' }] }));
  assert.ok(!isOpen({ rules: [{ path: '/docs/*', action: 'public' }] }));
});
