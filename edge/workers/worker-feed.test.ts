import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { describe, it } from 'node:test';
import type { FromEdge, ToEdge } from '@underpass/wire/feed/feed.ts';
import { createEdgeFeed, type FeedStream } from '@underpass/wire/feed/feed-stream.ts';
import { pino } from 'pino';
import { feedSilentMs } from '../feed/feed-link.ts';
import { tunnelOf } from '../fixture/rig.ts';
import { RouteTable } from '../routes/route-table.ts';
import { WorkerFeed } from './worker-feed.ts';

const state = { tunnels: [tunnelOf('t')], certificates: [], challenges: [], peers: [] };
const report = { tunnelId: 't', rxBytes: 10, txBytes: 20, connections: 1, requests: 2, clients: [] };
/** Messages within one process take a turn or two. */
const heard = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

interface Joined {
  readonly table: RouteTable;
  readonly feed: WorkerFeed;
  readonly worker: FeedStream<FromEdge, ToEdge>;
  readonly said: string[];
}

function join(): Joined {
  const table = new RouteTable(pino({ level: 'silent' }));
  table.applySnapshot({ type: 'snapshot', seq: 1, state });
  const feed = new WorkerFeed(table, () => {});
  const [near, far] = duplexPair();
  feed.accept(near);
  const worker = createEdgeFeed(far);
  const said: string[] = [];
  worker.onMessage = ({ type }) => void said.push(type);
  worker.send({ type: 'hello', version: 1, edgeId: 'w', region: 'test', software: '', startedAtMs: 0 });
  return { table, feed, worker, said };
}

it('the last report of a worker counts once, even if it arrives after the worker ended', async () => {
  const { feed, worker } = join();
  worker.send({ type: 'report', atMs: 0, tunnels: [report] });
  await heard();
  feed.retire('w');
  worker.send({ type: 'report', atMs: 0, tunnels: [{ ...report, requests: 3 }] });
  worker.end();
  await heard();
  assert.deepEqual([...feed.reports()], [{ ...report, requests: 3 }]);
  feed.close();
});

it('tells which tunnels have other clients than before, and reports these alone if asked for them', async () => {
  const table = new RouteTable(pino({ level: 'silent' }));
  table.applySnapshot({ type: 'snapshot', seq: 1, state: { ...state, tunnels: [tunnelOf('t'), tunnelOf('u')] } });
  const told: string[][] = [];
  const feed = new WorkerFeed(table, (tunnelIds) => void told.push([...tunnelIds]));
  const [near, far] = duplexPair();
  feed.accept(near);
  const worker = createEdgeFeed(far);
  const client = { id: 'c', address: '', version: '', sinceMs: 0, rttMs: 1, provenAtMs: 0, healthy: true };
  const both = [report, { ...report, tunnelId: 'u', clients: [client] }];
  worker.send({ type: 'hello', version: 1, edgeId: 'w', region: 'test', software: '', startedAtMs: 0 });
  worker.send({ type: 'report', atMs: 0, tunnels: both });
  worker.send({ type: 'report', atMs: 0, tunnels: both });
  worker.send({ type: 'report', atMs: 0, tunnels: [{ ...report, clients: [client] }], partial: true });
  await heard();
  assert.deepEqual(told, [['u'], ['t']]);
  assert.deepEqual([...feed.reports('u')], [both[1]]);
  assert.equal([...feed.reports()].length, 2);
  feed.retire('w');
  worker.end();
  await heard();
  assert.deepEqual(told.at(-1), ['t', 'u']);
  feed.close();
});

describe('a tunnel that is gone', () => {
  const dropped = { type: 'delta', seq: 2, put: {}, drop: { tunnels: ['t'] } } as const;
  /** The tunnel returns, for example from another region: each worker counts it from zero. */
  const back = { type: 'delta', seq: 3, put: state, drop: {} } as const;

  it('leaves no counters, and late reports of workers about it are dropped', async () => {
    const { table, feed, worker } = join();
    worker.send({ type: 'report', atMs: 0, tunnels: [report] });
    await heard();
    await table.apply(dropped);
    void feed.broadcast(dropped);
    worker.send({ type: 'report', atMs: 0, tunnels: [report] });
    await heard();
    await table.apply(back);
    assert.deepEqual([...feed.reports()], []);
    feed.close();
  });

  it('leaves no counters of workers that have ended, even if a snapshot removes the tunnel', async () => {
    const { table, feed, worker } = join();
    worker.send({ type: 'report', atMs: 0, tunnels: [report] });
    worker.end();
    await heard();
    feed.retire('w');
    const without = { type: 'snapshot', seq: 2, state: { ...state, tunnels: [] } } as const;
    table.applySnapshot(without);
    void feed.broadcast(without);
    await table.apply(back);
    assert.deepEqual([...feed.reports()], []);
    feed.close();
  });
});

it('a worker gets a large state in pieces, when it joins and when control sends it', async () => {
  const { table, feed, worker } = join();
  await heard();
  const tunnels = Array.from({ length: 2_500 }, (_, at) => tunnelOf(`t${at}`));
  const snapshot = { type: 'snapshot', seq: 2, state: { ...state, tunnels } } as const;
  table.applySnapshot(snapshot);
  const pieces: { readonly count: number | undefined; readonly more: boolean | undefined }[] = [];
  worker.onMessage = (message) => {
    if (message.type === 'snapshot') pieces.push({ count: message.state.tunnels.length, more: message.more });
    if (message.type === 'delta') pieces.push({ count: message.put.tunnels?.length, more: message.more });
  };
  const whole = [
    { count: 1_000, more: true },
    { count: 1_000, more: true },
    { count: 500, more: undefined },
  ];
  void feed.broadcast(snapshot);
  while (pieces.length < 3) await heard();
  assert.deepEqual(pieces.splice(0), whole);
  const [near, far] = duplexPair();
  feed.accept(near);
  const next = createEdgeFeed(far);
  next.onMessage = worker.onMessage;
  next.send({ type: 'hello', version: 1, edgeId: 'x', region: 'test', software: '', startedAtMs: 0 });
  while (pieces.length < 3) await heard();
  assert.deepEqual(pieces, whole);
  feed.close();
});

it('a worker gets pings from its primary while nothing changes', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { feed, said } = join();
  await heard();
  said.length = 0;
  t.mock.timers.tick(feedSilentMs - 1);
  await heard();
  assert.deepEqual([...new Set(said)], ['ping']);
  feed.close();
});
