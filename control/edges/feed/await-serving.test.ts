import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { createFakeFeed } from '../../test-kit.ts';
import { awaitServing } from './await-serving.ts';
import { addProject, addRegion, addTunnel, openMemoryStore } from './test-kit.ts';

/** A tunnel with one host at an edge that does not serve it yet, and who waited for it. */
async function open(type: 'http' | 'ingress', { pin, until }: { readonly pin?: string; readonly until?: number }) {
  const store = await openMemoryStore();
  await addRegion(store.db, 'eu');
  const id = await addTunnel(store.db, {
    ...(await addProject(store.db, 'p')),
    ...{ region: 'eu', name: 'web', hosts: ['www.example.com'], type },
  });
  const feed = createFakeFeed();
  (feed.knownEdges as object[]).push({ connected: true });
  const certificates = {
    clientPin: () => pin,
    ofNames: async (names: readonly string[]) => new Map(names.map((name) => [name, { until, lastOrderFailed: false }])),
  };
  return { store, feed, id, wait: () => awaitServing({ store, feed, certificates }, [id]) };
}

for (const [name, type, kept] of [
  ['has its certificate', 'http', { until: Number.MAX_SAFE_INTEGER }],
  ['gets one from the local authority', 'http', { pin: 'ab' }],
  ['needs none', 'ingress', {}],
] as const) {
  test(`waits until the edges serve a tunnel that ${name}`, async () => {
    const { store, feed, id, wait } = await open(type, kept);
    let isOver = false;
    const waited = wait().then(() => {
      isOver = true;
    });
    await store.db.selectFrom('tunnels').select('id').execute();
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    assert.equal(isOver, false);
    feed.serving.add(id);
    feed.move([id]);
    await waited;
    await store.close();
  });
}

test('does not wait for a tunnel whose certificate an outside authority has to make', async () => {
  const { store, wait } = await open('http', {});
  mock.timers.enable({ apis: ['setTimeout'] });
  await wait();
  mock.timers.reset();
  await store.close();
});
