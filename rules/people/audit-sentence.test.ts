import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachCase } from '../test-kit.ts';
import { actionsOf, auditGroups } from './audit-groups.ts';
import { type AuditAction, auditPhrases, describeAudit, nameActor } from './audit-sentence.ts';

test('a row of the audit log reads as a sentence', (t) => {
  const rows: [AuditAction, string, Record<string, unknown>, string, string?][] = [
    ['tunnel.create', 'shop', { type: 'http' }, 'created the tunnel ‘shop’'],
    [
      'tunnel.update',
      'shop',
      { added: ['shop.example.com'], removed: [] },
      'added the domain shop.example.com to the tunnel ‘shop’',
    ],
    [
      'tunnel.update',
      'shop',
      { added: [], removed: ['a.com', 'b.com'] },
      'removed the domains a.com and b.com from the tunnel ‘shop’',
    ],
    [
      'tunnel.update',
      'shop',
      { added: ['a.com', 'b.com', 'c.com', 'd.com'], removed: ['e.com'], proxyProtocol: 'v2' },
      'changed the tunnel ‘shop’: added a.com, b.com and 2 more, removed e.com, PROXY protocol ‘v2’',
    ],
    ['tunnel.update', 'shop', { accessPolicy: '' }, 'changed the tunnel ‘shop’: no access policy'],
    ['tunnel.update', 'shop', { hosts: ['a.com'] }, 'changed the tunnel ‘shop’', 'a row of an earlier version'],
    ['tunnel.delete', 'fox', { reason: 'no client is connected' }, 'deleted the tunnel ‘fox’, because no client is connected'],
    ['tunnel.rotate-token', 'shop', {}, 'made a new token for the tunnel ‘shop’'],
    ['tunnel.rotate-token', 'shop', { overlap: false }, 'made a new token for the tunnel ‘shop’ and ended the old one at once'],
    ['certificate.set', 'a.example.com', { fallback: true }, 'gave a certificate for a.example.com'],
    ['domain.create', 'example.com', {}, 'added the domain example.com'],
    [
      'security-group.update',
      'office',
      { added: ['192.0.2.0/24'], removed: [] },
      'changed the security group ‘office’: added 192.0.2.0/24',
    ],
    ['access-policy.create-link', 'staff', { link: 'demo' }, 'created the share link ‘demo’ of the access policy ‘staff’'],
    ['access-policy.sign-out', 'staff', { everybody: true }, 'signed everybody out of the access policy ‘staff’'],
    [
      'member.change',
      'bob@example.com',
      { from: 'member', to: 'admin' },
      'changed the role of bob@example.com from member to admin',
    ],
    ['invitation.create', 'bob@example.com', { role: 'viewer' }, 'invited bob@example.com as viewer'],
    ['project.change', 'shop', { suspended: true }, 'suspended the project ‘shop’'],
    ['project.change', 'shop', { limits: { tunnels: 9 } }, 'changed the limits of the project ‘shop’'],
    ['user.change', 'bob@example.com', { operator: false }, 'revoked the operator rights of bob@example.com'],
    ['call.refuse', 'deleteTunnel', { why: 'Not allowed.' }, 'was not allowed to delete tunnel (Not allowed)'],
    ['session.refuse', '', { why: 'expired' }, 'failed to sign in (expired)'],
    ['domain.create', 'example.com', { by: 'api-token' }, 'added the domain example.com, with an API token'],
    [
      'domain.create',
      'example.com',
      { by: 'api-token', apiToken: 'ci' },
      'added the domain example.com, with the API token ‘ci’',
    ],
  ];
  eachCase(t, rows, ([action, target, detail, sentence]) => assert.equal(describeAudit({ action, target, detail }), sentence));
});

test('each action has a sentence, whatever its detail holds', () => {
  for (const action of Object.keys(auditPhrases))
    for (const value of [undefined, null, 7, '', [], {}]) {
      const names = [
        'added',
        'removed',
        'role',
        'from',
        'to',
        'by',
        'name',
        'link',
        'token',
        'why',
        'email',
        'program',
        'suspended',
      ];
      const did = describeAudit({ action, target: 'x', detail: Object.fromEntries(names.map((name) => [name, value])) });
      assert.match(did, /^[a-z].*[^\s.:]$/, action);
      assert.doesNotMatch(did, /undefined|null|\[object|NaN/, action);
    }
});

test('an action of a newer version is named as it is', () => {
  assert.equal(describeAudit({ action: 'tunnel.paint', target: 'shop', detail: {} }), 'changed ‘shop’ (tunnel.paint)');
  assert.equal(describeAudit({ action: 'constructor', target: 'shop', detail: {} }), 'changed ‘shop’ (constructor)');
});

test('an actor is named by e-mail, or by what it is', () => {
  assert.deepEqual(['ann@example.com', 'operator', 'underpass'].map(nameActor), ['ann@example.com', 'An operator', 'Underpass']);
});

test('each action is in one group to choose from', () => {
  const nouns = Object.values(auditGroups).flatMap((group) => group.nouns as readonly string[]);
  assert.equal(new Set(nouns).size, nouns.length);
  const used = new Set(Object.keys(auditPhrases).map((action) => action.split('.')[0]!));
  assert.deepEqual(nouns.toSorted(), [...used].toSorted());
  assert.equal(actionsOf('people'), 'member,invitation');
  assert.equal(actionsOf('constructor'), undefined);
});
