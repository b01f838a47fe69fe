// The store changes while control reads all of it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refresh } from './refresh.ts';
import { certificateContext } from './region-content.ts';
import { Regions } from './regions.ts';
import { StateReader } from './state-reader.ts';
import { addProject, addRegion, addTunnel, openMemoryStore, testKeyRing } from './test-kit.ts';

const host = 'www.example.com';

const ignore = () => {};
const openRegions = (): Regions =>
  new Regions({
    ...{ now: Date.now, steady: Date.now, lateMs: 1_000, peersOf: () => [], keyOpens: async () => true },
    ...{ onHeld: ignore, onGone: ignore, onHeard: ignore, onReport: ignore, onRefused: ignore },
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
