// Sweeping deletes ended rows and no others.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createTestControl } from '../test-kit.ts';
import { createId } from './id.ts';
import { sweepStore } from './sweep.ts';

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
  await sweepStore(test.store, test.time.now);
  assert.deepEqual(await counts(), before, 'nothing has ended yet');
  await sweepStore(test.store, test.time.now + 2 * dayMs);
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
  await sweepStore(test.store, test.time.now + 100 * dayMs);
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
    await sweepStore(test.store, at + days * dayMs);
    const audit = await db.selectFrom('audit').select('id').where('id', '=', event.id).execute();
    const registrations = await db.selectFrom('registrations').select('state').execute();
    const reports = await db.selectFrom('abuse_reports').select('state').execute();
    return [audit.length, registrations.map((row) => row.state), reports.map((row) => row.state).sort()];
  };
  await sweepStore(test.store, at + 365 * dayMs - 1);
  assert.deepEqual(await kept(364), [1, ['approved', 'rejected'], ['closed', 'open']]);
  assert.deepEqual(await kept(365), [0, ['approved'], ['closed', 'open']]);
  assert.deepEqual(await kept(730), [0, ['approved'], ['open']]);
  await test.close();
});
