// The list of tunnels by search, status and order, whole and in pages (spec 7, GET /api/tunnels).

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { readPage } from '@underpass/rules/list/list-page.ts';
import { CompiledQuery } from 'kysely';
import type { Store } from '../../platform/store/store.ts';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';
import { onBothDatabases, type StoreSuite } from '../../test-kit-databases.ts';

const suite: StoreSuite = (name, skip, open) =>
  describe(`list of tunnels on ${name}`, { skip }, () => {
    let test: TestControl;
    let ann: SignedUp;
    let store: Store;

    const client = { id: 'c', address: '', version: '', since: '', edge: '', rttMs: null, healthy: true };

    const make = async (who: SignedUp, name: string, ingressDomains: readonly string[] = []): Promise<string> => {
      await who.call('POST', `/api/tunnels?project=${who.projectId}`, { name, region: 'local', ingressDomains });
      const { id } = await test.store.db.selectFrom('tunnels').select('id').where('name', '=', name).executeTakeFirstOrThrow();
      return id;
    };

    before(async () => {
      store = await open();
      test = await createTestControl({ store });
      ann = await test.signUp('ann@example.com');
      await make(await test.signUp('bob@example.com'), 'shop-of-bob');
      for (const name of ['shop-10', 'shop-9', 'connected-cars', 'wiki']) test.feed.serving.add(await make(ann, name));
      test.feed.connected.set([...test.feed.serving].at(-1) ?? '', [client]);
      await make(ann, 'blog', ['shop.example.com', 'blog.example.com']);
      await make(ann, 'new');
      const label = { label: 'label', user_id: ann.userId, expires_at: test.time.now + 1000, ends_at: null };
      const wiki = [...test.feed.serving].at(-1) ?? '';
      await test.store.db
        .insertInto('quick_tunnels')
        .values({ tunnel_id: wiki, ...label })
        .execute();
    });
    after(async () => {
      await test.close();
      await store.close();
    });

    const list = async (query: string) => {
      const response = await ann.send('GET', `/api/tunnels?project=${ann.projectId}&${query}`);
      assert.equal(response.status, 200, query);
      const page = readPage((await response.json()) as Tunnel[], response.headers);
      return { ...page, names: page.rows.map(({ name }) => name) };
    };

    it('without a query is the whole list in the order of creation, as it always was', async () => {
      const { names, next, total, counts } = await list('');
      assert.deepEqual(names, ['shop-10', 'shop-9', 'connected-cars', 'wiki', 'blog', 'new']);
      assert.deepEqual([next, total, counts], [null, 6, { Connected: 1, Disconnected: 3, Pending: 1, Unknown: 1 }]);
    });

    for (const [query, names] of [
      ['sort=name', ['blog', 'connected-cars', 'new', 'shop-9', 'shop-10', 'wiki']],
      ['sort=-name', ['wiki', 'shop-10', 'shop-9', 'new', 'connected-cars', 'blog']],
      ['sort=status', ['wiki', 'shop-10', 'shop-9', 'connected-cars', 'blog', 'new']],
      ['status=Disconnected&sort=name', ['connected-cars', 'shop-9', 'shop-10']],
      ['q=shop&sort=name', ['blog', 'shop-9', 'shop-10']],
      ['q=SHOP%20HTTP%20machine&sort=name', ['blog', 'shop-9', 'shop-10']],
      // A status is found by its beginning, a name by any part.
      ['q=connected&sort=name', ['connected-cars', 'wiki']],
      ['q=disconn%20shop&sort=name', ['shop-9', 'shop-10']],
      ['q=nected-c', ['connected-cars']],
      ['q=local%20blog', ['blog']],
      ['q=this&status=Pending', ['blog']],
      ['q=temporary', ['wiki']],
      // No word of a generated name contains all of it, as temple does a part.
      ['q=temporary%20conn', ['wiki']],
      // The wildcards of LIKE are letters.
      ['q=%25', []],
      ['q=shop_9', []],
      ['q=%5C', []],
      ['q=of-bob', []],
    ] as const) {
      it(`${query}: ${names.join(', ') || 'nothing'}`, async () => assert.deepEqual((await list(query)).names, names));
    }

    for (const sort of ['name', '-domains', 'status', '-type']) {
      it(`pages by ${sort} make up the whole list by the links of the answers, and lead back`, async () => {
        const whole = await list(`sort=${sort}`);
        const names: string[] = [];
        let page = await list(`sort=${sort}&limit=2`);
        const first = page;
        for (; ; page = await list(`sort=${sort}&limit=2&after=${encodeURIComponent(page.next)}`)) {
          names.push(...page.names);
          assert.equal(page.total, 6);
          if (page.next === null) break;
        }
        assert.deepEqual(names, whole.names);
        assert.equal(first.previous, null);
        page = await list(`sort=${sort}&limit=2&before=${encodeURIComponent(page.previous ?? '')}`);
        assert.deepEqual([page.names, page.previous], [names.slice(2, 4), '']);
      });
    }

    /** What the database is asked while `work` runs. */
    const record = async (work: () => Promise<unknown>): Promise<readonly CompiledQuery[]> => {
      const executor = store.db.getExecutor();
      const { executeQuery } = executor;
      const asked: CompiledQuery[] = [];
      executor.executeQuery = (query: CompiledQuery, ...rest: never[]) => {
        asked.push(query);
        return executeQuery.call(executor, query, ...rest) as never;
      };
      await work().finally(() => Object.assign(executor, { executeQuery }));
      return asked;
    };

    for (const query of ['sort=name&limit=50', 'q=shop&sort=-region&limit=50', 'q=disc%20shop&sort=status&limit=50']) {
      it(`${query}: the database reads the texts and hosts of other tables once, and no other project's`, async () => {
        const asked = await record(() => list(query));
        assert.ok(asked.length < 12, `${asked.length} queries`);
        if (store.kind !== 'sqlite') return;
        const plans = await Promise.all(asked.map((each) => planOf(each)));
        const lists = plans.filter((plan) => /SEARCH (?:t|tunnel_hosts) .*\(project_id=\?\)/.test(plan));
        assert.ok(lists.length >= 2, plans.join('\n\n'));
        for (const plan of lists) {
          // A count of the tunnel's hosts, if there is a search, reads an index alone.
          const perTunnel = /CORRELATED (?!SCALAR SUBQUERY \d+\nSEARCH h USING COVERING INDEX tunnel_hosts_tunnel )/;
          assert.doesNotMatch(plan, perTunnel);
          assert.doesNotMatch(plan, /SCAN (?!r\b)/);
        }
        assert.match(plans.join('\n'), /INDEX tunnel_hosts_waiting \(project_id=\?\)/);
        assert.doesNotMatch(plans.join('\n'), /\(live_host=\?\)/);
      });
    }

    const planOf = async ({ sql, parameters }: CompiledQuery): Promise<string> => {
      const query = CompiledQuery.raw(`explain query plan ${sql}`, [...parameters]);
      const { rows } = await store.db.executeQuery<{ detail: string }>(query);
      return rows.map(({ detail }) => detail).join('\n');
    };

    it('adds up ingress domains and clients of all tunnels that a search finds, on every page', async () => {
      assert.deepEqual((await list('limit=1')).sums, { ingressDomains: 7, connectedClients: 1 });
      assert.deepEqual((await list('q=shop')).sums, { ingressDomains: 4, connectedClients: 0 });
      assert.deepEqual((await list('q=nothing')).sums, { ingressDomains: 0, connectedClients: 0 });
    });

    it('keeps the token from viewers, and refuses what it does not know', async () => {
      const viewer = await test.signUp('viewer@example.com');
      await test.addMember(ann.projectId, viewer.userId, 'viewer');
      const path = `/api/tunnels?project=${ann.projectId}&limit=2`;
      assert.ok((await viewer.call<Tunnel[]>('GET', path)).every(({ token }) => token === undefined));
      for (const query of ['limit=0', 'limit=x', 'sort=token', 'status=connected', `q=${'x'.repeat(101)}`]) {
        assert.equal((await ann.send('GET', `/api/tunnels?project=${ann.projectId}&${query}`)).status, 400, query);
      }
    });
  });

onBothDatabases(suite);
