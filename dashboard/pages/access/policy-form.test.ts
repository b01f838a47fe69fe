import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccessPolicy } from '@underpass/rules/visit/access-policy.ts';
import { isChanged, type PolicyValues, parsePolicyValues, sessionOptions, splitGroups, valuesOf } from './policy-form.ts';

const saved: AccessPolicy = {
  name: 'Staff',
  updatedAt: '',
  tunnels: [],
  rules: [{ path: '/docs/*', action: 'public' }],
  members: true,
  people: ['ada@example.com'],
  provider: {
    issuer: 'https://id.example.com',
    clientId: 'web',
    label: 'Example',
    people: ['*@example.com'],
    groupClaim: 'groups',
    groups: [],
  },
  password: true,
  tokenHeader: 'authorization',
  origins: [],
  tokenCount: 0,
  linkCount: 0,
  sessionHours: 24,
  log: true,
};

const values = valuesOf(saved);
function parsed(change: Partial<PolicyValues>, policy = saved) {
  const result = parsePolicyValues({ ...valuesOf(policy), ...change }, policy);
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}
function errorsOf(change: Partial<PolicyValues>, policy = saved) {
  const result = parsePolicyValues({ ...valuesOf(policy), ...change }, policy);
  return result.ok ? {} : result.errors;
}

test('a form that nobody touched is unchanged, and sends no secret', () => {
  assert.equal(isChanged(values, saved), false);
  const change = parsed({});
  assert.ok(!('password' in change));
  assert.ok(change.provider);
  assert.ok(!('clientSecret' in change.provider));
});

test('every edit counts as a change, also a typed secret and the order of rules', () => {
  const rules = [...values.rules, { id: 9, path: '/x', action: 'deny' as const }];
  const two = { ...saved, rules: rules.map(({ path, action }) => ({ path, action })) };
  assert.ok(isChanged({ ...values, password: 'x' }, saved));
  assert.ok(isChanged({ ...values, clientSecret: 'x' }, saved));
  assert.ok(isChanged({ ...values, peoplePending: 'x' }, saved));
  assert.equal(isChanged({ ...values, rules }, two), false);
  assert.ok(isChanged({ ...values, rules: rules.toReversed() }, two));
});

test('a switch that is off removes the password or the provider', () => {
  const change = parsed({ hasPassword: false, hasProvider: false });
  assert.equal(change.password, '');
  assert.equal(change.provider, false);
  assert.ok(!('password' in parsed({ hasPassword: false }, { ...saved, password: false })));
});

test('a new password is required, a saved one may stay', () => {
  assert.match(errorsOf({ hasPassword: true }, { ...saved, password: false }).password ?? '', /at least 8/);
  assert.match(errorsOf({ password: 'short' }).password ?? '', /at least 8/);
  assert.equal(parsed({ password: 'long enough' }).password, 'long enough');
});

test('what is typed and not added yet is saved too', () => {
  const change = parsed({ peoplePending: 'eve@example.com, *@Firm.com', groupsPending: 'on call' });
  assert.deepEqual(change.people, ['ada@example.com', 'eve@example.com', '*@firm.com']);
  assert.ok(change.provider);
  assert.deepEqual(change.provider.groups, ['on call']);
});

test('each field of a provider has its own message', () => {
  const errors = errorsOf({ issuer: 'nonsense', clientId: ' ', providerPeople: [] });
  assert.deepEqual(Object.keys(errors).sort(), ['clientId', 'issuer', 'providerPeople']);
  assert.match(errors.providerPeople ?? '', /^List who may sign in/);
  assert.deepEqual(errorsOf({ issuer: 'nonsense', hasProvider: false }), {});
});

test('a rule that could mislead, and a header that the service uses, are refused', () => {
  assert.ok(errorsOf({ rules: [{ id: 0, path: 'docs', action: 'public' }] }).rules);
  assert.ok(errorsOf({ tokenHeader: 'Cookie' }).tokenHeader);
  assert.equal(parsed({ tokenHeader: 'X-Api-Key' }).tokenHeader, 'x-api-key');
});

test('origins are saved, one that is typed and not added yet too, and a text that is none is refused', () => {
  assert.deepEqual(parsed({ origins: ['https://a.example'], originsPending: 'https://b.example/' }).origins, [
    'https://a.example',
    'https://b.example',
  ]);
  assert.ok(errorsOf({ originsPending: 'a.example' }).origins);
});

test('groups may contain spaces', () => {
  assert.deepEqual(splitGroups('on call, platform team\nops'), ['on call', 'platform team', 'ops']);
});

test('a length of sessions that another program chose stays a choice', () => {
  assert.ok(sessionOptions(36).some(({ value, label }) => value === '36' && label === '36 hours'));
  assert.ok(sessionOptions(24).some(({ label }) => label === '1 day'));
});
