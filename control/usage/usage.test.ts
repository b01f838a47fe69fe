// What a project used: counted once, shown against its limit, and held to it.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Overview, ProjectUsage } from '@underpass/rules/entity/resource.ts';
import type { TunnelMinute } from '../edges/feed/minute-tally.ts';
import { readTunnels } from '../edges/feed/region-content.ts';
import { addSignIn, addUsage, usageOfMinutes } from '../edges/feed/usage-rows.ts';
import { createKeyRing } from '../platform/secret/key-ring.ts';
import type { Store } from '../platform/store/store.ts';
import { createTestControl, type SignedUp, type TestControl } from '../test-kit.ts';
import { onBothDatabases } from '../test-kit-databases.ts';
import { holdToTrafficLimits } from './traffic-limit.ts';

const at = Date.UTC(2026, 10, 20, 10, 7);
const hourMs = 3_600_000;
const keyRing = createKeyRing([randomBytes(32)]);
const minute = (projectId: string | undefined, minuteMs: number, over: Partial<TunnelMinute> = {}): TunnelMinute => ({
  ...{ tunnelId: 't', projectId, minuteMs, rxBytes: 10, txBytes: 20, requests: 3, connections: 1, clients: 1 },
  ...{ connectedMinutes: 1, figures: [], ...over },
});

onBothDatabases((database, skip, openStore) => {
  describe(`usage on ${database}`, { skip }, () => {
    let store: Store;
    let test: TestControl;
    let ann: SignedUp;
    const add = (rows: readonly TunnelMinute[]) => addUsage(store.db, usageOfMinutes(rows));
    const usage = (query = '') => ann.call<ProjectUsage>('GET', `/api/usage?project=${ann.projectId}${query}`);
    const hold = () => holdToTrafficLimits({ ...test, clock: () => test.time.now, store });
    const limitTo = (gigabytesPerMonth: number) =>
      store.db
        .updateTable('projects')
        .set({ limits: JSON.stringify({ gigabytesPerMonth }) })
        .execute();

    beforeEach(async () => {
      store = await openStore();
      test = await createTestControl({ store, keyRing });
      ann = await test.signUp('ann@example.com');
    });
    afterEach(async () => {
      await test.close();
      await store.close();
    });

    it('sums the tunnels of a project by hour, and adds what comes later', async () => {
      const own = ann.projectId;
      await add([minute(own, at), minute(own, at, { tunnelId: 'u' }), minute('other', at), minute(undefined, at)]);
      await add([minute(own, at), minute(own, at + hourMs), minute(own, at - 40 * 24 * hourMs)]);
      await addSignIn(store.db, own, at);
      const { month, total, days } = await usage();
      assert.equal(month, '2026-11');
      assert.deepEqual(total, { rxBytes: 40, txBytes: 80, requests: 12, connections: 4, tunnelHours: 0.1, signIns: 1 });
      assert.deepEqual(days, [{ day: '2026-11-20', ...total }]);
      assert.equal((await usage('&month=2026-10')).total.rxBytes, 10);
    });

    it('is a file with a line for each hour', async () => {
      await add([minute(ann.projectId, at), minute(ann.projectId, at + hourMs)]);
      const answer = await ann.send('GET', `/api/usage/export?project=${ann.projectId}&month=2026-11`);
      assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="usage-2026-11.csv"');
      assert.deepEqual((await answer.text()).split('\r\n'), [
        'hour,rxBytes,txBytes,requests,connections,tunnelHours,signIns',
        '2026-11-20T10:00:00.000Z,10,20,3,1,0,0',
        '2026-11-20T11:00:00.000Z,10,20,3,1,0,0',
        '',
      ]);
    });

    it('refuses a month that is none', async () => {
      for (const month of ['2026-13', '26-01', "2026-11'"])
        assert.equal((await ann.send('GET', `/api/usage?project=${ann.projectId}&month=${month}`)).status, 400, month);
    });

    it('stops the tunnels of a project beyond its limit, and starts them when it is raised or the month ends', async () => {
      const tunnel = { name: 'shop', region: 'local', type: 'http', ingressDomains: [], proxyProtocol: '' };
      await ann.call('POST', `/api/tunnels?project=${ann.projectId}`, tunnel);
      const [id] = (await store.db.selectFrom('tunnels').select('id').execute()).map((row) => row.id);
      const isStopped = async () => (await readTunnels(store.db, { keyRing, origin: '' }, [id!], at))[0]!.tunnel.suspended;
      await add([minute(ann.projectId, at, { rxBytes: 9e8 })]);
      await limitTo(1);
      await hold();
      assert.equal(await isStopped(), false);
      await add([minute(ann.projectId, at, { txBytes: 1e8 })]);
      test.feed.changed.length = 0;
      await hold();
      assert.equal(await isStopped(), true);
      assert.deepEqual(test.feed.changed, [id]);
      const { gigabytesPerMonth, stoppedSince } = await usage();
      assert.deepEqual([gigabytesPerMonth, stoppedSince], [1, new Date(test.time.now).toISOString()]);
      assert.equal((await usage('&month=2026-10')).stoppedSince, undefined);
      const { attention } = await ann.call<Overview>('GET', `/api/overview?project=${ann.projectId}`);
      assert.deepEqual(
        attention.filter(({ kind }) => kind === 'quota-full').map(({ quota, affected, total }) => [quota, affected, total]),
        [['gigabytesPerMonth', 1, 1]],
      );
      await limitTo(2);
      await hold();
      assert.equal(await isStopped(), false);
      await limitTo(1);
      await hold();
      test.time.now = Date.UTC(2026, 11, 1);
      await hold();
      assert.equal(await isStopped(), false);
    });
  });
});
