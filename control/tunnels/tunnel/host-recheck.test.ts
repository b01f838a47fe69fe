import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { dayMs, hourMs } from '@underpass/rules/limits.ts';
import type { DnsAnswer } from '../../edges/dns/resolver.ts';
import { addProject, addRegion, addTunnel, openMemoryStore, silentLog } from '../../edges/feed/test-kit.ts';
import { createWithLease } from '../../platform/store/lease.ts';
import type { Store } from '../../platform/store/store.ts';
import { createHostRecheck, noteMended } from './host-recheck.ts';

const start = 1_790_000_000_000;

describe('the check of hosts by the clock', () => {
  let store: Store;
  let now: number;
  let answers: Record<string, DnsAnswer>;
  let asked: string[];
  let ids: { projectId: string; groupId: string };

  beforeEach(async () => {
    store = await openMemoryStore();
    [now, asked] = [start, []];
    answers = { 'eu.localhost': ['192.0.2.1', '2001:db8::1'], 'a.example.com': ['192.0.2.1'] };
    await addRegion(store.db, 'eu');
    ids = await addProject(store.db, 'ann');
    await add('shop', ['a.example.com'], { seen_at: start });
  });
  afterEach(() => store.close());

  async function add(name: string, hosts: readonly string[], client?: { seen_at: number; left_at?: number }): Promise<void> {
    const id = await addTunnel(store.db, { ...ids, region: 'eu', name, type: 'http', hosts });
    await store.db.updateTable('tunnel_hosts').set({ apex_name: 'example.com' }).where('tunnel_id', '=', id).execute();
    const none = { address: '', left_at: null, on_purpose: 0, error_code: '', error_address: '', error_at: 0 } as const;
    if (client)
      await store.db
        .insertInto('last_clients')
        .values({ tunnel_id: id, ...none, ...client })
        .execute();
  }

  const run = () =>
    createHostRecheck({
      store,
      clock: () => now,
      log: silentLog,
      withLease: createWithLease(store, () => now),
      dns: {
        hosts: {
          ask: async (host) => {
            asked.push(host);
            return answers[host] ?? [];
          },
        },
      },
    })();
  const pass = async (ms: number) => {
    now += ms;
    await run();
  };
  const missingSince = async (host = 'a.example.com') =>
    (await store.db.selectFrom('tunnel_hosts').select('dns_missing_since').where('host', '=', host).executeTakeFirst())
      ?.dns_missing_since;

  test('remembers since when a host leads elsewhere, looks sooner then, and forgets it once it leads here', async () => {
    await run();
    assert.equal(await missingSince(), null);
    answers['a.example.com'] = ['198.51.100.7'];
    await pass(hourMs);
    assert.equal(await missingSince(), null, 'not due');
    await pass(12 * hourMs);
    const since = now;
    assert.equal(await missingSince(), since);
    answers['a.example.com'] = [];
    await pass(hourMs);
    assert.equal(await missingSince(), since, 'no address is no better');
    answers['a.example.com'] = 'unknown';
    await pass(hourMs);
    assert.equal(await missingSince(), since, 'a silent name server says nothing');
    answers['a.example.com'] = ['2001:0db8::0001'];
    await pass(hourMs);
    assert.equal(await missingSince(), null);
  });

  test('a look by a person at the mended host ends it too', async () => {
    answers['a.example.com'] = [];
    await run();
    await noteMended(store.db, []);
    assert.equal(await missingSince(), now);
    await noteMended(store.db, ['a.example.com']);
    assert.equal(await missingSince(), null);
  });

  test('says nothing of hosts whose region has no known address', async () => {
    answers = { 'eu.localhost': 'unknown' };
    await run();
    assert.deepEqual([asked, await missingSince()], [['eu.localhost'], null]);
  });

  test('leaves tunnels alone that no client has used, or none for a month', async () => {
    await add('new', ['new.example.com']);
    await add('blank', ['blank.example.com'], { seen_at: 0 });
    await add('left', ['left.example.com'], { seen_at: 1, left_at: start - 31 * dayMs });
    await add('lately', ['lately.example.com'], { seen_at: 1, left_at: start - dayMs });
    await run();
    assert.deepEqual(asked.toSorted(), ['a.example.com', 'eu.localhost', 'lately.example.com']);
  });

  test('checks at most 100 hosts in a pass, those that waited longest first, once among two processes', async () => {
    const hosts = Array.from({ length: 120 }, (_, index) => `h${index}.example.com`);
    await add('many', hosts, { seen_at: start });
    assert.deepEqual((await Promise.all([run(), run()])).toSorted(), [0, 100]);
    assert.equal(asked.length, 101);
    assert.equal(await run(), 21);
    assert.equal(new Set(asked).size, 122);
    assert.equal(await run(), 0);
  });
});
