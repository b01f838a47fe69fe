import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Role } from '@underpass/rules/entity/entity.ts';
import { commandGroups, withoutVerb } from './commands.ts';

const user = { email: 'ada@example.com', firstName: 'Ada', defaultProject: 'p', operator: false };
const projectAs = (role: Role) => ({ id: 'p', name: 'Project', role });
const shell = (role: Role) => ({ user, projects: [projectAs(role), { id: 'q', name: 'Other', role }], project: projectAs(role) });
const labels = (role: Role) => commandGroups(shell(role)).flatMap(({ items }) => items.map(({ label }) => label));

test('offers Add Tunnel only to roles that may create one', () => {
  assert.ok(labels('member').includes('Add Tunnel'));
  assert.ok(!labels('viewer').includes('Add Tunnel'));
});

test('offers to invite and to make a token only to roles that may', () => {
  assert.ok(labels('admin').includes('Invite a member'));
  assert.ok(!labels('member').includes('Invite a member'));
  assert.ok(labels('member').includes('New API token'));
  assert.ok(!labels('viewer').includes('New API token'));
});

test('begins with the actions in the project that the role may take, and a search with the pages', () => {
  const first = (role: Role, query?: string) => commandGroups(shell(role), query)[0];
  assert.deepEqual(
    first('member')?.items.map(({ label }) => label),
    ['Add Tunnel', 'Add Domain', 'New API token'],
  );
  assert.equal(first('viewer')?.value, 'Pages');
  assert.equal(first('member', 'tunnel')?.value, 'Pages');
  const found = commandGroups(shell('member'), 'add tunnel').flatMap(({ items }) => items.map(({ label }) => label));
  assert.deepEqual(found, ['Add Tunnel']);
});

test('every role can log out, and only people with accounts of their own make projects', () => {
  assert.ok(labels('viewer').includes('Log out'));
  assert.ok(labels('viewer').includes('New project'));
  const invited = commandGroups({ ...shell('viewer'), user: { ...user, invited: true } });
  assert.ok(!invited.flatMap(({ items }) => items).some(({ label }) => label === 'New project'));
});

test('offers the audit log only to roles that may read it', () => {
  assert.ok(labels('admin').includes('Audit log'));
  assert.ok(!labels('member').includes('Audit log'));
});

test('offers the pages of the service only to operators', () => {
  const found = (operator: boolean) =>
    commandGroups({ ...shell('owner'), user: { ...user, operator } }, 'edges').flatMap(({ items }) => items.map(({ to }) => to));
  assert.deepEqual(found(true), ['/operator/edges']);
  assert.deepEqual(found(false), []);
});

test('offers to switch to every project except the current one', () => {
  assert.ok(labels('owner').includes('Switch to Other'));
  assert.ok(!labels('owner').includes('Switch to Project'));
});

test('a note distinguishes projects with the same name', () => {
  const { user, project } = shell('member');
  const groups = commandGroups({ user, projects: [project, { ...project, id: 'own', role: 'owner' }], project });
  const found = groups.flatMap(({ items }) => items).find(({ label }) => label === 'Switch to Project');
  assert.equal(found?.detail, 'Owner');
});

const contents = {
  tunnels: [
    {
      name: 'web',
      ingressDomains: ['web.example.com', 'shop.example.com'].map((name) => ({ name, url: `https://${name}:8443/` })),
    } as never,
  ],
  domains: [{ apexName: 'example.com', verified: true, challenge: '' }],
  groups: [{ name: 'Office', updatedAt: '', assignmentCount: 0, allowList: [] }],
  policies: [{ name: 'Staff' } as never],
};

test('finds a tunnel by any of its ingress domains, shows that one, and nothing that the server found for another query', () => {
  const found = commandGroups(shell('owner'), 'SHOP example', contents);
  assert.deepEqual(
    found.map(({ value, items }) => [value, items.map(({ label, detail }) => [label, detail])]),
    [
      ['Tunnels', [['web', 'shop.example.com']]],
      [
        'Addresses',
        [
          ['Copy address of web', 'shop.example.com:8443'],
          ['Open address of web', 'shop.example.com:8443'],
        ],
      ],
    ],
  );
  assert.deepEqual(commandGroups(shell('owner'), 'blog', contents), []);
});

test('lists the tunnels, domains, groups and access policies of the project', () => {
  const groups = commandGroups(shell('owner'), '', contents);
  const byName = new Map(groups.map(({ value, items }) => [value, items]));
  assert.equal(byName.get('Tunnels')?.[0]?.to, '/projects/p/tunnels/web');
  assert.equal(byName.get('Tunnels')?.[0]?.detail, 'web.example.com');
  assert.equal(byName.get('Domains')?.[0]?.to, '/projects/p/domains/example.com');
  assert.equal(byName.get('Security groups')?.[0]?.to, '/projects/p/security-groups/Office');
  assert.equal(byName.get('Access policies')?.[0]?.to, '/projects/p/access/policies/Staff');
});

test('every command has a value of its own', () => {
  const values = commandGroups(shell('owner'), 'e', contents).flatMap(({ items }) => items.map(({ value }) => value));
  assert.equal(new Set(values).size, values.length);
});

test('without a project there are still pages and actions', () => {
  const groups = commandGroups({ user, projects: [], project: undefined });
  assert.deepEqual(
    groups.map(({ value }) => value),
    ['Pages', 'Actions'],
  );
});

test('a verb before a name copies or opens the address of that tunnel', () => {
  assert.deepEqual(['copy web', 'Open web shop', 'open', 'web', 'copyweb', ''].map(withoutVerb), [
    'web',
    'web shop',
    '',
    undefined,
    undefined,
    undefined,
  ]);
  const found = (query: string) =>
    commandGroups(shell('viewer'), query, { ...contents, tunnels: [], named: contents.tunnels }).flatMap(({ items }) => items);
  assert.deepEqual(
    found('copy web').map(({ copies }) => copies),
    ['https://web.example.com:8443/'],
  );
  assert.deepEqual(
    found('open shop').map(({ opens }) => opens),
    ['https://shop.example.com:8443/'],
  );
});

test('a blocked name and a tunnel without a name have no address', () => {
  const blocked = { name: 'web', ingressDomains: [{ name: 'web.example.com', blocked: true, url: 'https://web.example.com' }] };
  const tunnels = [blocked as never, { name: 'webless', ingressDomains: [] } as never];
  const groups = commandGroups(shell('owner'), 'web', { ...contents, tunnels });
  assert.ok(!groups.some(({ value }) => value === 'Addresses'));
});
