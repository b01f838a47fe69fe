import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Role, Tunnel } from '../entity/entity.ts';
import { eachCase } from '../test-kit.ts';
import {
  type Action,
  decideMembershipChange,
  forbiddenMessage,
  lastOwnerMessage,
  may,
  mayGrant,
  parseRole,
  permissions,
  redactTunnel,
  roleDescriptions,
  roleLabels,
  roles,
  whoMay,
} from './permission.ts';

/** The role table again, by hand: one letter per role, in the order owner, admin, member, viewer. */
const expected: Record<Action, string> = {
  'project.read': 'oamv',
  'project.rename': 'o---',
  'project.require-passkeys': 'o---',
  'project.delete': 'o---',
  'member.read': 'oamv',
  'member.change': 'oa--',
  'member.remove': 'oa--',
  'member.leave': 'oamv',
  'invitation.read': 'oa--',
  'invitation.create': 'oa--',
  'invitation.delete': 'oa--',
  'tunnel.read': 'oamv',
  'tunnel.read-token': 'oam-',
  'tunnel.create': 'oam-',
  'tunnel.update': 'oam-',
  'tunnel.delete': 'oam-',
  'tunnel.rotate-token': 'oam-',
  'visitor-log.read': 'oam-',
  'domain.read': 'oamv',
  'domain.create': 'oam-',
  'domain.verify': 'oam-',
  'domain.delete': 'oam-',
  'dns.lookup': 'oamv',
  'security-group.read': 'oamv',
  'security-group.create': 'oam-',
  'security-group.update': 'oam-',
  'security-group.delete': 'oam-',
  'tunnel.reach': 'oam-',
  'access-policy.read': 'oamv',
  'access-policy.create': 'oam-',
  'access-policy.update': 'oam-',
  'access-policy.delete': 'oam-',
  'access-sign-in.read': 'oa--',
  'api-token.read': 'oam-',
  'api-token.create': 'oam-',
  'api-token.delete': 'oam-',
  'device.approve': 'oamv',
  'alert.read': 'oamv',
  'alert.change': 'oa--',
  'audit.read': 'oa--',
};

test('every cell of the role table is as written', (t) => {
  assert.deepEqual(Object.keys(permissions).toSorted(), Object.keys(expected).toSorted());
  const cells = (Object.keys(expected) as Action[]).flatMap((action) => roles.map((role, index) => ({ action, role, index })));
  eachCase(t, cells, ({ action, role, index }) => assert.equal(may(role, action), expected[action][index] !== '-'));
});

test('an unknown role or action is denied', (t) => {
  const rows: [string, string][] = [
    ['root', 'tunnel.read'],
    ['', 'tunnel.read'],
    ['Owner', 'tunnel.read'],
    ['owner', 'tunnel.explode'],
    ['owner', 'toString'],
    ['owner', '__proto__'],
    ['owner', 'constructor'],
  ];
  eachCase(t, rows, ([role, action]) => assert.equal(may(role as Role, action as Action), false));
});

test('a viewer reads and leaves, and changes nothing', () => {
  const harmless = ['read', 'lookup', 'leave', 'approve'];
  for (const action of Object.keys(permissions) as Action[]) {
    if (may('viewer', action)) assert.ok(harmless.includes(action.split('.')[1]!), action);
  }
});

test('refuses to grant more than the granter has', (t) => {
  const rows: [string, string, boolean][] = [
    ['owner', 'owner', true],
    ['owner', 'viewer', true],
    ['admin', 'owner', false],
    ['admin', 'admin', true],
    ['member', 'admin', false],
    ['member', 'member', true],
    ['viewer', 'member', false],
    ['viewer', 'viewer', true],
    ['root', 'viewer', false],
    ['owner', 'root', false],
  ];
  eachCase(t, rows, ([granter, granted, granted_]) => assert.equal(mayGrant(granter as Role, granted as Role), granted_));
});

test('a role is one of four', (t) => {
  eachCase(t, [...roles], (role) => assert.deepEqual(parseRole(role), { ok: true, value: role }));
  eachCase(t, ['', 'Owner', 'root', 'owner '], (role) =>
    assert.deepEqual(parseRole(role), { ok: false, message: 'Role must be one of owner, admin, member, viewer.' }),
  );
  assert.deepEqual(Object.keys(roleLabels), [...roles]);
  assert.deepEqual(Object.keys(roleDescriptions), [...roles]);
});

const change = (actor: Role, isSelf: boolean, from: Role, to: Role | null, ownerCount: number) => ({
  actor,
  isSelf,
  from,
  to,
  ownerCount,
});

test('members change as the table and the last owner allow', (t) => {
  const rows: [ReturnType<typeof change>, string | null, string?][] = [
    [change('owner', true, 'owner', null, 1), lastOwnerMessage, 'the last owner cannot leave'],
    [change('owner', true, 'owner', 'admin', 1), lastOwnerMessage, 'nor step down'],
    [change('owner', true, 'owner', null, 2), null],
    [change('owner', true, 'owner', 'owner', 1), null],
    [change('owner', false, 'owner', 'viewer', 2), null],
    [change('owner', false, 'owner', null, 1), lastOwnerMessage, 'a race: somebody else left first'],
    [change('owner', false, 'viewer', 'owner', 1), null],
    [change('admin', false, 'member', 'admin', 1), null],
    [change('admin', false, 'admin', 'viewer', 1), null],
    [change('admin', false, 'member', 'owner', 1), forbiddenMessage],
    [change('admin', false, 'owner', 'member', 2), forbiddenMessage],
    [change('admin', false, 'owner', null, 2), forbiddenMessage],
    [change('admin', true, 'admin', 'owner', 1), forbiddenMessage, 'nobody raises themselves'],
    [change('admin', true, 'admin', null, 1), null],
    [change('member', false, 'viewer', 'viewer', 1), forbiddenMessage],
    [change('member', false, 'viewer', null, 1), forbiddenMessage],
    [change('member', true, 'member', null, 1), null],
    [change('member', true, 'member', 'admin', 1), forbiddenMessage],
    [change('viewer', true, 'viewer', null, 1), null],
    [change('viewer', true, 'viewer', 'member', 1), forbiddenMessage],
  ];
  eachCase(t, rows, ([asked, message]) => {
    const decided = decideMembershipChange(asked);
    assert.equal(decided.ok ? null : decided.message, message);
  });
});

const role = fc.constantFrom(...roles);

test('no change leaves a project without an owner', () => {
  fc.assert(
    fc.property(role, fc.boolean(), role, fc.option(role), fc.integer({ min: 1, max: 3 }), (actor, isSelf, from, to, owners) => {
      const decided = decideMembershipChange(change(isSelf ? from : actor, isSelf, from, to, owners));
      const left = owners - (from === 'owner' ? 1 : 0) + (to === 'owner' ? 1 : 0);
      if (decided.ok) assert.ok(left >= 1);
    }),
  );
});

test('no change leaves a member above the actor', () => {
  fc.assert(
    fc.property(role, fc.boolean(), role, role, (actor, isSelf, from, to) => {
      const decided = decideMembershipChange(change(isSelf ? from : actor, isSelf, from, to, 2));
      if (decided.ok) assert.ok(roles.indexOf(to) >= roles.indexOf(isSelf ? from : actor));
    }),
  );
});

test('a viewer never sees a token', (t) => {
  const tunnel = { name: 'web', token: 'secret' } as Tunnel;
  eachCase(t, ['owner', 'admin', 'member'] as const, (one) => assert.equal(redactTunnel(tunnel, one).token, 'secret'));
  eachCase(t, ['viewer', 'root', ''], (one) =>
    assert.equal(JSON.stringify(redactTunnel(tunnel, one as Role)).includes('secret'), false),
  );
});

test('a refusal names the roles that may, and a person to ask', () => {
  assert.equal(whoMay('project.delete'), 'Only owners may do this.');
  assert.equal(whoMay('audit.read', 'Ann'), 'Only owners and admins may do this. Ask Ann.');
  assert.equal(whoMay('tunnel.create', 'Ann'), 'Only owners, admins and members may do this. Ask Ann.');
});
