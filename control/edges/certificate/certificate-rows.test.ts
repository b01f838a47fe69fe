import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { Store } from '../../platform/store/store.ts';
import { addProject, addRegion, addTunnel, openMemoryStore } from '../feed/test-kit.ts';
import { readAllHeld, readEnds, readTunnelNames } from './certificate-rows.ts';

const hosts = Array.from({ length: 1_001 }, (_, at) => `h${at}.example.com`);

let store: Store;
beforeEach(async () => {
  store = await openMemoryStore();
});
afterEach(() => store.close());

/** Fails if calls of the API get fewer than two turns of the event loop during the work. */
async function inTurns<T>(work: () => Promise<T>): Promise<T> {
  let turns = 0;
  let over = false;
  const count = (): void => {
    turns++;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  const result = await work();
  over = true;
  assert.ok(turns >= 2, `${turns} turns`);
  return result;
}

test('the names of many hosts are read in order, with turns for calls of the API between', async () => {
  await addRegion(store.db, 'eu');
  const seed = await addProject(store.db, 'p');
  await addTunnel(store.db, { ...seed, region: 'eu', name: 'web', type: 'http', hosts });
  const names = await inTurns(() => readTunnelNames(store.db, 0));
  assert.deepEqual(
    names.map(({ name }) => name),
    hosts.toSorted(),
  );
});

test('many certificates are all read, with turns for calls of the API between', async () => {
  const sealed = { chain_pem: 'chain', key_sealed: 'key', issuer: 'test', created_at: 1 };
  for (const [at, name] of hosts.entries()) {
    const row = { id: `c${at}`, name, hosts: JSON.stringify([name]), ...sealed, starts_at: at, expires_at: at + 1 };
    await store.db.insertInto('certificates').values(row).execute();
  }
  const held = await inTurns(() => readAllHeld(store.db));
  assert.equal(held.size, hosts.length);
  assert.deepEqual(held.get('h777.example.com'), { name: 'h777.example.com', issuer: 'test', startsAt: 777, expiresAt: 778 });
  const endOf = await inTurns(() => readEnds(store.db, []));
  assert.deepEqual(
    hosts.map(endOf),
    hosts.map((_, at) => at + 1),
  );
});
