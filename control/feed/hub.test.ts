import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { limits } from '@underpass/rules/limits.ts';
import type { FeedCertificate, FeedClient, FeedTunnelReport } from '@underpass/wire/feed.ts';
import { maxFeedMessageBytes } from '@underpass/wire/feed-stream.ts';
import type { Bus } from '../bus/bus.ts';
import { createId } from '../store/id.ts';
import type { Store } from '../store/store.ts';
import { FeedHub, type FeedHubDeps } from './hub.ts';
import { certificateContext, idsAtOnce } from './region-content.ts';
import {
  addProject,
  addRegion,
  addTunnel,
  connectEdge,
  createTestBus,
  openMemoryStore,
  silentLog,
  type TestEdge,
  testKeyRing,
} from './test-kit.ts';

const keyRing = testKeyRing();
const opened: { hubs: FeedHub[]; edges: TestEdge[]; stores: Store[] } = { hubs: [], edges: [], stores: [] };

/** For the host of the region: without it no client can dial, and nothing serves. */
const dialled: FeedCertificate = {
  id: 'eu',
  hosts: ['eu.localhost'],
  certificatePem: '',
  privateKeyPem: '',
  notAfterMs: Number.MAX_SAFE_INTEGER,
};

async function openHub(store: Store, bus: Bus, over: Partial<FeedHubDeps> = {}): Promise<FeedHub> {
  const givenCertificates = () => [dialled];
  const base = { store, bus, keyRing, clock: Date.now, log: silentLog, givenCertificates, keyOpens: async () => true };
  const hub = new FeedHub({ ...base, ...over });
  opened.hubs.push(hub);
  await hub.start();
  return hub;
}

function connect(hub: FeedHub, keyHash?: string): TestEdge {
  const edge = connectEdge((duplex) => hub.accept(duplex, { region: 'eu', ...(keyHash === undefined ? {} : { keyHash }) }));
  opened.edges.push(edge);
  return edge;
}

const client = (over: Partial<FeedClient> = {}): FeedClient => ({
  id: 'c1',
  address: '203.0.113.9',
  version: '0.1.0',
  sinceMs: 1,
  rttMs: 2,
  provenAtMs: Date.now(),
  healthy: true,
  ...over,
});

const counters = (
  tunnelId: string,
  rxBytes: number,
  txBytes: number,
  over: Partial<FeedTunnelReport> = {},
): FeedTunnelReport => ({
  tunnelId,
  rxBytes,
  txBytes,
  connections: 1,
  requests: 1,
  clients: [],
  ...over,
});

const moved = (hub: FeedHub, tunnelId: string): Promise<void> =>
  new Promise((resolve) => {
    const stop = hub.onMoved((ids) => {
      if (!ids.includes(tunnelId)) return;
      stop();
      resolve();
    });
  });

let store: Store;
let bus: Bus;
let hub: FeedHub;
let ids: { projectId: string; userId: string; groupId: string };

beforeEach(async () => {
  store = await openMemoryStore();
  opened.stores.push(store);
  bus = createTestBus();
  await addRegion(store.db, 'eu');
  ids = await addProject(store.db, 'ann');
  hub = await openHub(store, bus);
});
after(async () => {
  for (const edge of opened.edges) edge.close();
  for (const each of opened.hubs) await each.close();
  for (const each of opened.stores) await each.close();
});

const makeTunnel = (name: string, hosts: readonly string[], type: 'http' | 'ingress' = 'ingress') =>
  addTunnel(store.db, { ...ids, region: 'eu', name, hosts, type });

describe('from the store to the edges', () => {
  test('a new edge gets a snapshot of its region', async () => {
    const id = await makeTunnel('web', ['a.example.com']);
    hub.tunnelsChanged([id]);
    const edge = connect(hub);
    edge.hello('eu');
    await edge.until((each) => each.state.tunnels.length === 1);
    assert.deepEqual(edge.state.tunnels[0]?.hosts, ['a.example.com']);
    assert.deepEqual(edge.state.tunnels[0]?.allowList, ['0.0.0.0/0', '::/0']);
  });

  test('an edge that comes before the store is read is not told that there is nothing', async () => {
    await makeTunnel('web', ['a.example.com']);
    const started = openHub(store, createTestBus());
    const early = connect(opened.hubs.at(-1) as FeedHub);
    early.hello('eu');
    await early.until((each) => each.closed || each.seq !== undefined);
    const edge = connect(await started);
    assert.deepEqual(early.messages('snapshot'), []);
    edge.hello('eu');
    await edge.until((each) => each.seq !== undefined);
    assert.equal(edge.state.tunnels.length, 1);
  });

  test('a change is at the edge before everything is read anew, as one numbered delta', async () => {
    const edge = connect(hub);
    edge.hello('eu');
    await edge.until((each) => each.seq !== undefined);
    const before = edge.seq ?? 0;
    const id = await makeTunnel('web', ['a.example.com']);
    const start = performance.now();
    hub.tunnelsChanged([id]);
    await edge.until((each) => each.state.tunnels.length === 1);
    assert.ok(performance.now() - start < 15_000, 'reconciling is due after 20 s');
    assert.equal(edge.seq, before + 1);
  });

  test('deletion, suspension, a new allow-list and a rotated token arrive as well', async () => {
    const edge = connect(hub);
    edge.hello('eu');
    const id = await makeTunnel('web', ['a.example.com']);
    hub.tunnelsChanged([id]);
    await edge.until((each) => each.state.tunnels.length === 1);
    await store.db.updateTable('security_groups').set({ allow_list: '["10.0.0.0/8"]' }).execute();
    hub.tunnelsChanged([id]);
    await edge.until((each) => each.state.tunnels[0]?.allowList.length === 1);
    await store.db.updateTable('tunnels').set({ suspended_at: 5 }).execute();
    hub.tunnelsChanged([id]);
    await edge.until((each) => each.state.tunnels[0]?.suspended === true);
    await store.db
      .updateTable('tunnel_tokens')
      .set({ expires_at: Date.now() + 60_000 })
      .execute();
    hub.tunnelsChanged([id]);
    await edge.until((each) => each.state.tunnels[0]?.tokens[0]?.expiresAtMs != null);
    await store.db.deleteFrom('tunnels').execute();
    hub.tunnelsChanged([id]);
    await edge.until((each) => each.state.tunnels.length === 0);
  });

  test('a change of many tunnels, such as a suspension, comes in messages that are not too long, whatever their lists are', async () => {
    const edge = connect(hub);
    edge.hello('eu');
    await edge.until((each) => each.seq !== undefined);
    const made: string[] = [];
    while (made.length <= 2 * idsAtOnce) made.push(await makeTunnel(`web-${made.length}`, []));
    hub.tunnelsChanged(made);
    await edge.until((each) => each.state.tunnels.length === made.length);
    const together = edge.messages('delta').map(({ put }) => put.tunnels?.length ?? 0);
    const [longestRule, longestHost] = [46, 256];
    const longest = limits.rulesPerGroup * longestRule + limits.ingressDomainsPerTunnel * longestHost;
    assert.ok(Math.max(...together) * longest < maxFeedMessageBytes, `${Math.max(...together)} tunnels in one message`);
  });

  test('a project without an owner who may sign in is suspended at the edge', async () => {
    const id = await makeTunnel('web', ['a.example.com']);
    const edge = connect(hub);
    edge.hello('eu');
    await store.db.updateTable('users').set({ suspended_at: 5 }).execute();
    hub.tunnelsChanged([id]);
    await edge.until((each) => each.state.tunnels[0]?.suspended === true);
  });

  test('an unreadable allow-list denies everybody', async () => {
    const id = await makeTunnel('web', ['a.example.com']);
    await store.db.updateTable('security_groups').set({ allow_list: '{broken' }).execute();
    const edge = connect(hub);
    edge.hello('eu');
    hub.tunnelsChanged([id]);
    await edge.until((each) => each.state.tunnels.length === 1);
    assert.deepEqual(edge.state.tunnels[0]?.allowList, []);
  });

  test('only verified hosts go out, and only to their own region', async () => {
    await addRegion(store.db, 'us');
    const id = await makeTunnel('web', ['a.example.com', 'b.example.com']);
    await store.db.updateTable('tunnel_hosts').set({ live_host: null }).where('host', '=', 'b.example.com').execute();
    await addTunnel(store.db, { ...ids, region: 'us', name: 'other', hosts: ['c.example.com'] });
    hub.regionChanged('us');
    hub.tunnelsChanged([id]);
    const edge = connect(hub);
    edge.hello('eu');
    await edge.until((each) => each.state.tunnels.length === 1);
    assert.deepEqual(
      edge.state.tunnels.map((tunnel) => tunnel.hosts),
      [['a.example.com']],
    );
  });

  test('what the bus lost is found by reconciling', async () => {
    const watchful = await openHub(store, bus, { timing: { reconcileMs: 20 } });
    const edge = connect(watchful);
    edge.hello('eu');
    await makeTunnel('web', ['a.example.com']);
    await edge.until((each) => each.state.tunnels.length === 1);
  });

  test('an edge that comes back gets the deltas that it missed, or a snapshot when it holds another epoch', async () => {
    const first = connect(hub);
    first.hello('eu');
    await first.until((each) => each.seq !== undefined);
    const { epoch, seq } = first;
    first.close();
    hub.tunnelsChanged([await makeTunnel('web', ['a.example.com'])]);
    await hub.delivered('eu');
    const back = connect(hub);
    back.hello('eu', { ...(epoch === undefined ? {} : { epoch }), ...(seq === undefined ? {} : { seq }) });
    await back.until((each) => each.messages('delta').length === 1);
    assert.equal(back.messages('snapshot').length, 0);
    const stranger = connect(hub);
    stranger.hello('eu', { edgeId: 'edge-2', epoch: 'another', seq: 1_001 });
    await stranger.until((each) => each.messages('snapshot').length === 1);
  });
});

describe('what is to be delivered', () => {
  test('where no edge has come yet waits for the first', async () => {
    hub.tunnelsChanged([await makeTunnel('web', ['a.example.com'])]);
    const delivered = hub.delivered('eu');
    const turn = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve, 'nobody has it'));
    for (let turns = 0; turns < 50; turns++) assert.equal(await Promise.race([delivered, turn()]), 'nobody has it');
    const edge = connect(hub);
    edge.hello('eu');
    await delivered;
    assert.equal(edge.state.tunnels.length, 1);
  });

  test('where none comes is not waited for without end', async () => {
    const quick = await openHub(store, createTestBus(), { timing: { deliveryMs: 20 } });
    await quick.delivered('eu');
  });
});

describe('who may listen', () => {
  const refused: readonly [name: string, say: (edge: TestEdge) => void][] = [
    ['another region than its key', (edge) => edge.hello('us')],
    ['another version', (edge) => edge.hello('eu', { version: 99 })],
    ['an id that could be anything', (edge) => edge.hello('eu', { edgeId: '../../etc' })],
    ['a report before its hello', (edge) => edge.report([])],
    [
      'an acknowledgement of what was never sent',
      (edge) => {
        edge.hello('eu');
        edge.acknowledge(9_999_999);
      },
    ],
    [
      'a second hello',
      (edge) => {
        edge.hello('eu');
        edge.hello('eu');
      },
    ],
    [
      'a message of unknown type',
      (edge) => {
        edge.hello('eu');
        edge.send({ type: 'gossip' } as never);
      },
    ],
    ...[
      { software: { toString: 1, valueOf: 1 } },
      { version: { valueOf: 1, toString: 1 } },
      { hopAddress: {} },
      { seq: '1' },
    ].map((over): (typeof refused)[number] => [
      `a hello with ${JSON.stringify(over)}`,
      (edge) => edge.hello('eu', over as unknown as object),
    ]),
    ...[null, 'c1', { id: {} }, { provenAtMs: '1' }, { sinceMs: 1e300 }, { version: 'x'.repeat(101) }].map(
      (over): (typeof refused)[number] => [
        `a report of a client with ${JSON.stringify(over)?.slice(0, 20)}`,
        (edge) => {
          edge.hello('eu');
          const broken = typeof over === 'object' && over !== null ? client(over as Partial<FeedClient>) : over;
          edge.report([counters('any', 0, 0, { clients: [broken as FeedClient] })]);
        },
      ],
    ),
  ];
  for (const [name, say] of refused) {
    test(`an edge is cut off for ${name}`, async () => {
      const edge = connect(hub);
      say(edge);
      await edge.until((each) => each.closed);
    });
  }

  test('an edge whose key was revoked is cut as soon as the region changes', async () => {
    const keys = new Set(['k1']);
    const guarded = await openHub(store, bus, { keyOpens: async (_, keyHash) => keys.has(keyHash) });
    const edge = connect(guarded, 'k1');
    edge.hello('eu');
    await edge.until((each) => each.seq !== undefined);
    keys.clear();
    guarded.regionChanged('eu');
    await edge.until((each) => each.closed);
  });

  /** An edge whose pings are 100 ms apart on the hub's clock, however long the machine takes for them. */
  const connectPinged = async (answersPings: boolean): Promise<TestEdge> => {
    let edge: TestEdge | undefined;
    const steady = (): number => 100 * (edge?.messages('ping').length ?? 0);
    edge = connect(await openHub(store, bus, { steady, timing: { pingMs: 1, silenceMs: 1_000 } }));
    edge.answersPings = answersPings;
    edge.hello('eu');
    return edge;
  };

  test('an edge that answers pings is kept', async () => {
    const edge = await connectPinged(true);
    await edge.until((each) => each.messages('ping').length >= 25);
    assert.equal(edge.closed, false);
  });

  test('an edge has one connection: the newer one stays', async () => {
    const old = connect(hub);
    old.hello('eu');
    await old.until((each) => each.seq !== undefined);
    const fresh = connect(hub);
    fresh.hello('eu');
    await old.until((each) => each.closed);
    await fresh.until((each) => each.seq !== undefined);
    assert.equal(fresh.closed, false);
  });

  test('an edge that says nothing is cut', async () => {
    const edge = await connectPinged(false);
    await edge.until((each) => each.closed);
    assert.ok(edge.messages('ping').length > 10, 'and not before its time');
  });
});

describe('acknowledged routes', () => {
  test('an ingress tunnel serves once an edge has acknowledged it, and not before', async () => {
    const edge = connect(hub);
    edge.acknowledges = false;
    edge.hello('eu');
    const id = await makeTunnel('web', ['a.example.com']);
    hub.tunnelsChanged([id]);
    await edge.until((each) => each.state.tunnels.length === 1);
    assert.equal(hub.isServing(id), false);
    const told = moved(hub, id);
    edge.acknowledge(edge.seq ?? 0);
    await told;
    assert.equal(hub.isServing(id), true);
  });

  const connectTwo = async (hub: FeedHub): Promise<{ one: TestEdge; two: TestEdge }> => {
    const [one, two] = [connect(hub), connect(hub)];
    one.hello('eu');
    two.hello('eu', { edgeId: 'edge-2' });
    await hub.delivered('eu');
    two.acknowledges = false;
    return { one, two };
  };

  test('a tunnel serves once every edge has acknowledged it: the next client may dial any of them', async () => {
    const { two } = await connectTwo(hub);
    const id = await makeTunnel('web', ['a.example.com']);
    hub.tunnelsChanged([id]);
    await two.until((each) => each.state.tunnels.length === 1);
    assert.equal(hub.isServing(id), false);
    const told = moved(hub, id);
    two.acknowledge(two.seq ?? 0);
    await told;
    assert.equal(hub.isServing(id), true);
  });

  test('an edge that goes away meanwhile is not waited for', async () => {
    const { two } = await connectTwo(hub);
    const id = await makeTunnel('web', ['a.example.com']);
    hub.tunnelsChanged([id]);
    await two.until((each) => each.state.tunnels.length === 1);
    const told = moved(hub, id);
    two.close();
    await told;
    assert.equal(hub.isServing(id), true);
  });

  test('an edge that never acknowledges is waited for no longer than its time', async () => {
    const quick = await openHub(store, createTestBus(), { timing: { pingMs: 20, deliveryMs: 50 } });
    const { two } = await connectTwo(quick);
    const id = await makeTunnel('web', ['a.example.com']);
    quick.tunnelsChanged([id]);
    await two.until((each) => each.state.tunnels.length === 1);
    while (!quick.isServing(id)) await moved(quick, id);
  });

  /** Longer than a test may take: what is waited for has to come. */
  const patient = { deliveryMs: 60_000 };

  /** Another process with an edge of its own, of which the first has heard. */
  const connectElsewhere = async (here: FeedHub, bus: Bus): Promise<{ other: FeedHub; two: TestEdge }> => {
    const other = await openHub(store, bus, { timing: patient });
    const [one, two] = [connect(here), connect(other)];
    one.hello('eu');
    two.hello('eu', { edgeId: 'edge-2', hopAddress: '10.0.0.2:7000' });
    await one.until((each) => each.state.peers.some(({ edgeId }) => edgeId === 'edge-2'));
    await other.delivered('eu');
    two.acknowledges = false;
    return { other, two };
  };

  test('edges of other control processes are waited for as well', async () => {
    const own = createTestBus();
    const here = await openHub(store, own, { timing: patient });
    const { other, two } = await connectElsewhere(here, own);
    const id = await makeTunnel('web', ['a.example.com']);
    here.tunnelsChanged([id]);
    await here.delivered('eu');
    await two.until((each) => each.state.tunnels.length === 1);
    assert.deepEqual([here.isServing(id), other.isServing(id)], [false, false]);
    const told = [moved(here, id), moved(other, id)];
    two.acknowledge(two.seq ?? 0);
    await Promise.all(told);
    assert.deepEqual([here.isServing(id), other.isServing(id)], [true, true]);
  });

  test('a control process that does not speak for its edges is waited for no longer than its time', async () => {
    const own = createTestBus();
    const quick = await openHub(store, own, { timing: { pingMs: 20, deliveryMs: 50 } });
    const { two } = await connectElsewhere(quick, own);
    const id = await makeTunnel('web', ['a.example.com']);
    quick.tunnelsChanged([id]);
    await two.until((each) => each.state.tunnels.length === 1);
    while (!quick.isServing(id)) await moved(quick, id);
  });

  const addCertificate = async (name: string): Promise<void> => {
    const id = createId(1);
    const sealed = keyRing.seal('key', certificateContext(id));
    const row = { id, name, hosts: JSON.stringify([name]), chain_pem: 'chain', key_sealed: sealed, issuer: 'test' };
    await store.db
      .insertInto('certificates')
      .values({ ...row, starts_at: 1, expires_at: Date.now() + 1e9, created_at: 1 })
      .execute();
  };

  test('an http tunnel serves once its certificate is there too', async () => {
    const edge = connect(hub);
    edge.hello('eu');
    const id = await makeTunnel('web', ['a.example.com'], 'http');
    hub.tunnelsChanged([id]);
    await hub.delivered('eu');
    assert.equal(hub.isServing(id), false);
    await addCertificate('a.example.com');
    hub.certificatesChanged();
    await hub.delivered('eu');
    assert.equal(hub.isServing(id), true);
    assert.ok(edge.state.certificates.some(({ privateKeyPem }) => privateKeyPem === 'key'));
  });

  test('no tunnel of a region serves before its clients can dial: the host of the region has a certificate', async () => {
    const fresh = await openHub(store, createTestBus(), { givenCertificates: () => [] });
    const edge = connect(fresh);
    edge.hello('eu');
    await addCertificate('a.example.com');
    const made = [await makeTunnel('web', ['a.example.com'], 'http'), await makeTunnel('tcp', ['b.example.com'])];
    fresh.tunnelsChanged(made);
    await fresh.delivered('eu');
    assert.deepEqual(
      made.map((id) => fresh.isServing(id)),
      [false, false],
    );
    await addCertificate('eu.localhost');
    fresh.certificatesChanged();
    await fresh.delivered('eu');
    assert.deepEqual(
      made.map((id) => fresh.isServing(id)),
      [true, true],
    );
  });

  test('a tunnel made under a wildcard that is already there gets it with its route', async () => {
    await addCertificate('*.tunnels.localhost');
    const edge = connect(hub);
    edge.hello('eu');
    const id = await makeTunnel('web', ['brave-otter.tunnels.localhost'], 'http');
    hub.tunnelsChanged([id]);
    await hub.delivered('eu');
    assert.equal(hub.isServing(id), true);
  });

  test('new hosts are waited for again, a new allow-list is not', async () => {
    const edge = connect(hub);
    edge.hello('eu');
    const id = await makeTunnel('web', ['a.example.com']);
    hub.tunnelsChanged([id]);
    await hub.delivered('eu');
    edge.acknowledges = false;
    await store.db.updateTable('security_groups').set({ allow_list: '["10.0.0.0/8"]' }).execute();
    hub.tunnelsChanged([id]);
    await edge.until((each) => each.state.tunnels[0]?.allowList.length === 1);
    assert.equal(hub.isServing(id), true);
    await store.db.updateTable('tunnel_hosts').set({ host: 'b.example.com', live_host: 'b.example.com' }).execute();
    hub.tunnelsChanged([id]);
    await edge.until((each) => each.state.tunnels[0]?.hosts[0] === 'b.example.com');
    assert.equal(hub.isServing(id), false);
  });

  test('a restart of control forgets none of it, even with every edge away', async () => {
    const edge = connect(hub);
    edge.hello('eu');
    const id = await makeTunnel('web', ['a.example.com']);
    hub.tunnelsChanged([id]);
    await hub.delivered('eu');
    await hub.close();
    const restarted = await openHub(store, createTestBus());
    assert.equal(restarted.isServing(id), true);
  });

  test('another control process hears of it', async () => {
    const other = await openHub(store, bus);
    const edge = connect(hub);
    edge.hello('eu');
    const id = await makeTunnel('web', ['a.example.com']);
    hub.tunnelsChanged([id]);
    while (!other.isServing(id)) await moved(other, id);
  });

  test('one that the news did not reach finds it in the store', async () => {
    const deaf: Bus = {
      ...bus,
      subscribe: (subject, hear) => (subject === 'feed.live' ? () => {} : bus.subscribe(subject, hear)),
    };
    const other = await openHub(store, deaf);
    const edge = connect(hub);
    edge.acknowledges = false;
    edge.hello('eu');
    const id = await makeTunnel('web', ['a.example.com']);
    hub.tunnelsChanged([id]);
    await edge.until((each) => each.state.tunnels.length === 1);
    await other.load();
    edge.acknowledge(edge.seq ?? 0);
    while (!hub.isServing(id)) await moved(hub, id);
    await hub.close();
    assert.equal(other.isServing(id), false);
    let told: readonly string[] = [];
    other.onMoved((each) => {
      told = each;
    });
    await other.load();
    assert.equal(other.isServing(id), true);
    assert.deepEqual(told, [id]);
  });

  test('a change is told to who follows the tunnel at another control process, edges or none', async () => {
    const other = await openHub(store, bus);
    const id = await makeTunnel('web', ['a.example.com']);
    const told = [moved(hub, id), moved(other, id)];
    hub.tunnelsChanged([id]);
    await Promise.all(told);
  });
});

describe('what edges report', () => {
  /** An edge reports for what it was told of. */
  const makeKnownTunnel = async (): Promise<string> => {
    const id = await makeTunnel('web', ['a.example.com']);
    await hub.load();
    return id;
  };
  const reported = async (edge: TestEdge, id: string, ...tunnels: FeedTunnelReport[]): Promise<void> => {
    const told = moved(hub, id);
    edge.report(tunnels);
    await told;
  };

  test('counts for tunnels of its region alone, and nothing is kept of others', async () => {
    await addRegion(store.db, 'us');
    const theirs = await addTunnel(store.db, { ...ids, region: 'us', name: 'theirs', hosts: [] });
    const ours = await makeKnownTunnel();
    const edge = connect(hub);
    edge.hello('eu', { startedAtMs: Date.now() + 1 });
    const madeUp = counters('nobody', 3_000, 600);
    await reported(edge, ours, counters(theirs, 3_000, 600, { clients: [client()] }), madeUp, counters(ours, 3_000, 600));
    assert.deepEqual([hub.metrics(theirs), hub.clients(theirs), hub.metrics('nobody')], [undefined, [], undefined]);
    assert.equal(hub.metrics(ours)?.rx, 10);
  });

  test('bytes and connections become rates over five minutes, to the byte', async () => {
    const id = await makeKnownTunnel();
    const edge = connect(hub);
    edge.hello('eu', { startedAtMs: Date.now() + 1 });
    assert.equal(hub.metrics(id), undefined);
    await reported(edge, id, counters(id, 3_000, 600, { connections: 30 }));
    await reported(edge, id, counters(id, 6_000, 600, { connections: 60 }));
    assert.deepEqual(hub.metrics(id), { rx: 20, tx: 2, tcpConnectionRate: 0.2 });
  });

  test('what an edge counted before control lived is not counted again', async () => {
    const id = await makeKnownTunnel();
    const edge = connect(hub);
    edge.hello('eu', { startedAtMs: Date.now() - 3_600_000 });
    await reported(edge, id, counters(id, 9_000_000, 9_000_000));
    await reported(edge, id, counters(id, 9_000_300, 9_000_000));
    assert.deepEqual(hub.metrics(id)?.rx, 1);
  });

  test('a restarted edge counts from zero again, and nothing is lost or negative', async () => {
    const id = await makeKnownTunnel();
    const first = connect(hub);
    first.hello('eu', { startedAtMs: Date.now() + 1 });
    await reported(first, id, counters(id, 3_000, 0));
    first.close();
    const again = connect(hub);
    again.hello('eu', { startedAtMs: Date.now() + 2 });
    await reported(again, id, counters(id, 6_000, 0));
    assert.equal(hub.metrics(id)?.rx, 30);
  });

  test('a connection that broke and came back loses and doubles nothing', async () => {
    const id = await makeKnownTunnel();
    const startedAtMs = Date.now() + 1;
    const first = connect(hub);
    first.hello('eu', { startedAtMs });
    await reported(first, id, counters(id, 3_000, 0));
    first.close();
    const again = connect(hub);
    again.hello('eu', { startedAtMs });
    await reported(again, id, counters(id, 6_000, 0));
    assert.equal(hub.metrics(id)?.rx, 20);
  });

  test('a client counts while its data path is proven, and only once at two edges', async () => {
    const id = await makeKnownTunnel();
    const one = connect(hub);
    const two = connect(hub);
    one.hello('eu');
    two.hello('eu', { edgeId: 'edge-2' });
    await reported(
      one,
      id,
      counters(id, 0, 0, {
        clients: [client(), client({ id: 'c2', provenAtMs: null }), client({ id: 'c3', provenAtMs: Date.now() - 16_000 })],
      }),
    );
    await reported(two, id, counters(id, 0, 0, { clients: [client({ rttMs: 9 })] }));
    assert.deepEqual(
      hub.clients(id).map((each) => each.id),
      ['c1'],
    );
    await reported(one, id);
    await reported(two, id);
    assert.deepEqual(hub.clients(id), []);
  });

  test("an edge's clock may be an hour off", async () => {
    const id = await makeKnownTunnel();
    const edge = connect(hub);
    edge.hello('eu');
    const theirs = Date.now() - 3_600_000;
    const told = moved(hub, id);
    edge.report([counters(id, 0, 0, { clients: [client({ provenAtMs: theirs - 1_000 })] })], theirs);
    await told;
    assert.equal(hub.clients(id).length, 1);
  });

  test('counters that are no counts are passed over', async () => {
    const id = await makeKnownTunnel();
    const edge = connect(hub);
    edge.hello('eu', { startedAtMs: Date.now() + 1 });
    await reported(edge, id, counters(id, 300, 0), counters('x', -1, 0), counters('y', Number.NaN, 0), counters('z', 1.5, 0));
    assert.equal(hub.metrics(id)?.rx, 1);
    assert.equal(hub.metrics('x'), undefined);
  });

  test('another control process sees the same', async () => {
    const other = await openHub(store, bus);
    const id = await makeKnownTunnel();
    const edge = connect(hub);
    edge.hello('eu', { startedAtMs: Date.now() + 1 });
    const told = moved(other, id);
    await reported(edge, id, counters(id, 300, 600, { clients: [client()] }));
    await told;
    assert.deepEqual(other.metrics(id), hub.metrics(id));
    assert.deepEqual(other.clients(id), hub.clients(id));
    assert.deepEqual(
      other.edges().map((each) => each.id),
      ['edge-1'],
    );
  });

  test('a tunnel that is deleted leaves nothing of it', async () => {
    const id = await makeKnownTunnel();
    const edge = connect(hub);
    edge.hello('eu', { startedAtMs: Date.now() + 1 });
    hub.tunnelsChanged([id]);
    await edge.until((each) => each.state.tunnels.length === 1);
    await reported(edge, id, counters(id, 300, 600, { clients: [client()] }));
    await store.db.deleteFrom('tunnels').execute();
    hub.tunnelsChanged([id]);
    await edge.until((each) => each.state.tunnels.length === 0);
    assert.equal(hub.metrics(id), undefined);
    assert.equal(hub.edges()[0]?.clients, 0);
  });

  test('history holds every byte, in one write for all that happened', async () => {
    const id = await makeKnownTunnel();
    const edge = connect(hub);
    edge.hello('eu', { startedAtMs: Date.now() + 1 });
    await reported(edge, id, counters(id, 3_000, 600, { clients: [client()] }));
    await reported(edge, id, counters(id, 6_000, 600));
    await hub.close();
    const { stepSeconds, points } = await hub.history(id, 'hour');
    assert.equal(points.length, 60);
    const total = points.reduce((sum, point) => sum + point.rx * stepSeconds, 0);
    assert.equal(Math.round(total), 6_000);
    assert.equal(Math.max(...points.map((point) => point.clients)), 1);
  });

  test('history waits for a database that is away', async () => {
    let now = Date.now();
    let isAway = true;
    const tried = Promise.withResolvers<void>();
    const away: Store = { ...store, write: (body) => (isAway ? Promise.reject(new Error('away')) : store.write(body)) };
    const error = (_: unknown, text: string): void => {
      if (text === 'feed: the minute history was not written') tried.resolve();
    };
    const log: typeof silentLog = Object.assign(Object.create(silentLog), { error });
    const id = await makeKnownTunnel();
    const other = await openHub(away, createTestBus(), { log, clock: () => now, timing: { flushMs: 5 } });
    const edge = connect(other);
    edge.hello('eu', { startedAtMs: now + 1 });
    const told = moved(other, id);
    edge.report([counters(id, 6_000, 600)]);
    await told;
    now += 60_000;
    await tried.promise;
    isAway = false;
    await other.close();
    const { stepSeconds, points } = await other.history(id, 'hour');
    assert.equal(Math.round(points.reduce((sum, point) => sum + point.rx * stepSeconds, 0)), 6_000);
  });

  test('history of a tunnel that is gone meanwhile harms nothing', async () => {
    const id = await makeKnownTunnel();
    const edge = connect(hub);
    edge.hello('eu', { startedAtMs: Date.now() + 1 });
    await reported(edge, id, counters(id, 3_000, 600));
    await store.db.deleteFrom('tunnels').execute();
    await hub.close();
    const rows = await store.db.selectFrom('metric_minutes').selectAll().execute();
    assert.deepEqual(rows, []);
  });

  test('edges of a region learn of each other', async () => {
    const one = connect(hub);
    const two = connect(hub);
    one.hello('eu', { hopAddress: '10.0.0.1:7000' });
    two.hello('eu', { edgeId: 'edge-2', hopAddress: '10.0.0.2:7000' });
    await one.until((edge) => edge.state.peers.length === 2);
    assert.deepEqual(one.state.peers.map((peer) => peer.address).sort(), ['10.0.0.1:7000', '10.0.0.2:7000']);
    const three = connect(hub);
    three.hello('eu', { edgeId: 'edge-3' });
    await one.until((edge) => edge.state.peers.length === 3);
    assert.deepEqual(one.state.peers.find(({ edgeId }) => edgeId === 'edge-3')?.address, '', 'one without hops counts');
  });
});
