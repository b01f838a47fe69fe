// Sends up to fifty concurrent requests on both databases: what must happen once happens once, at any isolation level.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Domain, Tunnel } from '@underpass/rules/entity/entity.ts';
import type { RecoveryCodes } from '@underpass/rules/entity/resource.ts';
import { createRecheck } from '../../edges/dns/recheck.ts';
import { silentLog } from '../../edges/feed/test-kit.ts';
import { addPasskey, askOptions, createAuthenticator, signInWith } from '../../people/passkey/test-kit.ts';
import { createTestControl, linkToken, loginForm, type SignedUp, type TestControl } from '../../test-kit.ts';
import { onBothDatabases, type StoreSuite } from '../../test-kit-databases.ts';
import { createWithLease } from './lease.ts';

const times = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));
const countOf = (statuses: readonly number[], status: number): number => statuses.filter((each) => each === status).length;

const suite: StoreSuite = (name, skip, open) =>
  describe(`races on ${name}`, { skip }, () => {
    let test: TestControl;
    let ann: SignedUp;
    let bob: SignedUp;

    before(async () => {
      test = await createTestControl({ store: await open() });
      ann = await test.signUp('ann@example.com');
      bob = await test.signUp('bob@example.com');
      assert.equal(await createTunnel(ann, { name: 'kept' }), 200);
    });
    after(async () => {
      await test.close();
      await test.store.close();
    });

    const createTunnel = async (who: SignedUp, body: object): Promise<number> =>
      (await who.send('POST', `/api/tunnels?project=${who.projectId}`, { region: 'local', ...body })).status;

    it('one answer of a passkey sent twenty times, and one recovery code: each works once', async () => {
      const carl = await test.signUp('carl@example.com');
      const { key } = await addPasskey(carl, 'Phone', createAuthenticator({ counts: false }));
      const browser = test.client();
      const credential = key.get(await askOptions(browser, '/auth/passkey/options'));
      const statuses = await times(20, async () => (await browser.send('POST', '/auth/passkey', { credential })).status);
      assert.deepEqual([countOf(statuses, 204), countOf(statuses, 401)], [1, 19]);
      const { codes } = await carl.call<RecoveryCodes>('POST', '/api/recovery-codes');
      const recoveryCode = codes[0]!;
      const used = await times(20, async () => (await carl.send('POST', '/api/proof/recovery', { recoveryCode })).status);
      assert.deepEqual([countOf(used, 204), countOf(used, 400)], [1, 19]);
    });

    it('eight answers of a passkey with one count: one signs in', async () => {
      const emma = await test.signUp('emma@example.com');
      const { key } = await addPasskey(emma);
      const statuses = await times(8, async () => (await signInWith(test.client(), key, { signCount: 4 })).status);
      assert.deepEqual([countOf(statuses, 204), countOf(statuses, 401)], [1, 7]);
    });

    it('the last two passkeys removed at once where one is required, ten times: one stays', async () => {
      const dora = await test.signUp('dora@example.com');
      let kept = await addPasskey(dora);
      await dora.call('PATCH', `/api/projects/${dora.projectId}/passkeys`, { required: true });
      for (let round = 0; round < 10; round++) {
        const both = [kept, await addPasskey(dora)];
        const remove = async ({ id }: { id: string }) => (await dora.send('DELETE', `/api/passkeys/${id}`)).status;
        const statuses = await Promise.all(both.map(remove));
        assert.deepEqual(statuses.toSorted(), [204, 409]);
        kept = both[statuses.indexOf(409)]!;
      }
    });

    it('fifty tunnels of one name: one is made', async () => {
      const statuses = await times(50, () => createTunnel(ann, { name: 'same' }));
      assert.deepEqual([countOf(statuses, 200), countOf(statuses, 409)], [1, 49]);
    });

    it('fifty tunnels that claim one verified host: one has it', async () => {
      test.dns.proofs.set('raced.com', 'found');
      await ann.call('POST', `/api/domains?project=${ann.projectId}`, { name: 'raced.com' });
      await ann.call('POST', `/api/domains/raced.com/verify?project=${ann.projectId}`);
      const statuses = await times(50, (i) =>
        createTunnel(ann, { name: `r${i}`, type: 'ingress', ingressDomains: ['www.raced.com'] }),
      );
      assert.deepEqual([countOf(statuses, 200), countOf(statuses, 409)], [1, 49]);
    });

    it('two projects that verify one apex at the same moment, ten times: one owns it', async () => {
      for (let round = 0; round < 10; round++) {
        const apex = `apex-${round}.com`;
        test.dns.proofs.set(apex, 'found');
        await Promise.all(
          [ann, bob].map((who) => createTunnel(who, { name: `a${round}`, type: 'ingress', ingressDomains: [apex] })),
        );
        const verify = async (who: SignedUp) =>
          (await who.send('POST', `/api/domains/${apex}/verify?project=${who.projectId}`)).status;
        const statuses = await Promise.all([verify(ann), verify(bob), verify(ann), verify(bob)]);
        assert.equal(countOf(statuses, 409), 2, statuses.join());
        const lists = await Promise.all(
          [ann, bob].map((who) => who.call<Domain[]>('GET', `/api/domains?project=${who.projectId}`)),
        );
        assert.equal(lists.flat().filter((each) => each.apexName === apex && each.verified).length, 1);
        const live = await test.store.db.selectFrom('tunnel_hosts').select('tunnel_id').where('live_host', '=', apex).execute();
        assert.equal(live.length, 1);
      }
    });

    it('forty generated names in two projects: all differ', async () => {
      const made = await times(40, (i) => {
        const who = i % 2 === 0 ? ann : bob;
        return who.call<Tunnel>('POST', `/api/tunnels?project=${who.projectId}`, { name: `g${i}`, region: 'local' });
      });
      assert.equal(new Set(made.map((tunnel) => tunnel.ingressDomains[0]?.name)).size, 40);
    });

    it('an access policy deleted while a tunnel takes it, ten times: the tunnel has it, or is not made', async () => {
      for (let round = 0; round < 10; round++) {
        const name = `policy-${round}`;
        await ann.call('POST', `/api/access-policies?project=${ann.projectId}`, { name });
        const drop = async () => (await ann.send('DELETE', `/api/access-policies/${name}?project=${ann.projectId}`)).status;
        const take = () => createTunnel(ann, { name: `guard-${round}`, accessPolicy: name });
        const [taken, ...dropped] = await Promise.all([take(), drop(), drop()]);
        const made = await ann.send('GET', `/api/tunnels/guard-${round}?project=${ann.projectId}`);
        const guards = made.ok && ((await made.json()) as Tunnel).accessPolicy === name;
        assert.equal(guards, taken === 200, `${taken}`);
        assert.deepEqual(dropped.toSorted(), guards ? [409, 409] : [204, 404]);
      }
    });

    it('fifty groups under a quota of ten: the quota holds', async () => {
      await test.control.operator.changeProject(bob.projectId, { limits: { securityGroups: 10 } });
      const statuses = await times(
        50,
        async (i) =>
          (await bob.send('POST', `/api/security-groups?project=${bob.projectId}`, { name: `q${i}`, allow: ['192.0.2.1'] }))
            .status,
      );
      assert.equal(countOf(statuses, 200), 9, 'the default group is the tenth');
    });

    it('twenty requests that redeem one link: one signs in', async () => {
      await test.client().call('POST', '/auth/magiclink', loginForm('ann@example.com'));
      await test.control.settle();
      const body = { token: linkToken(test.mails, 'ann@example.com') };
      const statuses = await times(
        20,
        async () => (await test.client().send('POST', '/auth/login', new URLSearchParams(body))).status,
      );
      assert.deepEqual([countOf(statuses, 204), countOf(statuses, 401)], [1, 19]);
    });

    it('two owners who remove each other: one is left, ten times', async () => {
      for (let round = 0; round < 10; round++) {
        const [one, two] = [await test.signUp(`one-${round}@example.com`), await test.signUp(`two-${round}@example.com`)];
        await test.addMember(one.projectId, two.userId, 'owner');
        const remove = (who: SignedUp, whom: SignedUp) =>
          who.send('DELETE', `/api/members/${whom.userId}?project=${one.projectId}`);
        await Promise.all([remove(one, two), remove(two, one), remove(one, one), remove(two, two)]);
        const rows = await test.store.db.selectFrom('members').select('role').where('project_id', '=', one.projectId).execute();
        assert.deepEqual(
          rows.map((row) => row.role),
          ['owner'],
        );
      }
    });

    const invite = (who: SignedUp, email: string) =>
      who.send('POST', `/api/invitations?project=${ann.projectId}`, { email, role: 'admin' });

    it('twenty invitations of one address: the last one is valid', async () => {
      const statuses = await times(20, async () => (await invite(ann, 'often@example.com')).status);
      assert.deepEqual([...new Set(statuses)], [200]);
    });

    it('an admin removed while inviting leaves no invitation, ten times', async () => {
      for (let round = 0; round < 10; round++) {
        const admin = await test.signUp(`admin-${round}@example.com`);
        await test.addMember(ann.projectId, admin.userId, 'admin');
        const inviteMany = (part: string) => times(4, (i) => invite(admin, `${part}${i}-${round}@example.com`));
        const remove = ann.send('DELETE', `/api/members/${admin.userId}?project=${ann.projectId}`);
        const [, removed] = await Promise.all([inviteMany('a'), remove, inviteMany('b')]);
        assert.equal(removed.status, 204);
        const rows = await test.store.db.selectFrom('invitations').select('id').where('invited_by', '=', admin.email).execute();
        assert.equal(rows.length, 0);
      }
    });

    it('a member removed while making API tokens leaves none, ten times', async () => {
      for (let round = 0; round < 10; round++) {
        const member = await test.signUp(`maker-of-tokens-${round}@example.com`);
        await test.addMember(ann.projectId, member.userId, 'member');
        const path = `/api/tokens?project=${ann.projectId}`;
        const make = () => times(4, () => member.send('POST', path, { name: 'ci', role: 'member' }));
        const remove = ann.send('DELETE', `/api/members/${member.userId}?project=${ann.projectId}`);
        const [, removed] = await Promise.all([make(), remove, make()]);
        assert.equal(removed.status, 204);
        const rows = await test.store.db.selectFrom('api_tokens').select('id').where('user_id', '=', member.userId).execute();
        assert.equal(rows.length, 0);
      }
    });

    it('an apex lost while hosts under it are added serves none of them, ten times', async () => {
      const { store, dns, control, time } = test;
      const run = () =>
        createRecheck({
          store,
          dns,
          clock: () => time.now,
          log: silentLog,
          withLease: createWithLease(store, () => time.now),
          onLost: control.onDomainLost,
        }).run();
      for (let round = 0; round < 10; round++) {
        const apex = `lost-${round}.com`;
        await ann.call('POST', `/api/domains?project=${ann.projectId}`, { name: apex });
        // Two misses, the first long ago: the next miss loses the apex.
        const almost = { verified_at: 1, owned_apex: apex, checked_at: 1, misses: 2, first_missed_at: 1 };
        await store.db.updateTable('domains').set(almost).where('apex_name', '=', apex).execute();
        const add = (part: string) =>
          times(4, (i) =>
            createTunnel(ann, { name: `${part}${i}-${round}`, type: 'ingress', ingressDomains: [`${part}${i}.${apex}`] }),
          );
        await Promise.all([add('a'), run(), add('b')]);
        const live = store.db.selectFrom('tunnel_hosts').select('host').where('live_host', 'is not', null);
        assert.deepEqual(await live.where('apex_name', '=', apex).execute(), []);
      }
    });

    it('a region deleted while tunnels are made in it: it is in use or gone, and every answer agrees', async () => {
      const operator = await test.signUp('operator@example.com', { operator: true });
      for (let round = 0; round < 10; round++) {
        const name = `gone-${round}`;
        const maker = await test.signUp(`maker-${round}@example.com`);
        const region = { name, description: 'There', dataPlaneHost: `${name}.example.net`, tlsTermination: true };
        const wildcard = { wildcardIngressDomain: `t-${name}.example.net` };
        await operator.call('POST', '/api/operator/regions', { ...region, ...wildcard });
        const make = (part: string) => times(4, (i) => createTunnel(maker, { name: `${part}${i}`, region: name }));
        const key = operator.send('POST', `/api/operator/regions/${name}/key`);
        const first = make('a');
        const removed = operator.send('DELETE', `/api/operator/regions/${name}`);
        const made = [...(await first), ...(await make('b'))];
        const inUse = countOf(made, 200) > 0;
        assert.equal((await removed).status, inUse ? 409 : 204);
        assert.deepEqual([...new Set(made)].toSorted(), inUse ? [200] : [400]);
        assert.ok([200, 404].includes((await key).status));
      }
    });

    it('a group assigned while it is deleted: it is in use or gone, never both', async () => {
      for (let round = 0; round < 10; round++) {
        const group = `z${round}`;
        await ann.call('POST', `/api/security-groups?project=${ann.projectId}`, { name: group, allow: ['192.0.2.1'] });
        const assign = ann.send('PATCH', `/api/tunnels/kept?project=${ann.projectId}`, { securityGroup: group });
        const remove = ann.send('DELETE', `/api/security-groups/${group}?project=${ann.projectId}`);
        const statuses = (await Promise.all([assign, remove])).map((each) => each.status);
        assert.ok(
          [
            [200, 409],
            [400, 204],
          ].some((pair) => pair.join() === statuses.join()),
          statuses.join(),
        );
      }
    });

    it('a tunnel or project suspended while it is deleted: it is suspended or gone, ten times', async () => {
      const { store, control } = test;
      const stopTunnel = (id: string) => control.operator.changeTunnel(id, { suspended: true });
      const stopProject = (_: string, projectId: string) => control.operator.changeProject(projectId, { suspended: true });
      const leave = (who: SignedUp) => who.send('DELETE', '/api/account', { email: who.email });
      const cases = {
        tunnel: [stopTunnel, (who: SignedUp) => who.send('DELETE', `/api/tunnels/shop?project=${who.projectId}`), 403],
        project: [stopProject, (who: SignedUp) => who.send('DELETE', `/api/projects/${who.projectId}`, { name: 'default' }), 403],
        'tunnel-of-account': [stopTunnel, leave, 403],
        'project-of-account': [stopProject, leave, 409],
      } as const;
      for (const [kind, [suspend, begin, refused]] of Object.entries(cases)) {
        for (let round = 0; round < 10; round++) {
          const who = await test.signUp(`stopped-${kind}-${round}@example.com`);
          await who.call('POST', `/api/tunnels?project=${who.projectId}`, { name: 'shop', region: 'local' });
          const tunnels = store.db.selectFrom('tunnels').select('id').where('project_id', '=', who.projectId);
          const { id } = await tunnels.executeTakeFirstOrThrow();
          const remove = begin(who);
          const told = suspend(id, who.projectId).then(
            () => 'suspended',
            () => 'gone',
          );
          const outcome = [await told, (await remove).status, (await tunnels.execute()).length].join();
          assert.ok([`suspended,${refused},1`, 'gone,204,0'].includes(outcome), `${kind}: ${outcome}`);
        }
      }
    });

    it('a token rotated ten times at once: one is valid', async () => {
      await times(10, () => ann.send('POST', `/api/tunnels/kept/token/rotate?project=${ann.projectId}`));
      const rows = await test.store.db
        .selectFrom('tunnel_tokens as k')
        .innerJoin('tunnels as t', 't.id', 'k.tunnel_id')
        .select('k.expires_at')
        .where('t.name', '=', 'kept')
        .execute();
      assert.equal(rows.filter((row) => row.expires_at === null).length, 1);
      assert.equal(rows.length, 2);
    });
  });

onBothDatabases(suite);
