import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addProject, addRegion, addTunnel, openMemoryStore } from '../feed/test-kit.ts';
import { readTunnelNames } from './certificate-rows.ts';

test('the names of many hosts are read in order, with turns for calls of the API between', async () => {
  const store = await openMemoryStore();
  await addRegion(store.db, 'eu');
  const seed = await addProject(store.db, 'p');
  const hosts = Array.from({ length: 1_001 }, (_, at) => `h${at}.example.com`);
  await addTunnel(store.db, { ...seed, region: 'eu', name: 'web', type: 'http', hosts });
  let turns = 0;
  const count = (): void => {
    turns++;
    if (!over) setImmediate(count);
  };
  let over = false;
  setImmediate(count);
  const names = await readTunnelNames(store.db);
  over = true;
  assert.deepEqual(
    names.map(({ name }) => name),
    hosts.toSorted(),
  );
  assert.ok(turns >= 2, `${turns} turns`);
  await store.close();
});
