import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { limits } from '@underpass/rules/limits.ts';
import { countFirstByte, countStatus, emptyFigures } from '@underpass/rules/tunnel/figures.ts';
import type { FeedCertificate, FeedClient, FeedTunnelReport } from '@underpass/wire/feed/feed.ts';
import { maxFeedMessageBytes } from '@underpass/wire/feed/feed-stream.ts';
import type { Bus } from '../../platform/bus/bus.ts';
import { tellNarrowed } from '../../platform/bus/narrowed-rights.ts';
import { createId } from '../../platform/store/id.ts';
import type { Store } from '../../platform/store/store.ts';
import { noteBlocks } from './blocks.ts';
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

/** The certificate of the region's host: without it clients cannot dial, and no tunnel serves. */
const dialled: FeedCertificate = {
  id: 'eu',
  hosts: ['eu.localhost'],
  certificatePem: '',
  privateKeyPem: '',
  notAfterMs: Number.MAX_SAFE_INTEGER,
};

async function openHub(store: Store, bus: Bus, over: Partial<FeedHubDeps> = {}): Promise<FeedHub> {
  const givenCertificates = () => [dialled];
  const base = {
    ...{ store, bus, keyRing, clock: Date.now, log: silentLog, givenCertificates },
    ...{ keyOpens: async () => true, origin: 'https://console.example.com' },
  };
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

describe('blocked addresses', () => {
  const block = async (value: string): Promise<void> => {
    const row = { id: createId(Date.now()), kind: 'address' as const, value, reason: 'x', created_by: 'op', created_at: 1 };
    await noteBlocks(store.db, Date.now());
    await store.db.insertInto('blocks').values(row).execute();
  };
  const held = ({ state: { blocks = [] } }: TestEdge): readonly string[] => blocks.map(({ id }) => id).sort();

  test('reach the edges of every control process, and leave them again', async () => {
    const other = await openHub(store, bus);
    const [one, two] = [connect(hub), connect(other)];
    one.hello('eu');
    two.hello('eu', { edgeId: 'edge-2' });
    await block('203.0.113.5');
    await block('2001:db8::/32');
    hub.blocksChanged(['203.0.113.5', '2001:db8::/32']);
    for (const edge of [one, two]) await edge.until((each) => held(each).join() === '2001:db8::/32,203.0.113.5');
    await store.db.deleteFrom('blocks').where('value', '=', '203.0.113.5').execute();
    hub.blocksChanged(['203.0.113.5']);
    for (const edge of [one, two]) await edge.until((each) => held(each).join() === '2001:db8::/32');
  });

  test('reach the edges of a new region, and those whose message was lost, with the next reading of everything', async () => {
    await block('203.0.113.5');
    await hub.load();
    const edge = connect(hub);
    edge.hello('eu');
    await edge.until((each) => held(each).join() === '203.0.113.5');
    await addRegion(store.db, 'us');
    await hub.load();
    const far = connectEdge((duplex) => hub.accept(duplex, { region: 'us' }));
    opened.edges.push(far);
    far.hello('us');
    await far.until((each) => held(each).join() === '203.0.113.5');
    await store.db.deleteFrom('blocks').execute();
    await noteBlocks(store.db, Date.now());
    await hub.load();
    for (const each of [edge, far]) await each.until((one) => held(one).length === 0);
  });

  test('are read again only after a change', async () => {
    await block('203.0.113.5');
    await hub.load();
    // A row that no note tells of stands for a reading that did not happen.
    await store.db.deleteFrom('blocks').execute();
    await hub.load();
    const edge = connect(hub);
    edge.hello('eu');
    await edge.until((each) => held(each).join() === '203.0.113.5');
  });
});

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

  test('an edge that connects before the store is read gets no empty snapshot', async () => {
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

  test('a change reaches the edge as one numbered delta, before the next full reading', async () => {
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

  test('deletion, suspension, a new allow-list and a rotated token reach the edge', async () => {
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

  test('a change of many tunnels comes in messages under the size limit, even with the longest lists', async () => {
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

  test('an unreadable allow-list denies every visitor', async () => {
    const id = await makeTunnel('web', ['a.example.com']);
    await store.db.updateTable('security_groups').set({ allow_list: '{broken' }).execute();
    const edge = connect(hub);
    edge.hello('eu');
    hub.tunnelsChanged([id]);
    await edge.until((each) => each.state.tunnels.length === 1);
    assert.deepEqual(edge.state.tunnels[0]?.allowList, []);
  });

  test('sends only verified hosts, and only to their own region', async () => {
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

  test('reconciling finds a change that the bus lost', async () => {
    const watchful = await openHub(store, bus, { timing: { reconcileMs: 20 } });
    const edge = connect(watchful);
    edge.hello('eu');
    await makeTunnel('web', ['a.example.com']);
    await edge.until((each) => each.state.tunnels.length === 1);
  });

  test('an edge that reconnects gets the deltas it missed, or a snapshot if it holds another epoch', async () => {
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

test('the end of a token reaches the edges of every process at once, with the pass that it got', {
  timeout: 60_000,
}, async () => {
  const timing = { reconcileMs: 1e9 };
  const hubs = [await openHub(store, bus, { timing }), await openHub(store, bus, { timing })];
  const tunnelId = await makeTunnel('database', []);
  await store.db.updateTable('tunnels').set({ type: 'tcp' }).where('id', '=', tunnelId).execute();
  const token = {
    ...{ id: 'k1', project_id: ids.projectId, user_id: ids.userId, name: 'ci', role: 'member', cli: 0 },
    reach_id: 'pass',
  };
  const row = { ...token, token_hash: 'hash', created_at: 1, expires_at: null, used_at: null } as const;
  await store.db
    .insertInto('api_tokens')
    .values(row as never)
    .execute();
  hub.tunnelsChanged([tunnelId]);
  const edges = hubs.map((each) => connect(each));
  for (const [index, edge] of edges.entries()) edge.hello('eu', { edgeId: `edge-${index}` });
  const passes = ({ state }: TestEdge): string => state.tunnels.flatMap(({ reach }) => reach?.passes.map(({ id }) => id)).join();
  for (const edge of edges) await edge.until((each) => passes(each) === 'pass');
  await store.db.deleteFrom('api_tokens').execute();
  tellNarrowed(bus, ids.userId);
  for (const edge of edges) await edge.until((each) => passes(each) === '');
});

describe('delivered', () => {
  test('waits for the first edge of a region without one', async () => {
    hub.tunnelsChanged([await makeTunnel('web', ['a.example.com'])]);
    const delivered = hub.delivered('eu');
    const turn = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve, 'no edge has it'));
    for (let turns = 0; turns < 50; turns++) assert.equal(await Promise.race([delivered, turn()]), 'no edge has it');
    const edge = connect(hub);
    edge.hello('eu');
    await delivered;
    assert.equal(edge.state.tunnels.length, 1);
  });

  test('stops waiting when no edge connects in time', async () => {
    const quick = await openHub(store, createTestBus(), { timing: { deliveryMs: 20 } });
    await quick.delivered('eu');
  });
});

describe('an edge connection', () => {
  const refused: readonly [name: string, say: (edge: TestEdge) => void][] = [
    ['a region other than that of its key', (edge) => edge.hello('us')],
    ['another feed version', (edge) => edge.hello('eu', { version: 99 })],
    ['a malformed edge id', (edge) => edge.hello('eu', { edgeId: '../../etc' })],
    ['a report before its hello', (edge) => edge.report([])],
    [
      'an acknowledgement of a message that was never sent',
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
    [
      'a report that is partial in a way unknown to it',
      (edge) => {
        edge.hello('eu');
        edge.send({ type: 'report', atMs: 0, tunnels: [], partial: 1 as unknown as boolean });
      },
    ],
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
    ...[null, { id: 't' }, { id: 't', atMs: 0.5 }, { id: 't', atMs: Number.MAX_SAFE_INTEGER }].map(
      (use): (typeof refused)[number] => [
        `a report of a ticket's use with ${JSON.stringify(use)}`,
        (edge) => {
          edge.hello('eu');
          edge.report([counters('any', 0, 0, { ticketsUsed: [use as { id: string; atMs: number }] })]);
        },
      ],
    ),
  ];
  for (const [name, say] of refused) {
    test(`is cut for ${name}`, async () => {
      const edge = connect(hub);
      say(edge);
      await edge.until((each) => each.closed);
    });
  }

  test('is cut when its key is revoked and the region changes', async () => {
    const keys = new Set(['k1']);
    const guarded = await openHub(store, bus, { keyOpens: async (_, keyHash) => keys.has(keyHash) });
    const edge = connect(guarded, 'k1');
    edge.hello('eu');
    await edge.until((each) => each.seq !== undefined);
    keys.clear();
    guarded.regionChanged('eu');
    await edge.until((each) => each.closed);
  });

  const connectPinged = async (answersPings: boolean): Promise<TestEdge> => {
    const edge = connect(await openHub(store, bus, { timing: { pingMs: 5 } }));
    edge.answersPings = answersPings;
    edge.hello('eu');
    return edge;
  };

  test('stays open while it answers pings', async () => {
    const edge = await connectPinged(true);
    await edge.until((each) => each.messages('ping').length >= 10);
    assert.equal(edge.closed, false);
  });

  test('replaces the older connection of the same edge', async () => {
    const old = connect(hub);
    old.hello('eu');
    await old.until((each) => each.seq !== undefined);
    const fresh = connect(hub);
    fresh.hello('eu');
    await old.until((each) => each.closed);
    await fresh.until((each) => each.seq !== undefined);
    assert.equal(fresh.closed, false);
  });

  test('is cut when it leaves three pings unanswered, and not before', async () => {
    const edge = await connectPinged(false);
    await edge.until((each) => each.closed);
    // And the first, which comes with its state.
    assert.equal(edge.messages('ping').length, 1 + 3);
  });
});

describe('a tunnel is served', () => {
  test('once an edge has acknowledged it, and not before', async () => {
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

  test('once every edge has acknowledged it: the next client may dial any of them', async () => {
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

  test('without waiting for an edge that disconnects', async () => {
    const { two } = await connectTwo(hub);
    const id = await makeTunnel('web', ['a.example.com']);
    hub.tunnelsChanged([id]);
    await two.until((each) => each.state.tunnels.length === 1);
    const told = moved(hub, id);
    two.close();
    await told;
    assert.equal(hub.isServing(id), true);
  });

  test('after the delivery timeout, despite an edge that never acknowledges', async () => {
    const quick = await openHub(store, createTestBus(), { timing: { pingMs: 20, deliveryMs: 50 } });
    const { two } = await connectTwo(quick);
    const id = await makeTunnel('web', ['a.example.com']);
    quick.tunnelsChanged([id]);
    await two.until((each) => each.state.tunnels.length === 1);
    while (!quick.isServing(id)) await moved(quick, id);
  });

  /** Longer than a test may take, so that only the awaited event ends the wait. */
  const patient = { deliveryMs: 60_000 };

  /** A second control process with its own edge, which the first process knows. */
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

  test('once the edges of other control processes have acknowledged it too', async () => {
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

  test('after the delivery timeout, despite a silent control process', async () => {
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

  test('once its certificate is at the edges too, if it is an http tunnel', async () => {
    const edge = connect(hub);
    edge.hello('eu');
    const id = await makeTunnel('web', ['a.example.com'], 'http');
    hub.tunnelsChanged([id]);
    await hub.delivered('eu');
    assert.equal(hub.isServing(id), false);
    await addCertificate('a.example.com');
    await addCertificate('of-another-region.example.com');
    hub.certificatesChanged(['a.example.com', 'of-another-region.example.com']);
    await hub.delivered('eu');
    assert.equal(hub.isServing(id), true);
    assert.ok(edge.state.certificates.every(({ hosts }) => !hosts.includes('of-another-region.example.com')));
    assert.ok(edge.state.certificates.some(({ privateKeyPem }) => privateKeyPem === 'key'));
  });

  test("once the region's host has a certificate: before, its client cannot dial", async () => {
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
    fresh.certificatesChanged(['eu.localhost']);
    await fresh.delivered('eu');
    assert.deepEqual(
      made.map((id) => fresh.isServing(id)),
      [true, true],
    );
  });

  test('with its route, if a wildcard certificate already covers its host', async () => {
    await addCertificate('*.tunnels.localhost');
    const edge = connect(hub);
    edge.hello('eu');
    const id = await makeTunnel('web', ['brave-otter.tunnels.localhost'], 'http');
    hub.tunnelsChanged([id]);
    await hub.delivered('eu');
    assert.equal(hub.isServing(id), true);
  });

  test('on new hosts only once they are acknowledged, unlike a new allow-list', async () => {
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

  test('after a restart of control too, even with every edge away', async () => {
    const edge = connect(hub);
    edge.hello('eu');
    const id = await makeTunnel('web', ['a.example.com']);
    hub.tunnelsChanged([id]);
    await hub.delivered('eu');
    await hub.close();
    const restarted = await openHub(store, createTestBus());
    assert.equal(restarted.isServing(id), true);
  });

  test('at another control process too', async () => {
    const other = await openHub(store, bus);
    const edge = connect(hub);
    edge.hello('eu');
    const id = await makeTunnel('web', ['a.example.com']);
    hub.tunnelsChanged([id]);
    while (!other.isServing(id)) await moved(other, id);
  });

  test('at a control process that missed the message, from the store', async () => {
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

  test('and followers at another control process hear of a change, even without edges', async () => {
    const other = await openHub(store, bus);
    const id = await makeTunnel('web', ['a.example.com']);
    const told = [moved(hub, id), moved(other, id)];
    hub.tunnelsChanged([id]);
    await Promise.all(told);
  });
});

describe('what edges report', () => {
  /** A tunnel that the hub knows: it drops reports for others. */
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

  test('counts only for tunnels of its region', async () => {
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

  test('bytes that an edge counted before control started do not count', async () => {
    const id = await makeKnownTunnel();
    const edge = connect(hub);
    edge.hello('eu', { startedAtMs: Date.now() - 3_600_000 });
    await reported(edge, id, counters(id, 9_000_000, 9_000_000));
    await reported(edge, id, counters(id, 9_000_300, 9_000_000));
    assert.deepEqual(hub.metrics(id)?.rx, 1);
  });

  test('the counters of a restarted edge start from zero without loss', async () => {
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

  test('a connection that breaks and returns neither loses nor doubles bytes', async () => {
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

  test('a client with a proven data path counts, and once at two edges', async () => {
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
    assert.equal(hub.clientCount(id), 1);
    await reported(one, id);
    assert.equal(hub.clientCount(id), 1);
    await reported(two, id);
    assert.deepEqual([hub.clients(id), hub.clientCount(id)], [[], 0]);
    assert.deepEqual(
      hub.edges().map((edge) => edge.clients),
      [0, 0],
    );
  });

  test('a partial report leaves the clients of other tunnels, at every control process', async () => {
    const other = await openHub(store, bus);
    const [one = '', two = ''] = await Promise.all(['one', 'two'].map((name) => makeTunnel(name, [`${name}.example.com`])));
    await hub.load();
    const edge = connect(hub);
    edge.hello('eu');
    await edge.until((each) => each.messages('welcome')[0]?.takesPartial === true);
    await reported(edge, one, counters(one, 0, 0, { clients: [client()] }));
    const told = [moved(hub, two), moved(other, two)];
    edge.reportPart([counters(two, 0, 0, { clients: [client({ id: 'c2' })] })]);
    await Promise.all(told);
    const countsAt = (at: typeof hub) => [at.clients(one).length, at.clients(two).length];
    assert.deepEqual(
      [countsAt(hub), countsAt(other)],
      [
        [1, 1],
        [1, 1],
      ],
    );
    const gone = [moved(hub, one), moved(other, one)];
    edge.reportPart([counters(one, 0, 0)]);
    await Promise.all(gone);
    assert.deepEqual(
      [countsAt(hub), countsAt(other)],
      [
        [0, 1],
        [0, 1],
      ],
    );
  });

  test('clients count at an edge whose clock is an hour off', async () => {
    const id = await makeKnownTunnel();
    const edge = connect(hub);
    edge.hello('eu');
    const theirs = Date.now() - 3_600_000;
    const told = moved(hub, id);
    edge.report([counters(id, 0, 0, { clients: [client({ provenAtMs: theirs - 1_000 })] })], theirs);
    await told;
    assert.equal(hub.clients(id).length, 1);
  });

  test('negative, fractional and NaN counters are ignored', async () => {
    const id = await makeKnownTunnel();
    const edge = connect(hub);
    edge.hello('eu', { startedAtMs: Date.now() + 1 });
    await reported(edge, id, counters(id, 300, 0), counters('x', -1, 0), counters('y', Number.NaN, 0), counters('z', 1.5, 0));
    assert.equal(hub.metrics(id)?.rx, 1);
    assert.equal(hub.metrics('x'), undefined);
  });

  test('another control process has the same figures, clients and edges', async () => {
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

  test('nothing of a deleted tunnel remains', async () => {
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

  test('history counts every byte once and keeps the number of clients', async () => {
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

  test('history tells answers and quantiles of the first byte, and null where the edge said none', async () => {
    const id = await makeKnownTunnel();
    const edge = connect(hub);
    edge.hello('eu', { startedAtMs: Date.now() + 1 });
    const figures = emptyFigures();
    for (const status of [200, 200, 404]) {
      countStatus(figures, status);
      countFirstByte(figures, 100, 1, 20);
    }
    await reported(edge, id, counters(id, 3_000, 600, { figures }));
    // Nothing new is said of them: not zero, and not counted twice.
    await reported(edge, id, counters(id, 4_000, 600));
    await hub.close();
    const { points } = await hub.history(id, 'hour');
    const told = points.filter(({ answers }) => answers !== null);
    assert.deepEqual(
      told.map(({ answers }) => answers),
      [{ '1xx': 0, '2xx': 2, '3xx': 0, '4xx': 1, '5xx': 0 }],
    );
    assert.deepEqual(told[0]?.firstByte?.edge, { p50: 0.85, p95: 0.98, p99: 1 });
    assert.deepEqual(told[0]?.firstByte?.tunnel?.p50, 17.5);
    assert.equal(points.filter(({ firstByte }) => firstByte === null).length, 59);
  });

  test('history is written once an unreachable database returns', async () => {
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
    assert.deepEqual(
      one.state.peers.find(({ edgeId }) => edgeId === 'edge-3')?.address,
      '',
      'an edge without hops is listed too',
    );
  });

  test('an edge that dials a new process first learns of the edges that the last one knew', async () => {
    const one = connect(hub);
    const two = connect(hub);
    one.hello('eu', { hopAddress: '10.0.0.1:7000' });
    two.hello('eu', { edgeId: 'edge-2', hopAddress: '10.0.0.2:7000' });
    await one.until((edge) => edge.state.peers.length === 2);
    await hub.close();
    let now = 0;
    const next = await openHub(store, createTestBus(), { steady: () => now, timing: { pingMs: 10 } });
    const first = connect(next);
    first.hello('eu', { hopAddress: '10.0.0.1:7000' });
    await first.until((edge) => edge.messages('snapshot').length === 1);
    assert.deepEqual(
      first
        .messages('snapshot')[0]
        ?.state.peers.map((peer) => peer.address)
        .sort(),
      ['10.0.0.1:7000', '10.0.0.2:7000'],
    );
    now = 31_000;
    await first.until((edge) => edge.state.peers.length === 1);
    assert.equal(first.closed, false);
  });
});
