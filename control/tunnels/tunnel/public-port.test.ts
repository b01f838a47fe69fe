// The public ports of tcp tunnels: who gets which, for how long, and what a tcp tunnel does not have. On both databases.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Region, Tunnel } from '@underpass/rules/entity/entity.ts';
import type { AuditPage, Overview } from '@underpass/rules/entity/resource.ts';
import { dayMs, rateLimits } from '@underpass/rules/limits.ts';
import { deleteProject } from '../../people/project/deletion.ts';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';
import { onBothDatabases } from '../../test-kit-databases.ts';

const region = {
  name: 'local',
  description: 'This machine',
  dataPlaneHost: 'local.localhost',
  tlsTermination: true,
  wildcardIngressDomain: 'tunnels.localhost',
  httpsPort: 8443,
  httpPort: 8480,
};

const far = {
  ...region,
  ...{ name: 'far', dataPlaneHost: 'far.localhost', wildcardIngressDomain: 'far.localhost', tcpPorts: '30000-30001' },
};

onBothDatabases((name, skip, open) => {
  describe(`public ports in ${name}`, { skip }, () => {
    let test: TestControl;
    let ann: SignedUp;
    let bob: SignedUp;

    const offer = (tcpPorts = '') => test.control.operator.ensureRegion({ ...region, tcpPorts });
    const path = (rest: string, { projectId } = ann) => `/api/${rest}?project=${projectId}`;
    const send = (who: SignedUp, name: string, more: object = {}) =>
      who.send('POST', path('tunnels', who), { name, region: 'local', type: 'tcp', ...more });
    const refusalOf = async (answer: Promise<Response>) => {
      const { status } = await answer;
      return [status, await (await answer).text()];
    };
    async function make(who: SignedUp, name: string, more: object = {}): Promise<Tunnel> {
      const answer = await send(who, name, more);
      assert.equal(answer.status, 200, await answer.clone().text());
      return (await answer.json()) as Tunnel;
    }
    const remove = (who: SignedUp, name: string) => who.call('DELETE', path(`tunnels/${name}`, who));

    beforeEach(async () => {
      test = await createTestControl({ store: await open(), settings: { quickTunnels: 5 } });
      ann = await test.signUp('ann@example.com');
      bob = await test.signUp('bob@example.com');
      await offer('20000-20001');
    });
    afterEach(async () => {
      await test.close();
      await test.store.close();
    });

    it('a tcp tunnel gets one of the region, and keeps it', async () => {
      const made = await make(ann, 'database');
      assert.ok(made.port === 20_000 || made.port === 20_001, `${made.port}`);
      assert.equal(made.type, 'tcp');
      assert.deepEqual(made.ingressDomains, []);
      await ann.call('PATCH', path('tunnels/database'), { ingressDomains: [], proxyProtocol: 'v2', securityGroup: 'default' });
      const read = await ann.call<Tunnel>('GET', path('tunnels/database'));
      assert.deepEqual([read.port, read.proxyProtocol], [made.port, 'v2']);
      const { shown } = await ann.call<Overview>('GET', path('overview'));
      assert.deepEqual(
        shown.map(({ hostPort }) => hostPort),
        [`local.localhost:${made.port}`],
      );
      const { entries } = await ann.call<AuditPage>('GET', path('audit'));
      assert.equal(JSON.stringify(entries).includes(`"port":${made.port}`), true);
    });

    it('they differ, and run out with a refusal', async () => {
      const ports = [(await make(ann, 'one')).port, (await make(bob, 'two')).port];
      assert.deepEqual(ports.sort(), [20_000, 20_001]);
      const refused = "Region 'local' has no free port. Please ask the operator for more.";
      assert.deepEqual(await refusalOf(send(ann, 'three')), [409, refused]);
      assert.equal((await ann.call<Tunnel[]>('GET', path('tunnels'))).length, 1);
    });

    it('many that ask for the last one at once: one gets it', async () => {
      await make(ann, 'one');
      const askers = await Promise.all(Array.from({ length: 6 }, (_, at) => test.signUp(`p${at}@example.com`)));
      const statuses = await Promise.all(askers.map(async (who) => (await send(who, 'last')).status));
      assert.deepEqual(statuses.sort(), [200, 409, 409, 409, 409, 409]);
    });

    it('that of a deleted tunnel goes to no other project for 7 days, and to the same one at once', async () => {
      const { port } = await make(ann, 'one');
      await make(bob, 'two');
      await remove(ann, 'one');
      assert.equal((await send(bob, 'three')).status, 409);
      assert.equal((await make(ann, 'one')).port, port);
      await remove(ann, 'one');
      test.time.now += 7 * dayMs - 1;
      await test.makeFresh(bob);
      assert.equal((await send(bob, 'three')).status, 409);
      test.time.now += 2;
      assert.equal((await make(bob, 'three')).port, port);
    });

    it('rests too if the tunnel went with its project', async () => {
      await make(ann, 'one');
      await make(bob, 'two');
      await test.store.write((trx) => deleteProject(trx, ann.projectId, test.time.now));
      test.time.now += 7 * dayMs - 1;
      assert.equal((await send(bob, 'three')).status, 409);
      test.time.now += 2;
      assert.equal((await make(bob, 'three')).type, 'tcp');
    });

    const allow = (tcpPorts: number, { projectId } = ann) =>
      test.store.db
        .updateTable('projects')
        .set({ limits: JSON.stringify({ tcpPorts }) })
        .where('id', '=', projectId)
        .execute();

    it('a project that makes and deletes tunnels takes no more of them than its quota', async () => {
      await allow(1);
      const ports = new Set<number | undefined>();
      for (const name of ['a', 'b', 'c', 'd']) {
        ports.add((await make(ann, name)).port);
        await remove(ann, name);
      }
      assert.equal(ports.size, 1);
      await make(bob, 'one');
    });

    it('each of two names gets its own again, whichever comes first', async () => {
      const first = (await make(ann, 'one')).port;
      await remove(ann, 'one');
      const second = (await make(ann, 'two')).port;
      await remove(ann, 'two');
      assert.notEqual(second, first);
      assert.equal((await make(ann, 'two')).port, second);
      assert.equal((await make(ann, 'one')).port, first);
    });

    it('a new name gets a resting one of its project once the region has no other', async () => {
      const { port } = await make(ann, 'one');
      await make(bob, 'two');
      await remove(ann, 'one');
      assert.equal((await make(ann, 'other')).port, port);
    });

    const limit = async () => {
      await test.close();
      test = await createTestControl({ store: test.store, limited: true });
      ann = await test.signUp('cid@example.com');
      bob = await test.signUp('dan@example.com');
      await offer('20000-20001');
    };

    it('one person can use up only so many in a day, and may still use those that rest', async () => {
      const { points } = rateLimits.publicPortPerUser;
      await limit();
      await offer(`20000-${20_000 + 2 * points}`);
      await allow(2 * points);
      for (let at = 0; at < points; at++) await make(ann, `t${at}`);
      assert.deepEqual(await refusalOf(send(ann, 'other')), [429, rateLimits.publicPortPerUser.sentence]);
      await remove(ann, 't0');
      await make(ann, 'other');
      await remove(ann, 'other');
      await make(ann, 't0');
      await make(bob, 'two');
    });

    it('a port that rested counts for nobody', async () => {
      await limit();
      for (let at = 0; at <= rateLimits.publicPortPerUser.points; at++) {
        await make(ann, 'one');
        await remove(ann, 'one');
      }
      await make(ann, 'two');
    });

    it('a project has at most as many as its quota, resting ones included', async () => {
      await allow(1);
      await make(ann, 'one');
      const most = 'This project may have at most 1 public ports. Delete some, or ask the operator for more.';
      assert.deepEqual(await refusalOf(send(ann, 'two')), [409, most]);
      await remove(ann, 'one');
      await make(ann, 'two');
    });

    it('those that rest in another region or a former range keep no project from a new one', async () => {
      await allow(1);
      await test.control.operator.ensureRegion(far);
      await make(ann, 'one', { region: 'far' });
      await remove(ann, 'one');
      await make(ann, 'two');
      await remove(ann, 'two');
      await offer('21000-21001');
      const { port = 0 } = await make(ann, 'three');
      assert.ok(port >= 21_000, `${port}`);
      assert.equal((await send(ann, 'four', { region: 'far' })).status, 409, 'one that rests is no room beyond the quota');
    });

    it('a region without a range offers none', async () => {
      await offer();
      assert.equal((await ann.call<Region[]>('GET', '/api/regions'))[0]?.tcpPorts, undefined);
      assert.deepEqual(await refusalOf(send(ann, 'one')), [400, "Region 'local' offers tunnels of type http or ingress only"]);
      await offer('20000-20001');
      assert.equal((await ann.call<Region[]>('GET', '/api/regions'))[0]?.tcpPorts, '20000-20001');
    });

    it('a tcp tunnel has no domains and no access policy, and says so', async () => {
      const noHosts = 'A tcp tunnel has a port of its region, and no ingress domains.';
      const noPolicy = 'An access policy needs an http tunnel: the service cannot see inside a tcp tunnel.';
      const hosts = { ingressDomains: ['db.example.com'] };
      assert.deepEqual(await refusalOf(send(ann, 'one', hosts)), [400, noHosts]);
      assert.deepEqual(await refusalOf(send(ann, 'one', { accessPolicy: 'team' })), [400, noPolicy]);
      await make(ann, 'one');
      const change = (body: object) => ann.send('PATCH', path('tunnels/one'), body);
      assert.deepEqual(await refusalOf(change(hosts)), [400, noHosts]);
      assert.deepEqual(await refusalOf(change({ accessPolicy: 'team' })), [400, noPolicy]);
    });

    it('the page says why an edge does not listen', async () => {
      await make(ann, 'one');
      const { id } = await test.store.db.selectFrom('tunnels').select('id').executeTakeFirstOrThrow();
      test.feed.portProblems.set(id, 'taken');
      assert.equal((await ann.call<Tunnel>('GET', path('tunnels/one'))).portProblem, 'taken');
    });

    it('a quick tunnel gets one, and its folder the same again', async () => {
      const start = async (body: object = {}) => {
        const answer = await ann.send('POST', path('quick-tunnels'), { key: 'k'.repeat(43), type: 'tcp', ...body });
        return answer.ok ? ((await answer.json()) as Tunnel) : answer.text();
      };
      const first = (await start()) as Tunnel;
      assert.equal(first.type, 'tcp');
      assert.ok(first.expiresAt);
      await ann.call('DELETE', `${path(`tunnels/${first.name}`)}&unkept=1`);
      const again = (await start()) as Tunnel;
      assert.deepEqual([again.name, again.port], [first.name, first.port]);
      assert.equal(((await start()) as Tunnel).port, first.port, 'a second start takes the tunnel that is there');
      assert.equal(
        await start({ ingressDomains: ['a.example.com'] }),
        'A tcp tunnel has a port of its region, and no ingress domains.',
      );
      assert.equal(await start({ type: 'ingress' }), 'A quick tunnel is of type http or tcp.');
      const http = (await start({ type: 'http' })) as Tunnel;
      assert.notEqual(http.name, first.name);
      await offer();
      assert.equal(await start({ key: 'n'.repeat(43) }), 'No available region offers quick tcp tunnels.');
    });
  });
});
