// What the service holds about a person is in the file that they may download, or the table says why not; and after their account is
// deleted nothing names them but what the table says. On both databases.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { rateLimits } from '@underpass/rules/limits.ts';
import { sql } from 'kysely';
import type { Schema } from '../../platform/store/schema.ts';
import type { Store } from '../../platform/store/store.ts';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';
import { onBothDatabases } from '../../test-kit-databases.ts';
import { type Holding, personalData } from './personal-data.ts';

const tables = Object.keys(personalData) as (keyof Schema)[];
const isHolding = (table: keyof Schema): boolean => 'section' in personalData[table];
const holdings = tables.filter(isHolding).map((table) => ({ table, holding: personalData[table] as unknown as Holding }));

/** Tables of the drivers and of the limiter, whose keys expire within a day. */
const foreign = /^(kysely_migration(_lock)?|sqlite_sequence|rate_limits|history_\w+_(rest|p?\d+\w*))$/;
/** Columns with such a name say who somebody is, or where. */
const telling = /^(user_id|owner_id|e?mail|actor|who|subject|address|user_agent|(created|invited|decided)_by)$/;

async function columnsOf({ db, kind }: Store): Promise<ReadonlyMap<string, readonly string[]>> {
  const query =
    kind === 'sqlite'
      ? sql<{ table: string; name: string }>`
          select m.name as "table", c.name from sqlite_master m join pragma_table_info(m.name) c where m.type = 'table'`
      : sql<{ table: string; name: string }>`
          select table_name as "table", column_name as name from information_schema.columns where table_schema = 'public'`;
  const { rows } = await query.execute(db);
  return new Map(
    Object.entries(Object.groupBy(rows, (row) => row.table)).map(([table, of = []]) => [table, of.map((c) => c.name)]),
  );
}

async function rowsWith(store: Store, texts: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const table of (await columnsOf(store)).keys()) {
    const { rows } = await sql`select * from ${sql.table(table)}`.execute(store.db);
    if (rows.some((row) => texts.some((text) => JSON.stringify(row).includes(text)))) found.add(table);
  }
  return found;
}

type File = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;

onBothDatabases((database, skip, open) => {
  describe(`what is held about a person, on ${database}`, { skip }, () => {
    let test: TestControl;
    let operator: SignedUp;
    let count = 0;

    before(async () => {
      test = await createTestControl({ store: await open(), limited: true });
      operator = await test.signUp('operator@example.com', { operator: true });
    });
    after(async () => {
      await test.close();
      await test.store.close();
    });

    /** A person with a row in each table that may hold one, as a member of a project that outlives them. */
    const settled = async (): Promise<SignedUp> => {
      const ann = await test.signUp(`ann-${++count}@example.com`);
      const other = await test.signUp(`other-${count}@example.com`);
      await test.addMember(other.projectId, ann.userId, 'owner');
      const query = `?project=${other.projectId}`;
      await ann.call('POST', `/api/tunnels${query}`, { name: 'shop', region: 'local' });
      await ann.call('POST', `/api/tokens${query}`, { name: 'ci', role: 'viewer' });
      await ann.call('POST', `/api/invitations${query}`, { email: 'guest@example.org', role: 'viewer' });
      await ann.call('POST', `/api/access-policies${query}`, { name: 'staff', people: [ann.email] });
      await operator.call('POST', '/api/operator/subscriptions', { email: ann.email });
      const { db } = test.store;
      const project = { project_id: other.projectId };
      const tunnel = await db
        .selectFrom('tunnels')
        .select('id')
        .where('project_id', '=', other.projectId)
        .executeTakeFirstOrThrow();
      const policy = await db
        .selectFrom('access_policies')
        .select('id')
        .where('project_id', '=', other.projectId)
        .executeTakeFirstOrThrow();
      const [id, email] = [`of-${count}`, ann.email];
      const mine = { id, user_id: ann.userId };
      const made = { created_by: email, created_at: 1 };
      const ends = { created_at: 1, expires_at: 9e12 };
      const seal = `secret-${count}`;
      const names = {
        first_name: 'Ann',
        last_name: 'Lee',
        company: 'Navy',
        github: 'annlee',
        x_account: '',
        subscribed: 1 as const,
      };
      const decision = { state: 'approved' as const, created_at: 1, decided_at: 2, decided_by: operator.email };
      const attempt = {
        name: 'a.example.com',
        project_id: '',
        at: 1,
        outcome: 'issued' as const,
        detail: '',
        retry_at: 0,
        retry_issuer: '',
      };
      const at = { address: '192.0.2.77', at: 1 };
      const rows: { readonly [Table in keyof Schema]?: object } = {
        registrations: { id, email, ...names, ...decision },
        used_invitations: { token_hash: `${seal}-j`, ...project, user_id: ann.userId, expires_at: 9e12 },
        login_links: { ...mine, token_hash: `${seal}-a`, browser_hash: `${seal}-b`, session_id: null, used_at: null, ...ends },
        known_browsers: { ...mine, browser_hash: seal, seen_at: 1 },
        passkeys: {
          ...{ ...mine, credential_id: `${seal}-c`, public_key: `${seal}-d`, sign_count: 1, transports: '["usb"]' },
          ...{ name: 'Laptop', created_at: 1, used_at: null },
        },
        recovery_codes: { code_hash: `${seal}-e`, user_id: ann.userId, created_at: 1 },
        device_logins: {
          ...{ ...mine, device_hash: `${seal}-f`, user_code: `${seal}-g`, name: 'laptop', state: 'approved' },
          ...{ ...project, role: 'viewer', address: '192.0.2.77', ...ends },
        },
        quick_tunnels: { tunnel_id: tunnel.id, user_id: ann.userId, label: `calm-${count}`, expires_at: 9e12, ends_at: null },
        access_tokens: { id, policy_id: policy.id, name: 'ci', token_hash: `${seal}-h`, expires_at: null, ...made },
        access_links: {
          ...{
            id,
            policy_id: policy.id,
            name: 'client',
            secret_hash: `${seal}-i`,
            uses: 0,
            most_uses: 3,
            used_at: null,
            expires_at: null,
          },
          ...made,
        },
        reach_tickets: {
          ...{ id, tunnel_id: tunnel.id, name: 'laptop', secret_hash: `${seal}-k`, used_at: null, expires_at: null },
          ...made,
        },
        access_sign_ins: {
          id,
          ...project,
          policy: 'staff',
          host: 'a.test',
          who: email,
          method: 'code',
          allowed: 1,
          reason: '',
          ...at,
        },
        visitor_log: {
          ...{ id, tunnel_id: tunnel.id, missed: 0, who: email, method: 'GET', host: 'a.test', path: '/', status: 200 },
          ...{ bytes: 1, edge_us: null, tunnel_us: null, upstream_us: null, total_us: 1, code: '', ...at },
        },
        access_sign_outs: { policy_id: policy.id, subject: email, at: 1 },
        certificate_attempts: { id, owner_id: ann.userId, ...attempt },
        abuse_reports: { id, host: 'bad.test', email, text: 'It lies.', state: 'closed', address: '192.0.2.78', created_at: 1 },
        alert_mailings: { ...project, user_id: ann.userId, mail: 1, told_until: 1, mailed_at: 1, waiting: 0 },
        blocks: { id, kind: 'name', value: `bad-${count}.test`, reason: 'phishing', ...made },
      };
      for (const [table, row] of Object.entries(rows))
        await db
          .insertInto(table as keyof Schema)
          .values(row as never)
          .execute();
      await db.updateTable('sessions').set({ passkey_at: test.time.now }).where('user_id', '=', ann.userId).execute();
      return ann;
    };

    const download = async (ann: SignedUp): Promise<string> => {
      const response = await ann.send('POST', '/api/account/export');
      assert.equal(response.status, 200, await response.clone().text());
      assert.match(response.headers.get('content-disposition') ?? '', /^attachment; filename=/);
      return response.text();
    };

    it('is decided for every table and column of the database', async () => {
      const found = await columnsOf(test.store);
      const known = [...found.keys()].filter((table) => !foreign.test(table));
      assert.deepEqual(known.toSorted(), tables.toSorted());
      for (const { table, holding } of holdings)
        assert.deepEqual(Object.keys(holding.columns).sort(), found.get(table)?.toSorted());
      const unnamed = tables.filter((table) => !isHolding(table) && found.get(table)?.some((column) => telling.test(column)));
      // The address of a tunnel's client is that of a machine of the project.
      assert.deepEqual(unnamed.toSorted(), ['access_sign_outs', 'last_clients']);
    });

    it('is in the file, each kind of it, without secrets and without what is about others', async () => {
      const ann = await settled();
      await settled();
      const text = await download(ann);
      const { service, madeAt, ...sections } = JSON.parse(text) as File;
      assert.deepEqual(
        Object.keys(sections),
        holdings.map(({ holding }) => holding.section),
      );
      for (const [section, rows] of Object.entries(sections)) assert.notDeepEqual(rows, [], section);
      assert.deepEqual([typeof service, new Date(String(madeAt)).getTime()], ['string', test.time.now]);
      assert.doesNotMatch(text, /secret-\d/);
      for (const stranger of [`ann-${count}@`, 'operator@example.com', '192.0.2.78'])
        assert.ok(!text.includes(stranger), stranger);
      assert.deepEqual(sections.passkeys, [
        { transports: ['usb'], name: 'Laptop', createdAt: new Date(1).toISOString(), usedAt: null },
      ]);
      assert.deepEqual(
        sections.memberships?.map(({ projectName, role }) => [projectName, role]),
        [
          ['default', 'owner'],
          ['default', 'owner'],
        ],
      );
      assert.ok(sections.audit?.some(({ action }) => action === 'account.export'));
    });

    it('is read in parts: a person may have more rows than a part has', async () => {
      const ann = await test.signUp(`ann-${++count}@example.com`);
      const row = { at: 1, project_id: null, actor: ann.email, action: 'a.b', target: '', address: '', detail: '{}' };
      const rows = Array.from({ length: 1_100 }, (_, i) => ({ ...row, id: `0-${count}-${String(i).padStart(5, '0')}` }));
      await test.store.db.insertInto('audit').values(rows.slice(0, 600)).execute();
      await test.store.db.insertInto('audit').values(rows.slice(600)).execute();
      const { audit = [] } = JSON.parse(await download(ann)) as File;
      assert.equal(audit.filter(({ action }) => action === 'a.b').length, rows.length);
    });

    it('goes with the account, but for what the table says', async () => {
      const ann = await settled();
      const person = { id: ann.userId, email: ann.email };
      assert.equal((await ann.send('DELETE', '/api/account', { email: ann.email })).status, 204);
      for (const { table, holding } of holdings) {
        const { rows } = await sql`select 1 from ${sql.table(table)} where ${holding.of(person)}`.execute(test.store.db);
        assert.equal(rows.length > 0, holding.stays !== undefined, table);
      }
      const staying = tables.filter((table) => personalData[table].stays !== undefined);
      assert.deepEqual([...(await rowsWith(test.store, Object.values(person)))].sort(), staying.sort());
    });

    it('goes out only after a fresh proof, to no API token, and not too often', async () => {
      const ann = await test.signUp(`ann-${++count}@example.com`);
      const { token } = await ann.call<{ token: string }>('POST', `/api/tokens?project=${ann.projectId}`, {
        name: 'ci',
        role: 'owner',
      });
      assert.equal((await test.client(token).send('POST', '/api/account/export')).status, 403);
      await test.store.db.updateTable('sessions').set({ proven_at: 1 }).where('user_id', '=', ann.userId).execute();
      const stale = await ann.send('POST', '/api/account/export');
      assert.deepEqual([stale.status, stale.headers.get('underpass-error')], [403, 'UNDERPASS_PROOF_NEEDED']);
      await test.store.db.updateTable('sessions').set({ proven_at: test.time.now }).where('user_id', '=', ann.userId).execute();
      for (let taken = 0; taken < rateLimits.accountExportPerUser.points; taken++) await download(ann);
      assert.equal((await ann.send('POST', '/api/account/export')).status, 429);
    });

    it('goes out by an operator, who is in the audit log then, and by a command', async () => {
      const ann = await settled();
      assert.equal((await ann.send('POST', `/api/operator/users/${ann.userId}/export`)).status, 403);
      const response = await operator.send('POST', `/api/operator/users/${ann.userId}/export`);
      const parts: string[] = [];
      for await (const part of await test.control.operator.writeUserFile(ann.userId)) parts.push(part);
      assert.equal(await response.text(), parts.join(''));
      assert.equal((JSON.parse(parts.join('')) as File).account?.[0]?.email, ann.email);
      const logged = test.store.db.selectFrom('audit').select('actor').where('action', '=', 'user.export').orderBy('id');
      assert.deepEqual((await logged.execute()).map(({ actor }) => actor).sort(), ['operator', operator.email]);
      assert.equal((await operator.send('POST', '/api/operator/users/nobody/export')).status, 404);
    });
  });
});
