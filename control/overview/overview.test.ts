// The first screen's call (GET /api/overview): what it says, to whom, and that many tunnels do not slow it down.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { Overview } from '@underpass/rules/entity/resource.ts';
import { overviewLimits } from '@underpass/rules/limits.ts';
import { minuteMs, startOf } from '../edges/feed/core/history-points.ts';
import { readTraces } from '../edges/feed/history.ts';
import { writeMinutes } from '../edges/feed/history-rows.ts';
import { createId } from '../platform/store/id.ts';
import type { Schema } from '../platform/store/schema.ts';
import type { Store } from '../platform/store/store.ts';
import { createTestControl, type SignedUp, type TestControl } from '../test-kit.ts';
import { onBothDatabases, type StoreSuite } from '../test-kit-databases.ts';

const client = (healthy = true) => ({
  ...{ id: 'c', address: '192.0.2.9', version: '', since: '2026-11-20T09:00:00.000Z', edge: '', rttMs: null, healthy },
});

const suite: StoreSuite = (name, skip, open) =>
  describe(`overview on ${name}`, { skip }, () => {
    let test: TestControl;
    let ann: SignedUp;
    let store: Store;

    before(async () => {
      store = await open();
      test = await createTestControl({ store });
      ann = await test.signUp('ann@example.com');
    });
    after(async () => {
      await test.close();
      await store.close();
    });

    const overviewOf = (who: SignedUp, project = ann.projectId): Promise<Overview> =>
      who.call<Overview>('GET', `/api/overview?project=${project}`);

    const make = async (tunnel: string, ingressDomains: readonly string[] = []): Promise<string> => {
      await ann.call('POST', `/api/tunnels?project=${ann.projectId}`, { name: tunnel, region: 'local', ingressDomains });
      const { id } = await store.db.selectFrom('tunnels').select('id').where('name', '=', tunnel).executeTakeFirstOrThrow();
      test.feed.serving.add(id);
      return id;
    };

    const remember = (tunnelId: string, over: Partial<Schema['last_clients']>) =>
      store.db
        .insertInto('last_clients')
        .values({
          ...{ tunnel_id: tunnelId, seen_at: test.time.now - 60_000, address: '192.0.2.9', left_at: null, on_purpose: 0 },
          ...{ error_code: '', error_address: '', error_at: 0, ...over },
        })
        .execute();

    it('of a new project says that nothing has been done yet', async () => {
      const { attention, shown, steps, tunnels, changes } = await overviewOf(ann);
      assert.deepEqual(
        { attention, shown, steps, tunnels },
        {
          ...{ attention: [], shown: [], tunnels: 0 },
          steps: { hasCli: false, hasConnected: false, hasServed: false },
        },
      );
      assert.deepEqual(changes, []);
    });

    it('puts what fails first, tells the fallen from the stopped and the unused, and says what changed', async () => {
      const works = await make('works');
      await make('unused');
      test.feed.connected.set(works, [client()]);
      test.feed.connected.set(await make('halting'), [client(false)]);
      const leftAt = test.time.now - 120_000;
      await remember(await make('stopped'), { left_at: leftAt, on_purpose: 1 });
      const error = { error_code: 'token-refused', error_address: '192.0.2.7', error_at: test.time.now - 30_000 };
      await remember(await make('fallen'), { left_at: leftAt, ...error });
      await make('waits', ['shop.example.com']);
      const overview = await overviewOf(ann);
      assert.deepEqual(
        overview.shown.map(({ name: shown, condition }) => [shown, condition]),
        [
          ['fallen', 'down'],
          ['halting', 'failing'],
          ['waits', 'waiting'],
          ['works', 'working'],
          ['stopped', 'stopped'],
          ['unused', 'unused'],
        ],
      );
      assert.equal(overview.shown[0]?.conditionSince, new Date(leftAt).toISOString());
      assert.deepEqual(
        overview.attention.map(({ kind, tunnel, domain }) => [kind, domain ?? tunnel]),
        [
          ['tunnel-down', 'fallen'],
          ['upstream-failing', 'halting'],
          ['domain-unverified', 'example.com'],
        ],
      );
      assert.equal(overview.attention[0]?.error?.code, 'token-refused');
      assert.deepEqual(overview.conditions, {
        ...{ working: 1, failing: 1, down: 1, suspended: 0, waiting: 1, stopped: 1, unused: 1, unknown: 0 },
      });
      assert.deepEqual([overview.connectedClients, overview.upstreamDomains, overview.steps], [2, 6, undefined]);
      const [last] = overview.changes ?? [];
      assert.deepEqual([last?.actorName, last?.action, last?.target], ['Ann', 'tunnel.create', 'waits']);
    });

    it('names a domain that led elsewhere twice, with its tunnel', async () => {
      const since = test.time.now - 60_000;
      const note = (dns_missing_since: number | null, dns_checked_at: number) =>
        store.db.updateTable('tunnel_hosts').set({ dns_missing_since, dns_checked_at }).where('apex_name', '=', '').execute();
      const found = async () => (await overviewOf(ann)).attention.filter(({ kind }) => kind === 'domain-elsewhere');
      await note(since, since);
      assert.deepEqual(await found(), [], 'once may be a moment');
      await note(since, since + 1);
      const [first] = await found();
      assert.deepEqual([first?.since, typeof first?.tunnel], [new Date(since).toISOString(), 'string']);
      await note(null, since + 2);
      assert.deepEqual(await found(), []);
    });

    it('is refused to strangers, and gives a viewer no changes', async () => {
      const vic = await test.signUp('vic@example.com');
      assert.equal((await vic.send('GET', `/api/overview?project=${ann.projectId}`)).status, 404);
      await test.addMember(ann.projectId, vic.userId, 'viewer');
      const { changes, shown } = await overviewOf(vic);
      assert.equal(changes, undefined);
      assert.ok(shown.length > 0);
    });

    it('of a project whose owners are all suspended says so of its tunnels, which nobody lost', async () => {
      const val = await test.signUp('val@example.com');
      await test.addMember(ann.projectId, val.userId, 'viewer');
      const suspend = (suspended_at: number | null) =>
        store.db.updateTable('users').set({ suspended_at }).where('id', '=', ann.userId).execute();
      const since = test.time.now - 60_000;
      await suspend(since);
      const { conditions, tunnels, shown } = await overviewOf(val);
      assert.equal(conditions.suspended, tunnels);
      assert.equal(shown[0]?.conditionSince, new Date(since).toISOString());
      const one = await val.call<Tunnel>('GET', `/api/tunnels/fallen?project=${ann.projectId}`);
      assert.equal(one.condition, 'suspended');
      await suspend(null);
      assert.equal((await overviewOf(val)).conditions.suspended, 0);
    });

    it('of a suspended project says so once', async () => {
      const suspend = (suspended: boolean) => test.control.operator.changeProject(ann.projectId, { suspended });
      await suspend(true);
      assert.deepEqual((await overviewOf(ann)).attention, [{ kind: 'project-suspended' }]);
      await suspend(false);
      assert.ok((await overviewOf(ann)).attention.length > 1);
    });

    it('adds up the traffic of some tunnels in steps of two minutes, in one query', async () => {
      const now = startOf(minuteMs, test.time.now);
      const row = (tunnelId: string, minutesAgo: number, bytes: number) => ({
        ...{ tunnelId, minuteMs: now - minutesAgo * minuteMs, rxBytes: bytes, txBytes: bytes, connections: 1, clients: 1 },
        ...{ requests: 0, connectedMinutes: 0, projectId: undefined, figures: [] },
      });
      await writeMinutes(store, [row('a', 61, 60), row('a', 3, 600), row('a', 2, 600), row('b', 0, 999), row('other', 2, 999)]);
      const traces = await readTraces(store, ['a', 'b'], now);
      assert.deepEqual(traces.get('a'), [1, ...Array(28).fill(0), 20]);
      assert.deepEqual(traces.get('b'), Array(30).fill(0), 'the running minute is not whole');
    });

    it('of a project with 1,000 tunnels is bounded and quick', async (t) => {
      const { security_group_id } = await store.db.selectFrom('tunnels').select('security_group_id').executeTakeFirstOrThrow();
      const ids = Array.from({ length: 1000 }, (_, index) => createId(test.time.now + index));
      const tunnelOf = (id: string, index: number) => ({
        ...{
          id,
          project_id: ann.projectId,
          name: `many-${index}`,
          type: 'http' as const,
          region: 'local',
          proxy_protocol: '' as const,
        },
        ...{ security_group_id, access_policy_id: null, suspended_at: null, created_at: 0, updated_at: 0 },
      });
      const hostOf = (id: string, index: number) => ({
        ...{
          tunnel_id: id,
          project_id: ann.projectId,
          host: `h${index}.tunnels.localhost`,
          apex_name: '',
          position: 0,
          blocked: null,
        },
        live_host: `h${index}.tunnels.localhost`,
      });
      for (let from = 0; from < ids.length; from += 100) {
        const some = ids.slice(from, from + 100);
        await store.db
          .insertInto('tunnels')
          .values(some.map((id, at) => tunnelOf(id, from + at)))
          .execute();
        await store.db
          .insertInto('tunnel_hosts')
          .values(some.map((id, at) => hostOf(id, from + at)))
          .execute();
      }
      for (const [index, id] of ids.entries()) {
        test.feed.serving.add(id);
        if (index % 2 === 0) test.feed.connected.set(id, [client()]);
        else await remember(id, { left_at: test.time.now - index * 1000 });
      }
      const times: number[] = [];
      for (let round = 0; round < 7; round += 1) {
        const start = performance.now();
        const { shown, attention, moreAttention, tunnels } = await overviewOf(ann);
        times.push(performance.now() - start);
        assert.deepEqual([shown.length, attention.length], [overviewLimits.tunnels, overviewLimits.attention]);
        assert.deepEqual([tunnels, moreAttention > 400], [1006, true]);
      }
      const median = times.sort((one, other) => one - other)[3]!;
      t.diagnostic(`median ${median.toFixed(1)} ms of 7 calls`);
      // A median of 37 ms on both databases on a busy machine with two cores, 28 to 73 ms in other runs.
      assert.ok(median < 2000, `${median} ms`);
    });
  });

onBothDatabases(suite);
