// Sweeping deletes ended rows and no others.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { sql } from 'kysely';
import { pino } from 'pino';
import { createId } from '../platform/store/id.ts';
import { isWaiting } from '../platform/store/known-time.ts';
import type { Store } from '../platform/store/store.ts';
import { createTestControl } from '../test-kit.ts';
import { onBothDatabases } from '../test-kit-databases.ts';
import { deleteAllExpired, sweepStore } from './sweep.ts';

const dayMs = 24 * 3600_000;
const tables = [
  'sessions',
  'login_links',
  'device_logins',
  'invitations',
  'api_tokens',
  'tunnel_tokens',
  'edge_keys',
  'released_names',
] as const;

it('deletes rows that ended a day ago, and keeps live ones', async () => {
  const test = await createTestControl();
  const ann = await test.signUp('ann@example.com');
  const p = `?project=${ann.projectId}`;
  await ann.call('POST', `/api/invitations${p}`, { email: 'x@example.com', role: 'viewer' });
  await ann.call('POST', `/api/tokens${p}`, { name: 'ci', role: 'viewer', expiresInDays: 1 });
  await ann.call('POST', `/api/tunnels${p}`, { name: 'shop', region: 'local' });
  await ann.call('POST', `/api/tunnels${p}`, { name: 'gone', region: 'local' });
  await ann.call('DELETE', `/api/tunnels/gone${p}`);
  await ann.call('POST', `/api/tunnels/shop/token/rotate${p}`);
  await test.client().call('POST', '/auth/device', { name: 'laptop' });
  for (let i = 0; i < 2; i++) await test.control.operator.createRegionKey('local');
  const counts = async () =>
    Promise.all(tables.map(async (table) => (await test.store.db.selectFrom(table).selectAll().execute()).length));
  const before = await counts();
  await deleteAllExpired(test.store, test.time.now);
  assert.deepEqual(await counts(), before, 'nothing has ended yet');
  await deleteAllExpired(test.store, test.time.now + 2 * dayMs);
  assert.deepEqual(Object.fromEntries((await counts()).map((count, i) => [tables[i], count])), {
    ...{
      sessions: 1,
      login_links: 0,
      device_logins: 0,
      invitations: 1,
      api_tokens: 0,
      tunnel_tokens: 1,
      edge_keys: 1,
      released_names: 1,
    },
  });
  await deleteAllExpired(test.store, test.time.now + 100 * dayMs);
  assert.deepEqual(Object.fromEntries((await counts()).map((count, i) => [tables[i], count])), {
    ...{
      sessions: 0,
      login_links: 0,
      device_logins: 0,
      invitations: 0,
      api_tokens: 0,
      tunnel_tokens: 1,
      edge_keys: 1,
      released_names: 0,
    },
  });
  await test.close();
});

it('keeps audit rows, registrations and abuse reports as long as the privacy policy says', async () => {
  const test = await createTestControl();
  const { db } = test.store;
  const at = test.time.now;
  const person = {
    first_name: 'A',
    last_name: 'B',
    company: '',
    github: '',
    x_account: '',
    subscribed: 0 as const,
    decided_by: null,
  };
  for (const [id, state] of [
    ['1', 'approved'],
    ['2', 'rejected'],
  ] as const) {
    const row = { id, email: `${state}@example.com`, state, created_at: at, decided_at: at, ...person };
    await db.insertInto('registrations').values(row).execute();
  }
  for (const [id, state] of [
    ['1', 'open'],
    ['2', 'closed'],
  ] as const) {
    const report = {
      id,
      state,
      host: 'x.example.com',
      email: 'eve@example.org',
      text: 'Bad.',
      address: '192.0.2.1',
      created_at: at,
    };
    await db.insertInto('abuse_reports').values(report).execute();
  }
  const event = {
    id: createId(at),
    at,
    project_id: null,
    actor: 'ann@example.com',
    action: 'session.create',
    target: '',
    address: '',
    detail: '{}',
  };
  await db.insertInto('audit').values(event).execute();
  const kept = async (days: number) => {
    await deleteAllExpired(test.store, at + days * dayMs);
    const audit = await db.selectFrom('audit').select('id').where('id', '=', event.id).execute();
    const registrations = await db.selectFrom('registrations').select('state').execute();
    const reports = await db.selectFrom('abuse_reports').select('state').execute();
    return [audit.length, registrations.map((row) => row.state), reports.map((row) => row.state).sort()];
  };
  await deleteAllExpired(test.store, at + 365 * dayMs - 1);
  assert.deepEqual(await kept(364), [1, ['approved', 'rejected'], ['closed', 'open']]);
  assert.deepEqual(await kept(365), [0, ['approved'], ['closed', 'open']]);
  assert.deepEqual(await kept(730), [0, ['approved'], ['open']]);
  await test.close();
});

describe('a clock that jumps', () => {
  const hourMs = 3600_000;
  const jumpMs = 400 * dayMs;

  /** A store with rows of each lasting kind, sweeps at a chosen time, and the errors in the log. */
  const open = async () => {
    const test = await createTestControl();
    const ann = await test.signUp('ann@example.com');
    const p = `?project=${ann.projectId}`;
    await ann.call('POST', `/api/invitations${p}`, { email: 'x@example.com', role: 'viewer' });
    await ann.call('POST', `/api/tokens${p}`, { name: 'ci', role: 'viewer', expiresInDays: 90 });
    const alarms: string[] = [];
    const log = pino({ level: 'error' }, { write: (line: string) => void alarms.push(JSON.parse(line).msg) });
    const sweepAt = (nowMs: number) => sweepStore(test.store, nowMs, log);
    const kept = async () => {
      const names = ['audit', 'sessions', 'api_tokens', 'invitations'] as const;
      const rows = names.map((table) => test.store.db.selectFrom(table).selectAll().execute());
      return (await Promise.all(rows)).map(({ length }) => length > 0);
    };
    return { test, alarms, sweepAt, kept, at: test.time.now };
  };

  it('deletes nothing, in either direction, and says so in the log', async () => {
    const { test, alarms, sweepAt, kept, at } = await open();
    await sweepAt(at);
    await sweepAt(at + jumpMs);
    await sweepAt(at + jumpMs + 600_000);
    assert.deepEqual(await kept(), [true, true, true, true]);
    assert.match(alarms[0] ?? '', /jumped by 400 days/);
    assert.equal(alarms.length, 1);
    await sweepAt(at + 600_000);
    assert.deepEqual(await kept(), [true, true, true, true]);
    assert.match(alarms[1] ?? '', /jumped by -400 days/);
    await test.close();
  });

  it('deletes nothing at the first sweep of a database that an older release used', async () => {
    const { test, alarms, sweepAt, kept, at } = await open();
    await sweepAt(at + jumpMs);
    assert.deepEqual([await kept(), alarms.length], [[true, true, true, true], 1]);
    await test.close();
  });

  it('deletes what expired once the server has run for a day at the new time', async () => {
    const { test, sweepAt, kept, at } = await open();
    await sweepAt(at);
    for (let hour = 0; hour < 24; hour++) await sweepAt(at + jumpMs + hour * hourMs);
    assert.deepEqual(await kept(), [true, true, true, true], 'a day has not passed');
    await sweepAt(at + jumpMs + 24 * hourMs);
    assert.deepEqual(await kept(), [false, false, false, false]);
    await test.close();
  });

  it('by hours or two days deletes nothing until the server has run that long, a day at most, and alarms nobody', async () => {
    for (const stepMs of [2 * hourMs, 2 * dayMs]) {
      const { test, alarms, sweepAt, kept, at } = await open();
      const almost = at - 14 * dayMs + hourMs;
      await test.store.db.updateTable('sessions').set({ seen_at: almost }).execute();
      await sweepAt(at);
      await sweepAt(at + stepMs);
      await sweepAt(at);
      await sweepAt(at + stepMs);
      const waitMs = Math.min(stepMs, dayMs);
      for (let runMs = hourMs; runMs < waitMs; runMs += hourMs) await sweepAt(at + stepMs + runMs);
      assert.deepEqual([await kept(), await isWaiting(test.store.db)], [[true, true, true, true], false]);
      await sweepAt(at + stepMs + waitMs);
      assert.deepEqual([(await kept())[1], alarms], [false, []]);
      await test.close();
    }
  });

  it('by hours in the wait after a larger jump keeps the alarm', async () => {
    const { test, sweepAt, at } = await open();
    await sweepAt(at);
    await sweepAt(at + jumpMs);
    await sweepAt(at + jumpMs + 2 * hourMs);
    assert.equal(await isWaiting(test.store.db), true);
    await test.close();
  });

  it('counts the misses of a domain from the start, and checks it when the clock is back', async () => {
    const { test, sweepAt, at } = await open();
    const { id } = await test.store.db.selectFrom('projects').select('id').executeTakeFirstOrThrow();
    const domain = { id: 'd', project_id: id, apex_name: 'a.com', challenge: 'c', verified_at: 1, owned_apex: 'a.com' };
    const checks = { checked_at: at + jumpMs, misses: 2, first_missed_at: at - dayMs, created_at: 1 };
    await test.store.db
      .insertInto('domains')
      .values({ ...domain, ...checks })
      .execute();
    await sweepAt(at + jumpMs);
    await sweepAt(at);
    const row = await test.store.db.selectFrom('domains').select(['misses', 'first_missed_at', 'checked_at']).executeTakeFirst();
    assert.deepEqual({ ...row }, { misses: 0, first_missed_at: null, checked_at: at });
    await test.close();
  });
});

onBothDatabases((name, skip, open) => {
  const at = 1_790_000_000_000;
  const region = { name: 'local', description: '', tls_termination: 0, https_port: 443, http_port: 80, created_at: at } as const;

  async function openWithPort(): Promise<Store> {
    const store = await open();
    const more = { data_plane_host: 'h', wildcard_ingress_domain: null, available: 1, tcp_ports: '20000' } as const;
    await store.db
      .insertInto('regions')
      .values({ ...region, ...more })
      .execute();
    const port = { region: 'local', port: 20_000, project_id: 'p', tunnel_id: null, tunnel_name: 't', held_until: at };
    await store.db.insertInto('tcp_ports').values(port).execute();
    return store;
  }
  const portOf = ({ db }: Store) => db.selectFrom('tcp_ports').select('held_until').executeTakeFirst();

  // SQLite has one writer at a time.
  if (name === 'Postgres') {
    it(`a sweep of ${name} keeps a port that gets a tunnel meanwhile`, {
      skip,
    }, async () => {
      const store = await openWithPort();
      const taken = Promise.withResolvers<void>();
      const end = Promise.withResolvers<void>();
      const take = store.write(async (trx) => {
        await trx
          .updateTable('tcp_ports')
          .set({ held_until: at + dayMs })
          .execute();
        taken.resolve();
        await end.promise;
      });
      await taken.promise;
      const sweep = deleteAllExpired(store, at);
      await eventually(async () => {
        const { rows } = await sql`select 1 from pg_locks where not granted`.execute(store.db);
        return rows.length > 0;
      });
      end.resolve();
      await Promise.all([take, sweep]);
      assert.deepEqual(await portOf(store), { held_until: at + dayMs });
      await store.close();
    });
  }

  it(`a sweep of ${name} lets a port rest whose tunnel another release deleted`, { skip }, async () => {
    const store = await openWithPort();
    await store.db.updateTable('tcp_ports').set({ held_until: null }).execute();
    await deleteAllExpired(store, at);
    assert.equal(Number((await portOf(store))?.held_until), at + 7 * dayMs);
    await deleteAllExpired(store, at + 7 * dayMs);
    assert.equal(await portOf(store), undefined);
    await store.close();
  });

  it(`a sweep of ${name} that would take most of a table says so and waits for a day, and deletes in steps`, {
    skip,
  }, async () => {
    const store = await open();
    const alarms: object[] = [];
    const log = pino({ level: 'error' }, { write: (line: string) => void alarms.push(JSON.parse(line).tables) });
    const row = { actor: 'a', action: 'b', target: '', address: '', detail: '{}', project_id: null, at };
    const rows = Array.from({ length: 1_200 }, (_, i) => ({ ...row, id: createId(at - (i < 700 ? 366 : 1) * dayMs) }));
    await store.db.insertInto('audit').values(rows).execute();
    const left = async () => (await store.db.selectFrom('audit').select('id').execute()).length;
    await sweepStore(store, at, log);
    assert.deepEqual([await left(), alarms], [1_200, [['audit']]]);
    for (let hour = 1; hour < 24; hour++) await sweepStore(store, at + hour * 3600_000, log);
    assert.equal(await left(), 1_200);
    await sweepStore(store, at + dayMs, log);
    assert.deepEqual([await left(), alarms.length], [500, 1]);
    await store.close();
  });
});

it('keeps sign-ins of visitors for 30 days, sign-outs as long as sessions, programs in use for 180 days, others for 7', async () => {
  const test = await createTestControl();
  const { db } = test.store;
  const ann = await test.signUp('ann@example.com');
  await ann.call('POST', `/api/access-policies?project=${ann.projectId}`, { name: 'staff' });
  const token = `/api/access-policies/staff/tokens?project=${ann.projectId}`;
  await ann.call('POST', token, { name: 'ends', expiresInDays: 1 });
  await ann.call('POST', token, { name: 'stays' });
  const { id: policy_id } = await db.selectFrom('access_policies').select('id').executeTakeFirstOrThrow();
  const at = test.time.now;
  const signIn = { id: 's', project_id: ann.projectId, policy: 'staff', host: 'h', who: '', method: 'email', reason: '' };
  await db
    .insertInto('access_sign_ins')
    .values({ ...signIn, allowed: 1, address: '', at })
    .execute();
  const signOuts = ['a@x.com', 'b@x.com'].map((subject, i) => ({ policy_id, subject, at: at + i * 10 * dayMs }));
  await db.insertInto('access_sign_outs').values(signOuts).execute();
  const flow = { id: 'f', policy_id, kind: 'code' as const, content_sealed: '', tries: 0, created_at: at };
  await db
    .insertInto('access_flows')
    .values({ ...flow, expires_at: at + 60_000 })
    .execute();
  const program = { id: 'used', content: '{}', created_at: at - 1, used_at: at };
  await db
    .insertInto('access_clients')
    .values([program, { ...program, id: 'unused', created_at: at }])
    .execute();
  const names = ['access_sign_ins', 'access_sign_outs', 'access_flows', 'access_clients', 'access_tokens'] as const;
  const kept = async (days: number): Promise<number[]> => {
    await deleteAllExpired(test.store, at + days * dayMs);
    return Promise.all(names.map(async (name) => (await db.selectFrom(name).selectAll().execute()).length));
  };
  assert.deepEqual(await kept(0), [1, 2, 1, 2, 2]);
  assert.deepEqual(await kept(6), [1, 2, 0, 2, 2]);
  assert.deepEqual(await kept(7), [1, 2, 0, 1, 2]);
  assert.deepEqual(await kept(29), [1, 2, 0, 1, 2]);
  assert.deepEqual(await kept(32), [0, 1, 0, 1, 1]);
  assert.deepEqual(await kept(179), [0, 0, 0, 1, 1]);
  assert.deepEqual(await kept(180), [0, 0, 0, 0, 1]);
  await test.close();
});
