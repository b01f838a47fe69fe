// The endpoint that Prometheus scrapes with an API token: whose figures it says, as which series, and as what counters.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { countFirstByte, countStatus, emptyFigures, type Figures } from '@underpass/rules/tunnel/figures.ts';
import { writeMinutes } from '../edges/feed/history-rows.ts';
import { createKeyRing } from '../platform/secret/key-ring.ts';
import type { Store } from '../platform/store/store.ts';
import { createTestControl, type SignedUp, type TestControl } from '../test-kit.ts';
import { onBothDatabases } from '../test-kit-databases.ts';

const at = Date.UTC(2026, 10, 20, 10, 7);
const keyRing = createKeyRing([randomBytes(32)]);

/** `times` in milliseconds, each of an answer with status 200. */
function figuresOf(times: readonly number[], ...statuses: readonly number[]): Figures {
  const figures = emptyFigures();
  for (const ms of times) countFirstByte(figures, ms, 0, null);
  for (const status of [...times.map(() => 200), ...statuses]) countStatus(figures, status);
  return figures;
}

const minute = (tunnelId: string, figures: Figures, minuteMs = at) => ({
  ...{ tunnelId, projectId: undefined, minuteMs, rxBytes: 10, txBytes: 20, requests: 3, connections: 1, clients: 1 },
  ...{ connectedMinutes: 1, figures },
});

onBothDatabases((database, skip, openStore) => {
  describe(`figures for Prometheus on ${database}`, { skip }, () => {
    let store: Store;
    let test: TestControl;
    let ann: SignedUp;
    const make = async (person: SignedUp, name: string): Promise<string> => {
      const tunnel = { name, region: 'local', type: 'http', ingressDomains: [], proxyProtocol: '' };
      await person.call('POST', `/api/tunnels?project=${person.projectId}`, tunnel);
      const row = await store.db
        .selectFrom('tunnels')
        .select('id')
        .where('project_id', '=', person.projectId)
        .where('name', '=', name);
      return (await row.executeTakeFirstOrThrow()).id;
    };
    const scrape = async (person: SignedUp, project = person.projectId): Promise<readonly string[]> =>
      (await (await person.send('GET', `/api/metrics?project=${project}`)).text())
        .split('\n')
        .filter((line) => !line.startsWith('#'));

    beforeEach(async () => {
      store = await openStore();
      test = await createTestControl({ store, keyRing });
      ann = await test.signUp('ann@example.com');
    });
    afterEach(async () => {
      await test.close();
      await store.close();
    });

    it('says counters of tunnels that had traffic, of this project alone, with tunnel and region', async () => {
      const bob = await test.signUp('bob@example.com');
      const [shop, other] = [await make(ann, 'shop'), await make(bob, 'other')];
      await make(ann, 'quiet');
      await writeMinutes(store, [minute(shop, figuresOf([3, 40], 404)), minute(other, figuresOf([1]))]);
      await writeMinutes(store, [minute(shop, figuresOf([90_000]), at + 60_000)]);
      const lines = await scrape(ann);
      assert.ok(lines.filter(Boolean).every((line) => line.includes('{tunnel="shop",region="local"')));
      const of = (name: string) =>
        lines.filter((line) => line.startsWith(name)).map((line) => line.replace('tunnel="shop",region="local"', ''));
      assert.deepEqual(of('underpass_tunnel_requests_total'), [
        'underpass_tunnel_requests_total{,status="1xx"} 0',
        'underpass_tunnel_requests_total{,status="2xx"} 3',
        'underpass_tunnel_requests_total{,status="3xx"} 0',
        'underpass_tunnel_requests_total{,status="4xx"} 1',
        'underpass_tunnel_requests_total{,status="5xx"} 0',
      ]);
      assert.deepEqual(of('underpass_tunnel_bytes_total'), [
        'underpass_tunnel_bytes_total{,direction="received"} 20',
        'underpass_tunnel_bytes_total{,direction="sent"} 40',
      ]);
      const buckets = of('underpass_tunnel_first_byte_seconds').map((line) =>
        line.replace('underpass_tunnel_first_byte_seconds', ''),
      );
      for (const line of [
        '_bucket{,le="0.002"} 0',
        '_bucket{,le="0.005"} 1',
        '_bucket{,le="0.05"} 2',
        '_bucket{,le="60"} 2',
        '_bucket{,le="+Inf"} 3',
        '_sum{} 90.043',
        '_count{} 3',
      ])
        assert.ok(buckets.includes(line), `${line} in ${buckets.join('\n')}`);
      assert.deepEqual(of('underpass_tunnel_connections_total'), ['underpass_tunnel_connections_total{} 2']);
      assert.deepEqual(of('underpass_tunnel_clients'), ['underpass_tunnel_clients{} 0']);
      assert.equal(lines.length - 1, 5 + 19 + 2 + 1 + 1, 'so many series for each tunnel');
    });

    it('refuses the figures of a project whose member the caller is not', async () => {
      const bob = await test.signUp('bob@example.com');
      for (const project of [ann.projectId, '', 'none'])
        assert.ok((await bob.send('GET', `/api/metrics?project=${project}`)).status >= 400, project);
      assert.equal((await bob.send('GET', `/api/metrics?project=${bob.projectId}`)).status, 200);
    });

    it('takes an API token of the project, a viewer’s too, and ends with it', async () => {
      const { token } = await ann.call<{ token: string }>('POST', `/api/tokens?project=${ann.projectId}`, {
        name: 'scrape',
        role: 'viewer',
      });
      const shop = await make(ann, 'shop');
      await writeMinutes(store, [minute(shop, figuresOf([3]))]);
      const ask = (bearer: string) => test.client(bearer).send('GET', `/api/metrics?project=${ann.projectId}`);
      const answer = await ask(token);
      assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
      assert.match(await answer.text(), /underpass_tunnel_requests_total\{tunnel="shop",region="local",status="2xx"\} 1\n/);
      assert.equal((await ask(`${token}x`)).status, 401);
    });

    it('says no answers of a tunnel whose requests the edge does not see', async () => {
      const raw = await make(ann, 'raw');
      await writeMinutes(store, [minute(raw, [])]);
      const lines = await scrape(ann);
      assert.ok(lines.includes('underpass_tunnel_connections_total{tunnel="raw",region="local"} 1'));
      assert.equal(
        lines.some((line) => /requests|first_byte/.test(line)),
        false,
      );
    });

    it('forgets a tunnel that is deleted', async () => {
      const shop = await make(ann, 'shop');
      await writeMinutes(store, [minute(shop, figuresOf([3]))]);
      await ann.call('DELETE', `/api/tunnels/shop?project=${ann.projectId}`);
      await writeMinutes(store, [minute(shop, figuresOf([3]))]);
      assert.deepEqual(await scrape(ann), ['']);
    });
  });
});
