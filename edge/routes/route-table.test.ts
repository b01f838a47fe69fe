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

test('a wildcard gets the names with one label more that no tunnel has, and a visitor stays while it covers the name', () => {
  const table = new RouteTable(pino({ level: 'silent' }));
  const wild = tunnelOf('wild', { type: 'ingress', hosts: ['*.apps.test'] });
  const exact = tunnelOf('exact', { hosts: ['a.apps.test'] });
  const deep = tunnelOf('deep', { type: 'ingress', hosts: ['*.b.apps.test'] });
  table.applySnapshot({ type: 'snapshot', seq: 1, state: { ...stateOf(), tunnels: [wild, exact, deep] } });
  const served = (host: string) => table.tunnelOf(host)?.feed.id;
  const rows: [host: string, id: string | undefined, why?: string][] = [
    ['a.apps.test', 'exact', 'the exact name comes first'],
    ['c.apps.test', 'wild'],
    ['b.apps.test', 'wild'],
    ['c.b.apps.test', 'deep'],
    ['c.d.apps.test', undefined, 'two labels'],
    ['apps.test', undefined],
    ['.apps.test', undefined, 'an empty label'],
    ['a_b!.apps.test', undefined, 'no host name'],
    ['test', undefined],
  ];
  for (const [host, id, why] of rows) assert.equal(served(host), id, why ?? host);
  const cut: string[] = [];
  const visitor = (host: string) => ({
    ...{ host, address: '192.0.2.1', cut: () => cut.push(host), endOtherHosts: () => {}, endUnadmitted: () => {} },
  });
  const tunnel = table.tunnels.get('wild')!;
  for (const host of ['c.apps.test', 'd.apps.test']) tunnel.visitors.add(visitor(host) as never);
  tunnel.update({ ...wild, hosts: ['*.apps.test', 'e.test'] }, 0);
  assert.deepEqual(cut, []);
  tunnel.update({ ...wild, hosts: ['d.apps.test'] }, 0);
  assert.deepEqual(cut, ['c.apps.test']);
});

test('a tunnel that gets a name under the wildcard of another one gets its visitors: those of the wildcard are cut', async () => {
  const table = new RouteTable(pino({ level: 'silent' }));
  const wild = tunnelOf('wild', { hosts: ['*.apps.test'] });
  table.applySnapshot({ type: 'snapshot', seq: 1, state: { ...stateOf('other'), tunnels: [wild, tunnelOf('other')] } });
  const ended: string[] = [];
  const visitor = (host: string) => ({
    ...{ host, address: '192.0.2.1', cut: () => ended.push(host), endUnadmitted: () => {} },
    endOtherHosts: (stays: (each: string) => boolean) => {
      for (const each of ['admin.apps.test', 'c.apps.test']) if (!stays(each)) ended.push(`${each} by way of ${host}`);
    },
  });
  for (const host of ['admin.apps.test', 'c.apps.test']) table.tunnels.get('wild')!.visitors.add(visitor(host) as never);
  const put = (id: string, hosts: string[]) =>
    table.apply({ type: 'delta', seq: 2, put: { tunnels: [tunnelOf(id, { hosts })] }, drop: {} });
  await put('other', ['admin.apps.test']);
  assert.deepEqual(ended, ['admin.apps.test', 'admin.apps.test by way of c.apps.test']);
  ended.length = 0;
  await put('other', ['admin.apps.test', 'x.b.apps.test']);
  assert.deepEqual(ended, [], 'once');
  await put('new', ['c.apps.test']);
  assert.deepEqual(ended, ['c.apps.test by way of admin.apps.test', 'c.apps.test']);
});
