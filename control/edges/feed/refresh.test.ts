// The store changes while control reads all of it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FeedCertificate } from '@underpass/wire/feed/feed.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import { Refresh } from './refresh.ts';
import { certificateContext } from './region-content.ts';
import { Regions } from './regions.ts';
import { StateReader } from './state-reader.ts';
import { addProject, addRegion, addTunnel, openMemoryStore, testKeyRing } from './test-kit.ts';

const host = 'www.example.com';

function ignore() {}
const openRegions = (): Regions =>
  new Regions({
    ...{ now: Date.now, steady: Date.now, lateMs: 1_000, peersOf: () => [], keyOpens: async () => true },
    ...{ onHeld: ignore, onGone: ignore, onHeard: ignore, onReport: ignore, onVisitorLog: ignore, onRefused: ignore },
  });

test('after the first, a reading of everything rests as long as it works', async (t) => {
  const store = await openMemoryStore();
  t.after(() => store.close());
  await addRegion(store.db, 'eu');
  const ids = await addProject(store.db, 'ann');
  for (let at = 0; at < 401; at++)
    await addTunnel(store.db, { ...ids, region: 'eu', name: `web-${at}`, type: 'http', hosts: [] });
  const rests: number[] = [];
  const reader = new StateReader({
    ...{ store, keyRing: testKeyRing(), clock: Date.now, origin: '', givenCertificates: () => [], onLive: ignore },
    ...{ regions: openRegions(), rest: async (ms) => rests.push(ms) },
  });
  const read = async (): Promise<number> => {
    rests.length = 0;
    const beganMs = performance.now();
    await reader.everything(async () => {});
    return performance.now() - beganMs;
  };
  await read();
  assert.deepEqual(rests, [0, 0, 0, 0]);
  const workedMs = await read();
  const restedMs = rests.reduce((sum, ms) => sum + ms, 0);
  assert.ok(restedMs > workedMs / 2 && restedMs <= workedMs, `${restedMs} ms of rest for ${workedMs} ms of work`);
});

test('a host that a tunnel gets during a full reading keeps its certificate', async (t) => {
  const store = await openMemoryStore();
  t.after(() => store.close());
  const keyRing = testKeyRing();
  await addRegion(store.db, 'eu');
  const id = await addTunnel(store.db, {
    ...(await addProject(store.db, 'ann')),
    region: 'eu',
    name: 'web',
    type: 'http',
    hosts: [],
  });
  const sealed = { chain_pem: 'chain', key_sealed: keyRing.seal('key', certificateContext('c1')), issuer: 'test' };
  const times = { starts_at: 1, expires_at: Date.now() + 1e9, created_at: 1 };
  const row = { id: 'c1', name: host, hosts: JSON.stringify([host]), ...sealed, ...times };
  await store.db.insertInto('certificates').values(row).execute();

  const regions = openRegions();
  const feed = regions.open('eu');
  const publish = feed.publish.bind(feed);
  const changes: Promise<unknown>[] = [];
  const addHost = (): void => {
    const given = { tunnel_id: id, project_id: 'ann', host, apex_name: 'example.com', live_host: host, position: 0 };
    changes.push(store.db.insertInto('tunnel_hosts').values(given).execute());
    refresh.tunnels([id]);
  };
  feed.publish = (message) => {
    if (changes.length === 0 && message?.type === 'delta' && message.put.tunnels !== undefined) addHost();
    publish(message);
  };
  const reading = { store, keyRing, clock: Date.now, origin: 'https://console.example.com' };
  const refresh = new Refresh({
    reader: new StateReader({ ...reading, givenCertificates: () => [], regions, onLive: ignore }),
    onWhole: ignore,
    onError: (error) => assert.fail(String(error)),
  });
  refresh.everything();
  await refresh.idle();
  await Promise.all(changes);
  assert.equal(changes.length, 1);
  assert.deepEqual([...feed.state.ids('certificates')], ['c1']);
});

test('a reading of everything opens only the keys that the region lacks, and drops what is gone, expired or not needed', async (t) => {
  const store = await openMemoryStore();
  t.after(() => store.close());
  const real = testKeyRing();
  let opened = 0;
  const open: KeyRing['open'] = (...args) => {
    opened++;
    return real.open(...args);
  };
  const keyRing: KeyRing = { ...real, open };
  await addRegion(store.db, 'eu');
  const hosts = Array.from({ length: 401 }, (_, at) => `h${at}.example.com`);
  const ids = await addProject(store.db, 'ann');
  const tunnel = await addTunnel(store.db, { ...ids, region: 'eu', name: 'web', type: 'http', hosts });
  let nowMs = 1_000;
  const addCertificate = (id: string, name: string, expiresAt = 1e12): Promise<unknown> => {
    const sealed = { chain_pem: 'chain', key_sealed: real.seal(`key of ${id}`, certificateContext(id)), issuer: 'test' };
    const row = { id, name, hosts: JSON.stringify([name]), ...sealed, starts_at: 1, expires_at: expiresAt, created_at: 1 };
    return store.db.insertInto('certificates').values(row).execute();
  };
  for (const [at, host] of hosts.entries()) await addCertificate(`c${at}`, host, at === 0 ? 2_000 : undefined);
  await addCertificate('other', 'elsewhere.example.com');
  const given = { id: 'file-1', hosts: ['given.example.com'], certificatePem: '', privateKeyPem: '', notAfterMs: 1 };
  const regions = openRegions();
  let gives: readonly FeedCertificate[] = [given];
  const reader = new StateReader({
    ...{ store, keyRing, clock: () => nowMs, origin: '', givenCertificates: () => gives, onLive: ignore, regions },
    rest: async () => {},
  });
  const read = async (between: () => Promise<void> = async () => {}): Promise<number> => {
    opened = 0;
    await reader.everything(between);
    return opened;
  };
  const held = (): ReadonlySet<string> => new Set(regions.open('eu').state.ids('certificates'));
  const all = new Set([...hosts.keys()].map((at) => `c${at}`));
  assert.equal(await read(), 401);
  assert.deepEqual(held(), new Set(['file-1', ...all]));
  const { seq } = regions.open('eu').state;
  assert.deepEqual([await read(), regions.open('eu').state.seq], [0, seq], 'nothing is opened or sent again');
  // c0 expires, c1 is renewed, c2 is gone, and the host of c3 has left the tunnel.
  nowMs = 3_000;
  gives = [];
  await store.db.deleteFrom('certificates').where('id', 'in', ['c1', 'c2']).execute();
  await addCertificate('renewed', hosts[1]!);
  await store.db.deleteFrom('tunnel_hosts').where('host', '=', hosts[3]!).execute();
  assert.equal(await read(), 1);
  const left = all.difference(new Set(['c0', 'c1', 'c2', 'c3']));
  assert.deepEqual(held(), new Set([...left, 'renewed']));
  // A renewal during a reading, with an id that belongs on a page which was read already.
  const during = async (): Promise<void> => {
    await store.db.deleteFrom('certificates').where('id', '=', 'c4').execute();
    await addCertificate('b', hosts[4]!);
    await reader.certificates([hosts[4]!]);
  };
  let pages = 0;
  await read(async () => (++pages === 4 ? during() : undefined));
  assert.ok(held().has('b'));
  await read();
  assert.deepEqual(held(), new Set([...left.difference(new Set(['c4'])), 'b', 'renewed']));
  await store.db.deleteFrom('tunnels').where('id', '=', tunnel).execute();
  await read();
  assert.deepEqual(held(), new Set());
});
