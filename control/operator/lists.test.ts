// The operator's lists on each database: every sort is a query that it can answer, and the pages are those of all rows.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  abuseReportList,
  allTunnelList,
  blockList,
  type ListPage,
  type ListQuery,
  type ListRules,
  projectList,
  registrationList,
  subscriptionList,
  userList,
} from '@underpass/rules/list/list-page.ts';
import { addProject, addRegion, addTunnel } from '../edges/feed/test-kit.ts';
import { createId } from '../platform/store/id.ts';
import type { Store } from '../platform/store/store.ts';
import { onBothDatabases, type StoreSuite } from '../test-kit-databases.ts';
import { listAbuseReports } from './abuse-reports.ts';
import { type ActingOperator, newest } from './actor.ts';
import { listBlocks } from './blocks.ts';
import { listAllProjects } from './projects.ts';
import { listRegistrations } from './registrations.ts';
import { listSubscriptions } from './subscriptions.ts';
import { listAllTunnels } from './tunnels.ts';
import { listUsers } from './users.ts';

type Read = (operator: ActingOperator, query: ListQuery) => Promise<ListPage<{ readonly id: string }>>;

const lists: readonly (readonly [string, ListRules, Read])[] = [
  ['users', userList, listUsers],
  ['projects', projectList, listAllProjects],
  ['tunnels', allTunnelList, listAllTunnels],
  ['blocks', blockList, listBlocks],
  ['registrations', registrationList, (operator, query) => listRegistrations(operator, { state: 'waiting' }, query)],
  ['subscriptions', subscriptionList, listSubscriptions],
  ['reports', abuseReportList, (operator, query) => listAbuseReports(operator, 'open', query)],
];

const suite: StoreSuite = (name, skip, open) =>
  describe(`the operator's lists with ${name}`, { skip }, () => {
    let store: Store;
    let operator: ActingOperator;
    before(async () => {
      store = await open();
      operator = { deps: { store, feed: { isServing: () => false } }, nowMs: 0 } as unknown as ActingOperator;
      const ends = [null, 20, 3, 3, 100];
      const of = { source: 'import' as const, active: 1 as const, updated_at: 0 };
      const rows = ends.map((expires_at, i) => ({ id: createId(i), email: `${i}@example.org`, expires_at, ...of }));
      await store.db.insertInto('subscriptions').values(rows).execute();
    });
    after(() => store.close());

    for (const [list, rules, read] of lists) {
      it(`of ${list}: any sort, status, search and cursor has an answer`, async () => {
        for (const sort of [undefined, ...rules.sorts]) {
          const query = { ...newest("a%_'b c"), sort, status: rules.statuses[0] };
          for (const cursor of ['', '~', '1~2', '~1e999', '~x'])
            for (const turn of [{ after: cursor }, { before: cursor }])
              assert.deepEqual((await read(operator, { ...query, ...turn })).rows, [], `${sort} ${cursor}`);
        }
      });
    }

    it('tells which project sends most in the last hour', async () => {
      const nowMs = 100 * 60_000;
      await addRegion(store.db, 'eu');
      const of = { connections: 1, clients: 1 };
      for (const [name, megabytes] of Object.entries({ quiet: 1, loud: 300, old: 0, older: 0 })) {
        const { projectId, groupId } = await addProject(store.db, name);
        const tunnel_id = await addTunnel(store.db, { projectId, groupId, region: 'eu', name: 't', hosts: [] });
        const rows = [
          { start_at: 39 * 60_000, tunnel_id, rx_bytes: megabytes > 0 ? 0 : 9e12, tx_bytes: 0, ...of },
          { start_at: 41 * 60_000, tunnel_id, rx_bytes: megabytes * 4e5, tx_bytes: megabytes * 6e5, ...of },
        ].filter((row) => row.rx_bytes > 0);
        await store.db.insertInto('history_minutes').values(rows).execute();
      }
      const query = { ...newest(), sort: 'traffic' };
      const page = await listAllProjects({ ...operator, nowMs }, query);
      assert.deepEqual(page.rows.map(({ name, trafficBytes }) => [name, trafficBytes]).slice(0, 2), [
        ['loud', 3e8],
        ['quiet', 1e6],
      ]);
      assert.deepEqual(
        page.rows.slice(2).map(({ trafficBytes }) => trafficBytes),
        [0, 0],
      );
    });

    it('sorts numbers by value, keeps equal ones apart, and goes back', async () => {
      const page = (over: Partial<ListQuery>) =>
        listSubscriptions(operator, { ...newest('', 2), sort: 'expires', descending: false, ...over });
      const emails = ({ rows }: { readonly rows: readonly { readonly email: string }[] }) =>
        rows.map(({ email }) => email[0]).join('');
      const first = await page({});
      const second = await page({ after: first.next! });
      const third = await page({ after: second.next! });
      assert.deepEqual([first, second, third].map(emails), ['23', '14', '0']);
      assert.deepEqual([first.previous, second.previous, third.next], [null, '', null]);
      assert.deepEqual(await page({ before: third.previous! }), second);
      assert.deepEqual([first.total, first.counts], [5, { Active: 5, Ended: 0 }]);
    });
  });

onBothDatabases(suite);
