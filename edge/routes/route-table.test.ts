// What a change of the feed does to the routes, and to everything else that the process does at the time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { tunnelOf } from '../fixture/rig.ts';
import { changesNothing, RouteTable } from './route-table.ts';

function stateOf(...ids: string[]) {
  return { tunnels: ids.map((id) => tunnelOf(id)), certificates: [], challenges: [], peers: [{ edgeId: 'e', address: 'a:1' }] };
}

function createTable(...ids: string[]): RouteTable {
  const table = new RouteTable(pino({ level: 'silent' }));
  table.applySnapshot({ type: 'snapshot', seq: 1, state: stateOf(...ids) });
  return table;
}

test('a snapshot that equals the state changes nothing', async () => {
  const table = createTable('a', 'b');
  const { version } = table;
  const change = await table.apply({ type: 'snapshot', seq: 2, state: stateOf('b', 'a') });
  assert.deepEqual([change, changesNothing(change)], [{ type: 'delta', seq: 2, put: {}, drop: {} }, true]);
  assert.equal(table.tunnelOf('a.tunnels.test')?.feed.id, 'a');
  assert.ok(table.version > version);
});

test('a snapshot changes only what differs from the state', async () => {
  const table = createTable('a', 'b');
  const [kept, changed] = [tunnelOf('a'), tunnelOf('c', { hosts: ['b.tunnels.test'] })];
  const state = { ...stateOf(), tunnels: [kept, changed], peers: [] };
  const change = await table.apply({ type: 'snapshot', seq: 2, state });
  const drop = { tunnels: ['b'], peers: ['e'] };
  assert.deepEqual([change, changesNothing(change)], [{ type: 'delta', seq: 2, put: { tunnels: [changed] }, drop }, false]);
  assert.equal(table.tunnelOf('b.tunnels.test')?.feed.id, 'c', 'the host has moved');
});

test('the first snapshot is passed on whole: workers without a state need it', async () => {
  const table = new RouteTable(pino({ level: 'silent' }));
  const snapshot = { type: 'snapshot', seq: 1, state: stateOf('a') } as const;
  assert.equal(await table.apply(snapshot), snapshot);
  assert.equal(table.loaded, true);
});

test('a large change lets the event loop turn, and every host has a tunnel throughout', async () => {
  const ids = Array.from({ length: 20_000 }, (_, at) => `t${at}`);
  const table = createTable(...ids);
  let turns = 0;
  const count = (): void => {
    turns++;
    assert.equal(table.tunnels.size >= ids.length && table.tunnelOf('t7.tunnels.test') !== null, true);
    if (!over) setImmediate(count);
  };
  let over = false;
  setImmediate(count);
  const moved = ids.map((id) => tunnelOf(`new-${id}`, { hosts: [`${id}.tunnels.test`] }));
  await table.apply({ type: 'snapshot', seq: 2, state: { ...stateOf(), tunnels: moved } });
  over = true;
  assert.ok(turns >= 5, `${turns} turns`);
  assert.equal(table.tunnelOf('t7.tunnels.test')?.feed.id, 'new-t7');
});
