// Alerts from end to end inside control: what opens and closes them, who hears of it when, and that nothing false is told. On both
// databases.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { AlertPage, Overview } from '@underpass/rules/entity/resource.ts';
import { readOwnCertificates } from '../overview/facts.ts';
import { createId } from '../platform/store/id.ts';
import { createWithLease } from '../platform/store/lease.ts';
import type { Schema } from '../platform/store/schema.ts';
import type { Store } from '../platform/store/store.ts';
import { createTestControl, type SignedUp, type TestControl, testOrigin } from '../test-kit.ts';
import { onBothDatabases, type StoreSuite } from '../test-kit-databases.ts';
import { createAlertPasses } from './passes.ts';

const second = 1000;
const minute = 60 * second;
const iso = (ms: number): string => new Date(ms).toISOString();
const client = (healthy = true) => ({
  ...{ id: 'c', address: '192.0.2.9', version: '', since: '2026-11-20T09:00:00.000Z', edge: '', rttMs: null, healthy },
});

const suite: StoreSuite = (name, skip, open) =>
  describe(`alerts on ${name}`, { skip }, () => {
    let test: TestControl;
    let store: Store;
    let ann: SignedUp;
    let count = 0;

    before(async () => {
      store = await open();
      test = await createTestControl({ store });
    });
    after(async () => {
      await test.close();
      await store.close();
    });
    beforeEach(async () => {
      test.time.now += 60 * minute;
      ann = await test.signUp(`ann-${++count}@example.com`);
      await store.db.deleteFrom('alerts').execute();
      await store.db.deleteFrom('last_clients').execute();
      test.feed.knownEdges.splice(0, Infinity, edge('e1'));
      test.mails.length = 0;
    });

    const edge = (id: string, over = {}) => ({
      ...{ id, region: 'local', version: '', connected: true, since: iso(test.time.now - 60 * minute) },
      ...{ lastSeenAt: iso(test.time.now), acknowledged: true, clients: 0, ...over },
    });

    const pass = async (at: 'quick' | 'slow' = 'quick'): Promise<void> => {
      const certificates = { ofNames: async () => new Map() };
      const withLease = createWithLease(store, () => test.time.now);
      const deps = {
        store,
        feed: test.feed,
        certificates,
        clock: () => test.time.now,
        withLease,
        jobs: { wake: () => {} },
        origin: testOrigin,
      };
      const [quick, slow] = createAlertPasses(deps);
      await (at === 'quick' ? quick : slow)!.run();
      await test.control.settle();
    };
    const pageOf = (who: SignedUp, project = ann.projectId) => who.call<AlertPage>('GET', `/api/alerts?project=${project}`);
    const titles = async (who = ann) => (await pageOf(who, ann.projectId)).alerts.map(({ state, title }) => `${state}: ${title}`);
    const mailsTo = (who: SignedUp) => test.mails.filter(({ to }) => to === who.email).map(({ subject }) => subject);

    const make = async (tunnel: string, over: Partial<Schema['last_clients']> = {}): Promise<string> => {
      const id = createId(test.time.now);
      const groups = store.db.selectFrom('security_groups').select('id').where('project_id', '=', ann.projectId);
      const group = await groups.executeTakeFirstOrThrow();
      const kind = { type: 'http' as const, region: 'local', proxy_protocol: '' as const, access_policy_id: null };
      const row = { id, project_id: ann.projectId, name: tunnel, security_group_id: group.id, suspended_at: null, ...kind };
      await store.db
        .insertInto('tunnels')
        .values({ ...row, created_at: 0, updated_at: 0 })
        .execute();
      test.feed.serving.add(id);
      await remember(id, over);
      return id;
    };
    const remember = (tunnelId: string, over: Partial<Schema['last_clients']>) =>
      store.db
        .insertInto('last_clients')
        .values({
          ...{ tunnel_id: tunnelId, seen_at: test.time.now - minute, address: '192.0.2.9', left_at: null, on_purpose: 0 },
          ...{ error_code: '', error_address: '', error_at: 0, ...over },
        })
        .onConflict((conflict) => conflict.column('tunnel_id').doUpdateSet({ tunnel_id: tunnelId, ...over }))
        .execute();
    const fall = (id: string, agoMs = 0) => {
      test.feed.connected.delete(id);
      return remember(id, { left_at: test.time.now - agoMs });
    };
    const connect = (id: string, ...clients: boolean[]) => test.feed.connected.set(id, clients.map(client));

    it('opens for a tunnel that is down for longer than its waiting time, once, and closes when it is back', async () => {
      const shop = await make('shop');
      await fall(shop);
      test.time.now += 2 * minute - 1;
      await pass();
      assert.deepEqual(await titles(), []);
      test.time.now += 1;
      await pass();
      await pass();
      assert.deepEqual(await titles(), ['open: shop is down']);
      assert.deepEqual(mailsTo(ann), ['shop is down (“default”)'.replaceAll(/[“”]/g, '"')]);
      connect(shop, true);
      test.time.now += 20 * minute;
      await pass();
      assert.deepEqual(await titles(), ['closed: shop is back']);
      assert.deepEqual(mailsTo(ann), ['shop is down ("default")', 'shop is back ("default")']);
    });

    it('opens for a public port that is not open, though the clients work, and waits for the edges to say that it is', async () => {
      const ssh = await make('ssh');
      connect(ssh, true);
      test.feed.portProblems.set(ssh, 'taken');
      await pass();
      test.time.now += 3 * minute;
      await pass();
      const open = 'open: ssh: the public port is not open';
      assert.deepEqual(await titles(), [open]);
      assert.match((await pageOf(ann)).alerts[0]!.text, /Another program/);
      const [shown] = (await ann.call<Overview>('GET', `/api/overview?project=${ann.projectId}`)).attention;
      assert.deepEqual([shown?.kind, shown?.tunnel, shown?.portProblem], ['port-closed', 'ssh', 'taken']);
      test.feed.portProblems.clear();
      test.feed.knownEdges.splice(0, Infinity);
      await pass();
      assert.deepEqual(await titles(), [open], 'control has just started');
      test.feed.knownEdges.push(edge('e1'));
      await pass();
      assert.deepEqual(await titles(), ['closed: ssh: the public port is not open']);
    });

    it('says whether one tunnel or all of the region are down, since when, and the last error', async () => {
      const error = { error_code: 'token-refused', error_address: '192.0.2.7', error_at: test.time.now };
      await fall(await make('shop', error), 3 * minute);
      connect(await make('blog'), true);
      await pass();
      const [alert] = (await pageOf(ann)).alerts;
      assert.equal(
        alert?.text,
        'Last error: token refused, client at 192.0.2.7. Of 2 tunnels in region local, only this one is down.',
      );
      assert.equal(alert?.since, iso(test.time.now - 3 * minute));
      assert.match(
        test.mails[0]?.text ?? '',
        /shop is down\. Last error: token refused.* only this one is down\. Since 2026-.* UTC\./,
      );
    });

    it('opens for an upstream that fails for every client, and is one alert with the client that goes then', async () => {
      const shop = await make('shop');
      connect(shop, true, false);
      await pass();
      test.time.now += 3 * minute;
      await pass();
      assert.deepEqual(await titles(), [], 'visitors are served');
      connect(shop, false, false);
      await pass();
      test.time.now += 2 * minute;
      await pass();
      assert.deepEqual(await titles(), ['open: shop: the upstream does not answer']);
      await fall(shop, 3 * minute);
      await pass();
      assert.equal((await titles()).length, 1);
      assert.equal(mailsTo(ann).length, 1);
    });

    it('forgets what passes within the waiting time', async () => {
      const shop = await make('shop');
      connect(shop, false);
      await pass();
      connect(shop, true);
      await pass();
      assert.deepEqual(await store.db.selectFrom('alerts').selectAll().execute(), []);
    });

    it('takes the waiting time of the project', async () => {
      await fall(await make('shop'), 3 * minute);
      await ann.call('PATCH', `/api/alerts/settings?project=${ann.projectId}`, { waitSeconds: 300 });
      await pass();
      assert.deepEqual(await titles(), []);
      assert.equal((await pageOf(ann)).waitSeconds, 300);
      for (const waitSeconds of [29, 86_401, 60.5])
        assert.equal((await ann.send('PATCH', `/api/alerts/settings?project=${ann.projectId}`, { waitSeconds })).status, 400);
    });

    it('tells nothing while the edges do not say who is connected', async () => {
      const shop = await make('shop', { seen_at: test.time.now - 10 * minute });
      for (const [why, edges] of [
        ['its edge has just come back', [edge('e1', { since: iso(test.time.now - 30 * second) })]],
        ['one of two edges is silent, and the other saw no leave', [edge('e1'), edge('e2', { connected: false })]],
      ] as const) {
        test.feed.knownEdges.splice(0, Infinity, ...edges);
        await remember(shop, { left_at: null });
        await pass();
        assert.deepEqual(await titles(), [], why);
      }
      test.feed.knownEdges.splice(0, Infinity, edge('e1'));
      test.feed.serving.delete(shop);
      await pass();
      assert.deepEqual(await titles(), [], 'its route is new');
      test.feed.serving.add(shop);
      await pass();
      assert.deepEqual(await titles(), ['open: shop is down']);
      test.feed.knownEdges.splice(0, Infinity, edge('e1', { since: iso(test.time.now) }));
      await pass();
      assert.deepEqual(await titles(), ['open: shop is down'], 'a restart closes nothing');
      test.feed.serving.delete(shop);
      await pass();
      assert.deepEqual(await titles(), ['open: shop is down'], 'nor does a new route');
    });

    it('names a region once, with the number of its tunnels, and no tunnel of it', async () => {
      for (const each of ['shop', 'blog', 'wiki']) await make(each);
      await make('halted', { left_at: test.time.now - minute, on_purpose: 1 });
      test.feed.knownEdges.splice(0, Infinity, edge('e1', { connected: false, lastSeenAt: iso(test.time.now) }));
      await pass();
      assert.deepEqual(await titles(), []);
      test.time.now += 2 * minute;
      await pass();
      test.feed.knownEdges.length = 0;
      await pass();
      assert.deepEqual(await titles(), ['open: Region local does not answer']);
      assert.deepEqual(mailsTo(ann), ['Region local does not answer ("default")']);
      assert.match(test.mails[0]?.text ?? '', /3 tunnels of this project may be down/);
    });

    it('gathers what follows a mail into one, with the rest of a flood counted', async () => {
      await fall(await make('first'), 3 * minute);
      await pass();
      for (let at = 0; at < 60; at += 1) await fall(await make(`t${at}`), 3 * minute);
      test.time.now += minute;
      await pass();
      test.time.now += 13 * minute;
      await pass();
      assert.equal(mailsTo(ann).length, 1);
      test.time.now += minute;
      await pass();
      await pass();
      assert.deepEqual(mailsTo(ann).slice(1), ['60 tunnels are down ("default")']);
      assert.match(test.mails.at(-1)?.text ?? '', /And 10 more alerts\./);
    });

    it('goes to members by default, to viewers who ask, and to nobody who switched it off', async () => {
      const [bob, vic] = [await test.signUp(`bob-${count}@example.com`), await test.signUp(`vic-${count}@example.com`)];
      await test.addMember(ann.projectId, bob.userId, 'member');
      await test.addMember(ann.projectId, vic.userId, 'viewer');
      assert.deepEqual([(await pageOf(bob, ann.projectId)).mail, (await pageOf(vic, ann.projectId)).mail], [true, false]);
      await bob.call('PATCH', `/api/alerts/mail?project=${ann.projectId}`, { mail: false });
      await vic.call('PATCH', `/api/alerts/mail?project=${ann.projectId}`, { mail: true });
      test.time.now += second;
      await fall(await make('shop'), 3 * minute);
      await pass();
      assert.deepEqual(
        [ann, bob, vic].map((who) => mailsTo(who).length),
        [1, 0, 1],
      );
    });

    it('tells of a new API token to all but its maker and viewers, and of a new owner only once', async () => {
      const [bob, vic] = [await test.signUp(`bob-${count}@example.com`), await test.signUp(`vic-${count}@example.com`)];
      await test.addMember(ann.projectId, bob.userId, 'admin');
      await test.addMember(ann.projectId, vic.userId, 'viewer');
      await bob.call('POST', `/api/tokens?project=${ann.projectId}`, { name: 'deploy', role: 'viewer' });
      await ann.call('PATCH', `/api/members/${bob.userId}?project=${ann.projectId}`, { role: 'owner' });
      await pass();
      await pass();
      const all = [`closed: ${bob.email} is a new owner`, `closed: ${bob.email} created the API token ‘deploy’`];
      assert.deepEqual(await titles(), all);
      assert.deepEqual(await titles(vic), all.slice(0, 1));
      assert.deepEqual(mailsTo(ann), [
        'New owner of a project on Underpass',
        `${bob.email} created the API token ‘deploy’ ("default")`,
      ]);
      assert.deepEqual(mailsTo(bob), ['New API token on Underpass', 'New owner of a project on Underpass']);
      assert.deepEqual(mailsTo(vic), []);
    });

    it('mails 30, 7 and 1 days before the end of a certificate of the project, once each, and when it has ended', async () => {
      const day = 24 * 60 * minute;
      const tunnelId = await make('own');
      const host = `own-${count}.example.com`;
      const end = test.time.now + 31 * day;
      await store.db
        .insertInto('tunnel_hosts')
        .values({
          ...{ tunnel_id: tunnelId, project_id: ann.projectId, host, live_host: host, apex_name: 'example.com', position: 0 },
          ...{ blocked: null, dns_checked_at: null, dns_missing_since: null },
        })
        .execute();
      const own = { id: `own-${tunnelId}`, tunnel_id: tunnelId, host, chain_pem: '', key_sealed: '', warning: '' };
      const times = { starts_at: 0, expires_at: end, created_at: 0 };
      await store.db
        .insertInto('own_certificates')
        .values({ ...own, fallback: 1, ...times })
        .execute();
      const news = [];
      for (let left = 31; left >= 0; left--) {
        test.time.now = end - left * day;
        await pass('slow');
        await pass('slow');
        news.push(...mailsTo(ann).map((subject) => `${left}: ${subject.replace(/ \(.*/, '')}`));
        test.mails.length = 0;
      }
      const text = `The project’s certificate of ${host}`;
      assert.deepEqual(news, [
        `30: ${text} ends within 30 days`,
        `7: ${text} ends within 7 days`,
        `1: ${text} ends within 1 day`,
        `0: ${text} has ended`,
      ]);
      const certificate = { until: end + day, lastOrderFailed: false };
      const certificates = { ofNames: async (hosts: readonly string[]) => new Map(hosts.map((each) => [each, certificate])) };
      assert.deepEqual(await readOwnCertificates({ store, certificates }, ann.projectId, end), [], 'another one serves');
    });

    it('warns of a domain that is lost soon, a token that ends, and a quota at 80 and 100 %', async () => {
      const { id } = await ann.call<{ id: string }>('POST', `/api/tokens?project=${ann.projectId}`, {
        ...{ name: 'nightly', role: 'viewer', expiresInDays: 5 },
      });
      assert.ok(id);
      const domain = { project_id: ann.projectId, apex_name: `a${count}.example`, challenge: 'x', created_at: 1, checked_at: 1 };
      const proven = {
        verified_at: 1,
        owned_apex: domain.apex_name,
        misses: 1,
        first_missed_at: test.time.now,
        from_quick: null,
      };
      await store.db
        .insertInto('domains')
        .values({ id: createId(test.time.now), ...domain, ...proven } as never)
        .execute();
      await store.db
        .updateTable('projects')
        .set({ limits: '{"tunnels":5,"domains":1}' })
        .where('id', '=', ann.projectId)
        .execute();
      const [stray] = [await make('a'), await make('b'), await make('c'), await make('d')];
      const host = { tunnel_id: stray, project_id: ann.projectId, host: `a${count}.test`, apex_name: '', position: 0 };
      const missing = { dns_missing_since: test.time.now - 2, dns_checked_at: test.time.now - 1 };
      await store.db
        .insertInto('tunnel_hosts')
        .values({ ...host, blocked: null, live_host: host.host, ...missing })
        .execute();
      for (let round = 0; round < 2; round += 1) await pass('slow');
      const expected = [
        `open: a${count}.example will be unverified`,
        `open: a${count}.test does not lead here`,
        'open: Little room for more tunnels',
        'open: No room for more domains',
        'open: The API token ‘nightly’ ends',
      ];
      assert.deepEqual((await titles()).toSorted(), expected.toSorted());
      await store.db.updateTable('domains').set({ first_missed_at: null }).where('project_id', '=', ann.projectId).execute();
      await pass('slow');
      assert.equal((await titles()).filter((title) => title.startsWith('open')).length, 4);
      assert.equal(mailsTo(ann).length, 2, 'the end of a warning is no news; the other mail is the notice');
    });

    it('is shown to members alone, and changed by owners and admins', async () => {
      const [bob, eve] = [await test.signUp(`bob-${count}@example.com`), await test.signUp(`eve-${count}@example.com`)];
      await test.addMember(ann.projectId, bob.userId, 'member');
      const path = `/api/alerts/settings?project=${ann.projectId}`;
      assert.equal((await bob.send('PATCH', path, { waitSeconds: 60 })).status, 403);
      assert.equal((await eve.send('GET', `/api/alerts?project=${ann.projectId}`)).status, 404);
      const { token } = await ann.call<{ token: string }>('POST', `/api/tokens?project=${ann.projectId}`, {
        name: 't',
        role: 'viewer',
      });
      const program = test.client(token);
      assert.equal((await program.send('GET', `/api/alerts?project=${ann.projectId}`)).status, 200);
      assert.equal((await program.send('PATCH', `/api/alerts/mail?project=${ann.projectId}`, { mail: false })).status, 403);
    });

    it('writes nothing while nothing changes', async () => {
      connect(await make('shop'), true);
      await pass();
      let writes = 0;
      const write = (work: never): unknown => {
        writes += 1;
        return store.write(work);
      };
      const counted = { ...store, write } as Store;
      const [quick] = createAlertPasses({
        ...{ store: counted, feed: test.feed, certificates: { ofNames: async () => new Map() }, clock: () => test.time.now },
        ...{ withLease: createWithLease(counted, () => test.time.now), jobs: { wake: () => {} }, origin: testOrigin },
      });
      await quick!.run();
      assert.equal(writes, 0);
    });
  });

onBothDatabases(suite);
