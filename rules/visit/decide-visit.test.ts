import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AskedVisit, type AskedVisitor, decideVisit } from './decide-visit.ts';
import { programSubject, refusalOf, type VisitorClaims, type VisitorGrants, type VisitRules } from './grants.ts';

const nowMs = 1_000_000;
const nobody: VisitorGrants = {
  memberIds: null,
  people: [],
  provider: null,
  passwordId: null,
  links: [],
  validFromMs: 0,
  signedOut: [],
};
const policyWith = (grants: Partial<VisitorGrants>): VisitRules => ({
  rules: [
    { path: '/docs/*', action: 'public' },
    { path: '/admin', action: 'deny' },
  ],
  grants: { ...nobody, ...grants },
  tokens: [
    { id: '1', name: 'ci', hash: 'aa', expiresAtMs: null },
    { id: '2', name: 'old', hash: 'bb', expiresAtMs: nowMs },
  ],
  tokenHeader: 'authorization',
});
const decide = (over: Partial<AskedVisit>) =>
  decideVisit({
    securityGroup: { name: 'office', allowList: ['192.0.2.0/24'] },
    address: '192.0.2.7',
    target: '/x',
    call: null,
    policy: policyWith({}),
    visitor: { kind: 'nobody' },
    nowMs,
    ...over,
  });
const person = (email: string, memberId: string | null = null): AskedVisitor => ({ kind: 'person', email, memberId });

test('the security group decides first, whatever the path rule and the token', () => {
  const decided = decide({ address: '198.51.100.1', target: '/docs/a', visitor: { kind: 'token', hash: 'aa' } });
  assert.equal(decided.outcome, 'refuse');
  assert.deepEqual(decided.securityGroup, { name: 'office', allowed: false, rule: null });
  assert.deepEqual(decided.why, ["Security group 'office' does not allow 198.51.100.1. It is checked first."]);
  assert.equal(decide({ securityGroup: { name: 'none', allowList: [] }, target: '/docs/a' }).outcome, 'refuse');
});

test('the first path rule that matches decides, with a sentence that names it', () => {
  const open = decide({ target: '/docs/a' });
  assert.deepEqual([open.outcome, open.rule], ['allow', { path: '/docs/*', action: 'public' }]);
  assert.ok(open.why.includes("Path rule 1, '/docs/*', decides: public."));
  assert.equal(decide({ target: '/admin', visitor: { kind: 'token', hash: 'aa' } }).outcome, 'refuse');
  assert.equal(decide({ target: '/docs/..%2fadmin', visitor: { kind: 'token', hash: 'aa' } }).outcome, 'refuse');
  assert.deepEqual([decide({}).outcome, decide({}).rule], ['sign-in', null]);
});

test('says that a rule about MCP calls refuses a request that names none', () => {
  const policy: VisitRules = { ...policyWith({}), rules: [{ path: '/mcp#tools/list', action: 'public' }] };
  const named = decide({ policy, target: '/mcp', call: { method: 'tools/list', name: null } });
  assert.deepEqual([named.outcome, named.rule], ['allow', policy.rules[0]]);
  const none = decide({ policy, target: '/mcp' });
  assert.deepEqual([none.outcome, none.rule], ['refuse', policy.rules[0]]);
  assert.ok(none.why.includes("Path rule 1, '/mcp#tools/list', is about MCP calls, and this request names none: deny."));
});

test('a token counts while it lives, and no other does', () => {
  assert.deepEqual(
    [decide({ visitor: { kind: 'token', hash: 'aa' } })].map(({ outcome, method }) => [outcome, method]),
    [['allow', 'token']],
  );
  assert.equal(decide({ visitor: { kind: 'token', hash: 'bb' } }).outcome, 'refuse');
  assert.equal(decide({ visitor: { kind: 'token', hash: 'cc' } }).outcome, 'refuse');
});

test('a person is admitted as a member, by address or domain, or by the provider', () => {
  const provider = { id: 'p', people: ['*@firm.com'], groups: [] };
  const rows: [Partial<VisitorGrants>, AskedVisitor, string | undefined][] = [
    [{}, person('a@x.com', 'u1'), undefined],
    [{ memberIds: ['u1'] }, person('a@x.com', 'u1'), 'member'],
    [{ memberIds: [] }, person('a@x.com', 'u1'), undefined],
    [{ memberIds: ['u1'] }, person('a@x.com'), undefined],
    [{ people: ['a@x.com'] }, person('a@x.com'), 'email'],
    [{ people: ['*@x.com'] }, person('a@x.com'), 'email'],
    [{ people: ['*@x.com'] }, person('a@y.x.com'), undefined],
    [{ provider }, person('a@firm.com'), 'oidc'],
    [{ provider: { ...provider, people: [] } }, person('a@firm.com'), undefined],
    [
      { people: ['a@x.com'], validFromMs: nowMs + 1, signedOut: [{ subject: 'a@x.com', atMs: nowMs }] },
      person('a@x.com'),
      'email',
    ],
  ];
  for (const [grants, visitor, method] of rows) {
    const decided = decide({ policy: policyWith(grants), visitor });
    assert.deepEqual(
      [decided.outcome, decided.method],
      [method === undefined ? 'refuse' : 'allow', method],
      JSON.stringify(grants),
    );
  }
});

const claims: VisitorClaims = {
  ...{ method: 'email', subject: 'a@x.com', email: 'a@x.com', groups: [], source: '' },
  ...{ signedInAtMs: 500, expiresAtMs: 2_000_000 },
};

test('a session ends when its time is over, and when an owner ends it by subject or by address', () => {
  const grants = { ...nobody, people: ['a@x.com'], memberIds: ['u1'] };
  assert.equal(refusalOf(claims, grants, nowMs), null);
  assert.equal(refusalOf(claims, grants, 2_000_000), 'expired');
  assert.equal(refusalOf(claims, { ...grants, validFromMs: 501 }, nowMs), 'signed-out');
  const member: VisitorClaims = { ...claims, method: 'member', subject: 'u1' };
  for (const subject of ['u1', 'a@x.com'])
    assert.equal(refusalOf(member, { ...grants, signedOut: [{ subject, atMs: 500 }] }, nowMs), 'signed-out', subject);
  assert.equal(refusalOf(member, { ...grants, signedOut: [{ subject: 'u1', atMs: 499 }] }, nowMs), null, 'signed in again since');
});

test('a program ends alone: not the person, nor their other programs', () => {
  const grants = { ...nobody, people: ['a@x.com'], signedOut: [{ subject: programSubject('p1'), atMs: 600 }] };
  assert.equal(refusalOf({ ...claims, agent: 'Scribe', programId: 'p1' }, grants, nowMs), 'signed-out');
  assert.equal(refusalOf({ ...claims, agent: 'Scribe', programId: 'p2' }, grants, nowMs), null);
  assert.equal(refusalOf(claims, grants, nowMs), null);
});

test('a session ends with what admitted it: the person, the provider, the password, the link', () => {
  const provider = { id: 'p', people: ['a@x.com'], groups: ['staff'] };
  const rows: [Partial<VisitorClaims>, Partial<VisitorGrants>, Partial<VisitorGrants>][] = [
    [{}, { people: ['a@x.com'] }, { people: ['b@x.com'] }],
    [{ method: 'oidc', source: 'p' }, { provider }, { provider: { ...provider, id: 'q' } }],
    [{ method: 'oidc', source: 'p', email: '', groups: ['staff'] }, { provider }, { provider: { ...provider, groups: [] } }],
    [{ method: 'password', source: '1' }, { passwordId: '1' }, { passwordId: '2' }],
    [{ method: 'link', source: 'l' }, { links: [{ id: 'l', expiresAtMs: null }] }, { links: [{ id: 'l', expiresAtMs: nowMs }] }],
    [{ method: 'link', source: 'l' }, { links: [{ id: 'l', expiresAtMs: nowMs + 1 }] }, {}],
  ];
  for (const [over, admits, refuses] of rows) {
    assert.equal(refusalOf({ ...claims, ...over }, { ...nobody, ...admits }, nowMs), null);
    assert.equal(refusalOf({ ...claims, ...over }, { ...nobody, ...refuses }, nowMs), 'not-admitted');
  }
});
