// Security groups by their calls, grouped by status (spec 7; spec 5, Source address).

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { SecurityGroup } from '@underpass/rules/entity/entity.ts';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';

let test: TestControl;
let ann: SignedUp;
let count = 0;

before(async () => {
  test = await createTestControl();
  ann = await test.signUp('ann@example.com');
});
after(() => test.close());

const unique = (): string => `group-${++count}`;
const listOf = (who: SignedUp): string => `/api/security-groups?project=${who.projectId}`;
const pathOf = (who: SignedUp, name: string): string =>
  `/api/security-groups/${encodeURIComponent(name)}?project=${who.projectId}`;
const create = (who: SignedUp, name: string, allow: string[] = ['192.0.2.0/24']): Promise<SecurityGroup> =>
  who.call('POST', listOf(who), { name, allow });
const ifMatch = (updatedAt: string): Record<string, string> => ({ 'if-match': `"${updatedAt}"` });
const refusal = async (response: Response): Promise<[number, string]> => [response.status, await response.text()];

describe('200', () => {
  it('gives a new project the group default, open to everybody, which is listed first', async () => {
    await create(ann, 'aaa');
    const [first] = await ann.call<SecurityGroup[]>('GET', listOf(ann));
    assert.deepEqual(first, {
      name: 'default',
      updatedAt: '2026-11-20T10:00:00.000Z',
      assignmentCount: 0,
      allowList: ['0.0.0.0/0', '::/0'],
    });
  });

  it('lists in pages, by search in names and rules, and by every column', async () => {
    const cat = await test.signUp('cat@example.com');
    await create(cat, 'Office 10', ['192.0.2.1', '192.0.2.2']);
    test.time.now += 1000;
    await create(cat, 'office 9', ['198.51.100.0/24']);
    await cat.call('POST', `/api/tunnels?project=${cat.projectId}`, { name: 'with-default', region: 'local' });
    const names = async (query: string) =>
      (await cat.call<SecurityGroup[]>('GET', `${listOf(cat)}&${query}`)).map(({ name }) => name);
    assert.deepEqual(await names('sort=name'), ['default', 'office 9', 'Office 10']);
    assert.deepEqual(await names('sort=-updated&limit=1'), ['office 9']);
    assert.deepEqual(await names('sort=-assigned&limit=1'), ['default']);
    assert.deepEqual(await names('sort=rules&limit=1'), ['office 9']);
    assert.deepEqual(await names('q=OFFICE%20192.0.2'), ['Office 10']);
    assert.equal((await cat.send('GET', `${listOf(cat)}&sort=domain`)).status, 400);
  });

  it('stores rules in canonical form, each once', async () => {
    const name = unique();
    const typed = [' 192.0.2.77/24 ', '192.0.2.0/24', '2001:DB8:0::1', '2001:db8::1', '::ffff:198.51.100.1'];
    const group = await create(ann, name, typed);
    assert.deepEqual(group.allowList, ['192.0.2.0/24', '2001:db8::1', '198.51.100.1']);
    assert.deepEqual(await ann.call('GET', pathOf(ann, name)), group);
  });

  it('updates the rules and the date, and notifies the edges of every tunnel with the group', async () => {
    const name = unique();
    await create(ann, name);
    for (const tunnel of ['one', 'two', 'three'])
      await ann.call('POST', `/api/tunnels?project=${ann.projectId}`, { name: tunnel, region: 'local' });
    for (const tunnel of ['one', 'two'])
      await ann.call('PATCH', `/api/tunnels/${tunnel}?project=${ann.projectId}`, { securityGroup: name });
    test.feed.changed.length = 0;
    test.time.now += 5000;
    const group = await ann.call<SecurityGroup>('PATCH', pathOf(ann, name), { allow: ['198.51.100.7'] });
    assert.deepEqual(group, {
      name,
      updatedAt: new Date(test.time.now).toISOString(),
      assignmentCount: 2,
      allowList: ['198.51.100.7'],
    });
    assert.equal(test.feed.changed.length, 2);
  });

  it('audits what a save added and removed, and cuts long lists', async () => {
    const name = unique();
    const rules = Array.from({ length: 500 }, (_, i) => `2001:db8:${i.toString(16)}:ffff:ffff:ffff:ffff:ffff`);
    await create(ann, name, rules);
    const path = pathOf(ann, name);
    await ann.call('PATCH', path, { allow: [...rules.slice(1), '192.0.2.1'] });
    await ann.call('PATCH', path, { allow: ['192.0.2.2'] });
    await ann.call('PATCH', path, { allow: ['192.0.2.2', '192.0.2.3'] });
    await ann.call('PATCH', path, { allow: ['192.0.2.3', '192.0.2.2'] });
    const query = test.store.db.selectFrom('audit').select('detail').where('target', '=', name).orderBy('id');
    const rows = (await query.execute()).map(({ detail }) => detail);
    assert.deepEqual(
      rows.map((detail) => JSON.parse(detail)),
      [
        { allow: [...rules.slice(0, 50), 'and 450 more'] },
        { added: ['192.0.2.1'], removed: [rules[0]] },
        { added: ['192.0.2.2'], removed: [...rules.slice(1, 51), 'and 450 more'] },
        { added: ['192.0.2.3'], removed: [] },
        { order: 'changed' },
      ],
    );
    assert.ok(rows.every(({ length }) => length < 3_000));
  });

  it('does nothing for a save without a change: same date, no audit row, no message to the edges', async () => {
    const name = unique();
    const tunnel = `of-${name}`;
    const before = await create(ann, name, ['192.0.2.0/24', '2001:db8::1']);
    await ann.call('POST', `/api/tunnels?project=${ann.projectId}`, { name: tunnel, region: 'local' });
    await ann.call('PATCH', `/api/tunnels/${tunnel}?project=${ann.projectId}`, { securityGroup: name });
    test.feed.changed.length = 0;
    test.time.now += 5000;
    const after = await ann.call<SecurityGroup>('PATCH', pathOf(ann, name), { allow: ['192.0.2.9/24', '2001:DB8::1'] });
    assert.deepEqual(after, { ...before, assignmentCount: 1 });
    const rows = await test.store.db.selectFrom('audit').select('action').where('target', '=', name).execute();
    assert.deepEqual(
      rows.map((row) => row.action),
      ['security-group.create'],
    );
    assert.deepEqual(test.feed.changed, []);
  });

  it('accepts a save that names the present state, even if it arrives twice', async () => {
    const name = unique();
    const { updatedAt } = await create(ann, name);
    const save = async () => (await ann.send('PATCH', pathOf(ann, name), { allow: ['198.51.100.7'] }, ifMatch(updatedAt))).json();
    const saved = (await save()) as SecurityGroup;
    assert.notEqual(saved.updatedAt, updatedAt, 'a state of its own, also in the same millisecond');
    assert.deepEqual(await save(), saved);
  });

  it('finds the project without a parameter if exactly one of the caller’s projects has the group', async () => {
    const name = unique();
    await create(ann, name);
    const group = await ann.call<SecurityGroup>('PATCH', `/api/security-groups/${name}`, { allow: ['203.0.113.9'] });
    assert.deepEqual(group.allowList, ['203.0.113.9']);
    assert.equal((await ann.send('DELETE', `/api/security-groups/${name}`)).status, 204);
  });

  it('accepts a name with spaces, encoded in the path', async () => {
    await create(ann, 'Head office 2');
    assert.equal((await ann.call<SecurityGroup>('GET', pathOf(ann, 'Head office 2'))).name, 'Head office 2');
  });
});

describe('400', () => {
  for (const [body, text] of [
    [{ name: '', allow: ['192.0.2.1'] }, 'Name is required.'],
    [{ name: '   ', allow: ['192.0.2.1'] }, 'Name is required.'],
    [{ name: 'x', allow: [] }, 'Provide at least one rule.'],
    [{ name: 'x', allow: ['192.0.2.256'] }, 'Please enter a valid IP/CIDR.'],
    [{ name: 'x', allow: ['192.0.2.0/33'] }, 'Please enter a valid IP/CIDR.'],
    [{ name: 'x', allow: ['192.0.2.0/024'] }, 'Please enter a valid IP/CIDR.'],
    [{ name: 'x', allow: ['2001:db8::/129'] }, 'Please enter a valid IP/CIDR.'],
    [{ name: 'x', allow: ['fe80::1%eth0'] }, 'Please enter a valid IP/CIDR.'],
    [{ name: 'x', allow: ['1.2.3'] }, 'Please enter a valid IP/CIDR.'],
    [{ name: 'x', allow: [null] }, "Field 'allow' must be a list of strings."],
    [{ name: 'x', allow: '192.0.2.1' }, "Field 'allow' must be a list of strings."],
    [{ name: 'x' }, "Field 'allow' is missing."],
  ] as const) {
    it(`refuses ${JSON.stringify(body)}`, async () => {
      assert.deepEqual(await refusal(await ann.send('POST', listOf(ann), body)), [400, text]);
    });
  }

  for (const name of ['..', '.', '../default', 'a/b', 'a'.repeat(64), 'dеfault', 'x\u202ey', 'a\nb']) {
    it(`refuses the name ${JSON.stringify(name).slice(0, 20)}`, async () => {
      assert.equal((await ann.send('POST', listOf(ann), { name, allow: ['192.0.2.1'] })).status, 400);
    });
  }

  it('requires the project if none or two of the caller’s projects have such a group', async () => {
    const text = "Query parameter 'project' is missing.";
    const name = unique();
    const second = await ann.call<{ id: string }>('POST', '/api/projects', { name: 'Second' });
    await create(ann, name);
    await ann.call('POST', `/api/security-groups?project=${second.id}`, { name, allow: ['192.0.2.1'] });
    assert.deepEqual(await refusal(await ann.send('PATCH', `/api/security-groups/${name}`, { allow: ['192.0.2.9'] })), [
      400,
      text,
    ]);
    assert.deepEqual(await refusal(await ann.send('DELETE', `/api/security-groups/${name}`)), [400, text]);
    assert.deepEqual(await refusal(await ann.send('DELETE', '/api/security-groups/nothing')), [400, text]);
  });
});

describe('403', () => {
  it('checks the role in the project that it found', async () => {
    const name = unique();
    await create(ann, name);
    const viewer = await test.signUp('viewer@example.com');
    await test.addMember(ann.projectId, viewer.userId, 'viewer');
    assert.equal((await viewer.send('PATCH', `/api/security-groups/${name}`, { allow: ['192.0.2.9'] })).status, 403);
    assert.equal((await viewer.send('DELETE', `/api/security-groups/${name}`)).status, 403);
  });
});

describe('404', () => {
  it('answers for a group that does not exist', async () => {
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const response = await ann.send(method, pathOf(ann, 'nothing'), method === 'PATCH' ? { allow: ['192.0.2.1'] } : undefined);
      assert.deepEqual(await refusal(response), [404, 'Security group not found']);
    }
  });
});

describe('409', () => {
  it('never deletes default: not by an owner, an operator, an API token, in capitals, or without a project', async () => {
    const bob = await test.signUp('bob@example.com', { operator: true });
    const { token } = await bob.call<{ token: string }>('POST', `/api/tokens?project=${bob.projectId}`, {
      name: 'ci',
      role: 'owner',
    });
    const text = "Security group 'default' cannot be deleted";
    for (const who of [bob, { ...bob, ...test.client(token) }]) {
      assert.deepEqual(await refusal(await who.send('DELETE', pathOf(bob, 'default'))), [409, text]);
      assert.deepEqual(await refusal(await who.send('DELETE', '/api/security-groups/default')), [409, text]);
      assert.deepEqual(await refusal(await who.send('DELETE', `/api/security-groups/%64efault?project=${bob.projectId}`)), [
        409,
        text,
      ]);
      assert.equal((await who.send('DELETE', pathOf(bob, 'DEFAULT'))).status, 404);
    }
  });

  it('refuses a name that the project already has, and creates one of fifty at once', async () => {
    const name = unique();
    await create(ann, name);
    const body = { name, allow: ['192.0.2.1'] };
    assert.deepEqual(await refusal(await ann.send('POST', listOf(ann), body)), [409, `Security group '${name}' already exists`]);
    const fifty = unique();
    const statuses = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const spelled = i % 2 === 0 ? fifty : fifty.toUpperCase();
        return (await ann.send('POST', listOf(ann), { ...body, name: spelled })).status;
      }),
    );
    assert.equal(statuses.filter((status) => status === 200).length, 1);
  });

  it('refuses a name that differs from another only in upper and lower case, and names the other', async () => {
    const bob = await test.signUp(`${unique()}@example.com`);
    await create(bob, 'Office 1');
    for (const [name, other] of [
      ['OFFICE 1', 'Office 1'],
      ['office 1', 'Office 1'],
      ['Default', 'default'],
    ] as const) {
      const response = await bob.send('POST', listOf(bob), { name, allow: ['192.0.2.1'] });
      assert.deepEqual(await refusal(response), [409, `Security group '${other}' already exists`]);
    }
    await create(bob, 'Office-1');
  });

  it('refuses to delete a group in use, naming the tunnels', async () => {
    const name = unique();
    await create(ann, name);
    await ann.call('POST', `/api/tunnels?project=${ann.projectId}`, { name: 'guarded', region: 'local' });
    await ann.call('PATCH', `/api/tunnels/guarded?project=${ann.projectId}`, { securityGroup: name });
    const text = `Security group '${name}' is in use by tunnel 'guarded'`;
    assert.deepEqual(await refusal(await ann.send('DELETE', pathOf(ann, name))), [409, text]);
  });

  it('enforces the quotas of groups and of rules', async () => {
    const bob = await test.signUp('bob-quota@example.com');
    await test.control.operator.changeProject(bob.projectId, { limits: { securityGroups: 2, rulesPerGroup: 2 } });
    await create(bob, 'second');
    const third = { name: 'third', allow: ['192.0.2.1'] };
    assert.deepEqual(await refusal(await bob.send('POST', listOf(bob), third)), [
      409,
      'This project may have at most 2 security groups. Delete some, or ask the operator for more.',
    ]);
    const rules = { allow: ['192.0.2.1', '192.0.2.2', '192.0.2.3'] };
    const text = 'This project may have at most 2 rules in a security group. Delete some, or ask the operator for more.';
    assert.deepEqual(await refusal(await bob.send('PATCH', pathOf(bob, 'second'), rules)), [409, text]);
  });
});

describe('412', () => {
  it('refuses a save that names an outdated state, and changes nothing', async () => {
    const name = unique();
    const { updatedAt } = await create(ann, name);
    const theirs = await ann.call<SecurityGroup>('PATCH', pathOf(ann, name), { allow: ['198.51.100.7'] });
    const mine = await ann.send('PATCH', pathOf(ann, name), { allow: ['203.0.113.9'] }, ifMatch(updatedAt));
    assert.deepEqual(await refusal(mine), [412, `Security group '${name}' has changed since you opened it.`]);
    assert.deepEqual(await ann.call('GET', pathOf(ann, name)), theirs);
  });
});
