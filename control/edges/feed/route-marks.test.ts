import assert from 'node:assert/strict';
import { test } from 'node:test';
import { saveMarks } from './route-marks.ts';
import { addProject, addRegion, addTunnel, openMemoryStore } from './test-kit.ts';

test('saving the marks of many tunnels leaves turns for calls of the API', async () => {
  const store = await openMemoryStore();
  await addRegion(store.db, 'eu');
  const { projectId, groupId } = await addProject(store.db, 'p');
  const tunnelId = await addTunnel(store.db, { projectId, groupId, region: 'eu', name: 'web', hosts: [] });
  let turns = 0;
  const count = (): void => {
    turns++;
    if (!over) setImmediate(count);
  };
  let over = false;
  setImmediate(count);
  await saveMarks(
    store,
    Array.from({ length: 500 }, (_, at) => ({ tunnelId, hosts: `h${at}` })),
  );
  over = true;
  assert.ok(turns >= 9, `${turns} turns`);
  const rows = await store.db.selectFrom('tunnel_routes').select('hosts').execute();
  assert.deepEqual(
    rows.map(({ hosts }) => hosts),
    ['h499'],
  );
  await store.close();
});
