// Deleting an account and deleting a project: what is removed, what stays, and who may not do it. On both databases.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { deletedUser, lastOperatorMessage } from '@underpass/rules/people/account.ts';
import { sql } from 'kysely';
import { openPostgresStore } from '../../platform/store/postgres.ts';
import { openSqliteStore } from '../../platform/store/sqlite.ts';
import type { Store } from '../../platform/store/store.ts';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';
import { startPostgres, type TestPostgres } from '../../test-kit-postgres.ts';

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.close());

const stores: Readonly<Record<string, () => Promise<Store>>> = {
  sqlite: () => openSqliteStore(':memory:'),
  postgres: async () => openPostgresStore(await postgres.createDatabase(), (error) => assert.fail(error)),
};

async function tablesOf({ db, kind }: Store): Promise<string[]> {
  const query =
    kind === 'sqlite'
      ? sql<{ name: string }>`select name from sqlite_master where type = 'table'`
      : sql<{ name: string }>`select table_name as name from information_schema.tables where table_schema = 'public'`;
  return (await query.execute(db)).rows.map((row) => row.name);
}

/** Every row of every table that contains the text, as `table: row`. */
async function rowsWith(store: Store, text: string): Promise<string[]> {
  const found: string[] = [];
  for (const table of await tablesOf(store)) {
    const { rows } = await sql`select * from ${sql.id(table)}`.execute(store.db);
    for (const row of rows) if (JSON.stringify(row).includes(text)) found.push(`${table}: ${JSON.stringify(row)}`);
  }
  return found;
}

for (const [name, open] of Object.entries(stores)) {
  describe(`on ${name}`, () => {
    let test: TestControl;
    let operator: SignedUp;
    let count = 0;

    before(async () => {
      test = await createTestControl({ store: await open() });
      operator = await test.signUp('operator@example.com', { operator: true });
    });
    after(async () => {
      await test.close();
      await test.store.close();
    });

    const person = (): Promise<SignedUp> => test.signUp(`person-${++count}@example.com`);
    const leave = (who: SignedUp, email = who.email): Promise<Response> => who.send('DELETE', '/api/account', { email });
    const refusal = async (response: Response): Promise<[number, string]> => [response.status, await response.text()];
    const query = ({ projectId }: SignedUp): string => `?project=${projectId}`;
    const auditOf = async (projectId: string | null): Promise<object[]> => {
      const rows = await test.store.db
        .selectFrom('audit')
        .select(['actor', 'action', 'target', 'address'])
        .where('project_id', projectId === null ? 'is' : '=', projectId)
        .orderBy('id')
        .execute();
      return rows.map((row) => ({ ...row }));
    };

    /** A user with a row in every table that may hold one. */
    const settled = async (): Promise<SignedUp> => {
      const ann = await person();
      await ann.call('POST', `/api/tunnels${query(ann)}`, { name: 'shop', region: 'local' });
      await ann.call('POST', `/api/domains${query(ann)}`, { name: `${ann.email.replace(/@.*/, '')}.com` });
      await ann.call('POST', `/api/security-groups${query(ann)}`, { name: 'office', allow: ['192.0.2.1'] });
      await ann.call('POST', `/api/tokens${query(ann)}`, { name: 'ci', role: 'viewer' });
      await ann.call('POST', `/api/invitations${query(ann)}`, { email: 'guest@example.org', role: 'viewer' });
      await operator.call('POST', '/api/operator/subscriptions', { email: ann.email });
      const registration = {
        first_name: 'Ann',
        last_name: 'Lee',
        company: '',
        github: 'annlee',
        x_account: '',
        subscribed: 1 as const,
      };
      const decided = { state: 'approved' as const, created_at: 1, decided_at: 2, decided_by: operator.email };
      await test.store.db
        .insertInto('registrations')
        .values({ id: ann.userId, email: ann.email, ...registration, ...decided })
        .execute();
      const attempt = { name: 'www.example.com', at: 1, outcome: 'issued' as const, detail: '', retry_at: 0, retry_issuer: '' };
      await test.store.db
        .insertInto('certificate_attempts')
        .values({ id: `attempt-of-${ann.email}`.replace('@', '-at-'), project_id: '', owner_id: ann.userId, ...attempt })
        .execute();
      return ann;
    };

    it('deletes the account with its sessions, tokens, projects and registration; no row of any table keeps the e-mail', async () => {
      const ann = await settled();
      const bob = await person();
      await test.addMember(bob.projectId, ann.userId, 'admin');
      await ann.call('POST', `/api/security-groups${query(bob)}`, { name: 'anns', allow: ['192.0.2.9'] });
      await ann.call('POST', `/api/invitations${query(bob)}`, { email: 'friend@example.org', role: 'viewer' });
      const { token } = await ann.call<{ token: string }>('POST', `/api/tokens${query(ann)}`, { name: 'ci', role: 'owner' });
      const tunnel = await test.store.db.selectFrom('tunnels').select('id').where('project_id', '=', ann.projectId).execute();
      assert.notDeepEqual(await rowsWith(test.store, ann.email), []);

      const response = await leave(ann, ` ${ann.email.toUpperCase()} `);
      assert.equal(response.status, 204);
      assert.match(response.headers.getSetCookie().join(), /session=;.*Max-Age=0/i);
      assert.ok(test.feed.changed.includes(tunnel[0]!.id), 'the feed sends its tunnels to the edges');
      assert.equal((await test.client(token).send('GET', '/api/projects')).status, 401);
      await test.control.settle();
      assert.match(test.mails.findLast((mail) => mail.to === ann.email)!.subject, /account is deleted/);

      assert.deepEqual(await rowsWith(test.store, ann.email), []);
      assert.deepEqual(await rowsWith(test.store, ann.userId), []);
      const projectRows = (await rowsWith(test.store, ann.projectId)).filter((row) => !/^(audit|released_names): /.test(row));
      assert.deepEqual(projectRows, []);
    });

    it('keeps in the audit log what was done, without who did it or from where', async () => {
      const [ann, bob] = [await person(), await person()];
      await test.addMember(bob.projectId, ann.userId, 'admin');
      await ann.call('POST', `/api/security-groups${query(bob)}`, { name: 'anns', allow: ['192.0.2.9'] });
      await bob.call('PATCH', `/api/members/${ann.userId}${query(bob)}`, { role: 'member' });
      assert.equal((await leave(ann)).status, 204);
      assert.deepEqual(await auditOf(bob.projectId), [
        { actor: deletedUser, action: 'security-group.create', target: 'anns', address: '' },
        { actor: bob.email, action: 'member.change', target: deletedUser, address: '192.0.2.1' },
        { actor: deletedUser, action: 'member.leave', target: deletedUser, address: '' },
      ]);
      assert.deepEqual((await auditOf(null)).at(-1), {
        actor: deletedUser,
        action: 'user.delete',
        target: deletedUser,
        address: '',
      });
      assert.equal((await bob.call<unknown[]>('GET', `/api/members${query(bob)}`)).length, 1);
    });

    it('keeps a generated name reserved, so that another project does not get its visitors', async () => {
      const ann = await person();
      const { ingressDomains } = await ann.call<{ ingressDomains: { name: string }[] }>('POST', `/api/tunnels${query(ann)}`, {
        name: 'shop',
        region: 'local',
      });
      await leave(ann);
      const rests = await test.store.db.selectFrom('released_names').select('host').execute();
      assert.ok(rests.some((row) => row.host === ingressDomains[0]!.name));
    });

    it('refuses a confirmation with another e-mail', async () => {
      const ann = await person();
      for (const email of ['', 'x@example.com', ann.email.slice(1)]) assert.equal((await leave(ann, email)).status, 400);
      assert.equal((await ann.send('GET', '/api/user')).status, 200);
    });

    it('refuses the only owner of a project with other members', async () => {
      const [ann, bob] = [await person(), await person()];
      await test.addMember(ann.projectId, bob.userId, 'admin');
      const [status, text] = await refusal(await leave(ann));
      assert.equal(status, 409);
      assert.match(text, /^'default': its other members would be left without an owner\./);
      assert.equal((await ann.send('GET', '/api/user')).status, 200);
      await ann.call('PATCH', `/api/members/${bob.userId}${query(ann)}`, { role: 'owner' });
      assert.equal((await leave(ann)).status, 204);
      assert.equal((await bob.call<unknown[]>('GET', `/api/members${query(ann)}`)).length, 1);
    });

    it('lets only one of two owners leave at the same moment', async () => {
      const [ann, bob, eve] = [await person(), await person(), await person()];
      await test.addMember(ann.projectId, bob.userId, 'owner');
      await test.addMember(ann.projectId, eve.userId, 'viewer');
      const statuses = await Promise.all([leave(ann), leave(bob)].map(async (each) => (await each).status));
      assert.deepEqual(statuses.sort(), [204, 409]);
    });

    it('refuses the only member of a suspended project; the operator may delete the account', async () => {
      const ann = await person();
      await test.control.operator.changeProject(ann.projectId, { suspended: true });
      const [status, text] = await refusal(await leave(ann));
      assert.deepEqual([status, text], [409, "'default' is suspended. Please write to the operator."]);
      await test.control.operator.deleteUser(ann.userId);
      assert.deepEqual(await rowsWith(test.store, ann.userId), []);
    });

    it('refuses the only member of a project with a suspended tunnel, because they could make it again unnoticed', async () => {
      const ann = await settled();
      const tunnel = test.store.db.selectFrom('tunnels').select('id').where('project_id', '=', ann.projectId);
      const { id } = await tunnel.executeTakeFirstOrThrow();
      await test.control.operator.changeTunnel(id, { suspended: true });
      assert.deepEqual(await refusal(await leave(ann)), [403, "Tunnel 'shop' is suspended. Please write to the operator."]);
      assert.equal((await ann.send('GET', '/api/user')).status, 200);
      await test.control.operator.deleteUser(ann.userId);
      assert.deepEqual(await tunnel.execute(), []);
    });

    it('lets a member leave a project with a suspended tunnel, which stays', async () => {
      const [ann, bob] = [await settled(), await person()];
      await test.addMember(ann.projectId, bob.userId, 'owner');
      const tunnel = test.store.db.selectFrom('tunnels').select('id').where('project_id', '=', ann.projectId);
      const { id } = await tunnel.executeTakeFirstOrThrow();
      await test.control.operator.changeTunnel(id, { suspended: true });
      assert.equal((await leave(ann)).status, 204);
      assert.equal((await tunnel.execute()).length, 1);
    });

    it('refuses the last operator, by command too, until there is another', async () => {
      assert.deepEqual(await refusal(await leave(operator)), [409, lastOperatorMessage]);
      await assert.rejects(() => test.control.operator.deleteUser(operator.userId), { message: lastOperatorMessage });
      const second = await test.signUp(`second-${name}@example.com`, { operator: true });
      const suspend = (suspended_at: number | null) =>
        test.store.db.updateTable('users').set({ suspended_at }).where('id', '=', operator.userId).execute();
      await suspend(1);
      assert.deepEqual(await refusal(await leave(second)), [409, lastOperatorMessage]);
      await suspend(null);
      assert.equal((await leave(second)).status, 204);
    });

    it('deletes a project, confirmed by its name, with everything in it, and its tunnels stop', async () => {
      const ann = await settled();
      const remove = (typed: string) => ann.send('DELETE', `/api/projects/${ann.projectId}`, { name: typed });
      assert.equal((await remove('defaul')).status, 400);
      const before = test.feed.changed.length;
      assert.equal((await remove('default')).status, 204);
      assert.equal(test.feed.changed.length, before + 1);
      assert.equal((await ann.send('GET', `/api/tunnels${query(ann)}`)).status, 404);
      assert.deepEqual(await ann.call('GET', '/api/projects'), []);
      const left = (await rowsWith(test.store, ann.projectId)).filter((row) => !/^(audit|released_names): /.test(row));
      assert.deepEqual(left, []);
      const rows = await auditOf(ann.projectId);
      assert.deepEqual(rows.at(-1), { actor: ann.email, action: 'project.delete', target: 'default', address: '192.0.2.1' });
    });

    it('refuses calls that arrive while their project is deleted, without an error', async () => {
      const ann = await person();
      const [, ...others] = await Promise.all([
        ann.send('DELETE', `/api/projects/${ann.projectId}`, { name: 'default' }),
        ...['a', 'b', 'c', 'd'].map((each) => ann.send('POST', `/api/domains${query(ann)}`, { name: `${each}-${name}.com` })),
        ...['a', 'b'].map((each) => ann.send('POST', `/api/tunnels${query(ann)}`, { name: each, region: 'local' })),
      ]);
      for (const { status } of others) assert.ok([200, 404].includes(status), String(status));
    });
  });
}
