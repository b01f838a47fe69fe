// What is tried against blocks, on both databases: spellings of one address, networks that close the service or lock the operator
// out, names of the service and public suffixes; a blocked name that comes back by another project, a subdomain, a made-up name, a
// quick tunnel, a verification, an edit, a race; and the end of one of two blocks.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { AuditPage, Block, BlockImport } from '@underpass/rules/entity/resource.ts';
import type { Store } from '../platform/store/store.ts';
import { createTestControl, type SignedUp, type TestControl, testOrigin } from '../test-kit.ts';
import { onBothDatabases } from '../test-kit-databases.ts';
import { darkenMissed } from '../tunnels/domain/blocked-names.ts';

onBothDatabases((database, skip, open) =>
  describe(`on ${database}`, { skip }, () => {
    let store: Store;
    let test: TestControl;
    let operator: SignedUp;
    let owner: SignedUp;

    beforeEach(async () => {
      store = await open();
      test = await createTestControl({ store });
      operator = await test.signUp('operator@example.com', { operator: true });
      owner = await test.signUp('owner@example.com');
    });
    afterEach(async () => {
      await test.close();
      await store.close();
    });

    const block = (value: string, reason = 'phishing'): Promise<Response> =>
      operator.send('POST', '/api/operator/blocks', { value, reason });
    const blocked = async (value: string): Promise<Block> => (await block(value)).json() as Promise<Block>;
    const list = (): Promise<Block[]> => operator.call('GET', '/api/operator/blocks');
    const refusal = async (response: Response): Promise<[number, string]> => [response.status, await response.text()];

    async function liveHosts(): Promise<string[]> {
      const rows = await test.store.db.selectFrom('tunnel_hosts').select('live_host').orderBy('host').execute();
      return rows.flatMap(({ live_host }) => live_host ?? []);
    }

    describe('a block of addresses', () => {
      it('is stored by one spelling, told to the edges, and logged', async () => {
        test.feed.changed.length = 0;
        const { id, kind, value } = await blocked('::ffff:203.0.113.77/120');
        assert.deepEqual([kind, value], ['address', '203.0.113.0/24']);
        assert.deepEqual(test.feed.changed, ['203.0.113.0/24']);
        assert.deepEqual(await refusal(await block('203.0.113.9/24')), [409, "'203.0.113.0/24' is blocked already."]);
        await operator.call('DELETE', `/api/operator/blocks/${id}`);
        assert.deepEqual(await list(), []);
        const { entries } = await operator.call<AuditPage>('GET', '/api/operator/audit');
        const logged = entries.filter(({ action }) => action.startsWith('block.')).map(({ action, target }) => [action, target]);
        assert.deepEqual(logged.sort(), [
          ['block.create', '203.0.113.0/24'],
          ['block.delete', '203.0.113.0/24'],
        ]);
      });

      it('never holds everybody, nor the operator who makes it', async () => {
        assert.equal((await block('0.0.0.0/0')).status, 400);
        assert.equal((await block('::/0')).status, 400);
        const address = (await operator.call<{ address: string }>('GET', '/api/address')).address;
        const own = await block(address);
        assert.deepEqual(await refusal(own), [400, `${address} holds your own address, ${address}.`]);
        assert.equal((await block(`${address}/${address.includes(':') ? 64 : 24}`)).status, 400);
        assert.deepEqual(await list(), []);
      });

      it('is for operators only, and needs a reason', async () => {
        const stranger = await owner.send('POST', '/api/operator/blocks', { value: '203.0.113.5', reason: 'x' });
        assert.equal(stranger.status, 403);
        assert.equal((await block('203.0.113.5', ' ')).status, 400);
        assert.equal((await block('203.0.113.5', 'x'.repeat(201))).status, 400);
      });
    });

    describe('an import', () => {
      it('takes the lines that it can read, and says what is wrong with the others', async () => {
        const lines = [
          '203.0.113.5,scans ports',
          '# a comment',
          '2001:db8::/32',
          '0.0.0.0/0,all',
          'evil.example.com,"a, b"',
          'com',
        ];
        const answer = await operator.call<BlockImport>('POST', '/api/operator/blocks/import', lines.join('\n'));
        assert.equal(answer.imported, 3);
        assert.deepEqual(
          answer.problems?.map((problem) => problem.slice(0, 8)),
          ['line 3: ', 'line 5: '],
        );
        const values = (await list()).map(({ value, reason }) => [value, reason]);
        assert.deepEqual(values.sort(), [
          ['2001:db8::/32', 'Imported'],
          ['203.0.113.5', 'scans ports'],
          ['evil.example.com', 'a, b'],
        ]);
        const again = await operator.call<BlockImport>('POST', '/api/operator/blocks/import', '203.0.113.5');
        assert.equal(again.imported, 0);
      });
    });

    describe('a block of a name', () => {
      const create = (person: SignedUp, name: string, ingressDomains: readonly string[]): Promise<Response> =>
        person.send('POST', `/api/tunnels?project=${person.projectId}`, {
          ...{ name, type: 'http', region: 'local', securityGroup: 'default', proxyProtocol: '' },
          ...(ingressDomains.length === 0 ? { generateDomain: true } : { ingressDomains }),
        });
      const read = (name: string): Promise<Tunnel> => owner.call('GET', `/api/tunnels/${name}?project=${owner.projectId}`);

      for (const value of ['tunnels.localhost', 'local.localhost', '*.tunnels.localhost', new URL(testOrigin).hostname, 'co.uk'])
        it(`is refused for ${value}, which is the service's own or nobody's`, async () => {
          assert.equal((await block(value)).status, 400);
          assert.deepEqual(await list(), []);
        });

      it('darkens the wildcard that covers it: edges know no blocked names', async () => {
        const [apex, wildcard] = ['wild-block.com', '*.apps.wild-block.com'];
        const make = (name: string, host: string) =>
          owner.send('POST', `/api/tunnels?project=${owner.projectId}`, {
            ...{ name, type: 'ingress', region: 'local', securityGroup: 'default', proxyProtocol: '', ingressDomains: [host] },
          });
        assert.equal((await make('wild', wildcard)).status, 200);
        test.dns.proofs.set(apex, 'found');
        await owner.call('POST', `/api/domains/${apex}/verify?project=${owner.projectId}`);
        const live = async () => (await read('wild')).ingressDomains.map(({ verified }) => verified);
        assert.deepEqual(await live(), [true]);
        const other = await blocked('a.b.apps.wild-block.com');
        assert.deepEqual(await live(), [true], 'it covers one label');
        const one = await blocked('evil.apps.wild-block.com');
        assert.deepEqual(await live(), [false]);
        await blocked('x.more.wild-block.com');
        assert.equal((await make('again', '*.more.wild-block.com')).status, 403);
        const two = await blocked('worse.apps.wild-block.com');
        await operator.call('DELETE', `/api/operator/blocks/${one.id}`);
        assert.deepEqual(await live(), [false], 'another block holds it');
        await operator.call('DELETE', `/api/operator/blocks/${two.id}`);
        assert.deepEqual(await live(), [true]);
        const row = { kind: 'name' as const, reason: '', created_by: '', created_at: 0 };
        const unseen = (id: string, value: string) =>
          test.store.db
            .insertInto('blocks')
            .values({ ...row, id, value })
            .execute();
        await unseen('1', 'b.c.apps.wild-block.com');
        assert.deepEqual(await darkenMissed(test.store), [], 'it covers one label');
        await unseen('2', 'c.apps.wild-block.com');
        assert.equal((await darkenMissed(test.store)).length, 1);
        assert.deepEqual(await live(), [false]);
        await operator.call('DELETE', `/api/operator/blocks/${other.id}`);
      });

      it('takes a made-up name out of circulation, and its end brings it back', async () => {
        await create(owner, 'shop', []);
        const [domain] = (await read('shop')).ingressDomains;
        const name = domain!.name;
        test.feed.changed.length = 0;
        const { id } = await blocked(name);
        assert.equal(test.feed.changed.length, 1, 'the edges look at the tunnel again');
        const [dark] = (await read('shop')).ingressDomains;
        assert.deepEqual([dark?.verified, dark?.blocked], [false, true]);
        assert.deepEqual(await liveHosts(), []);
        await operator.call('DELETE', `/api/operator/blocks/${id}`);
        const [light] = (await read('shop')).ingressDomains;
        assert.deepEqual([light?.verified, light?.blocked], [true, undefined]);
      });

      it('holds every name below it, in every project, and stays through verification', async () => {
        await blocked('evil.example.com');
        const response = await create(owner, 'shop', ['login.evil.example.com']);
        assert.equal(response.status, 403);
        assert.match(await response.text(), /'login\.evil\.example\.com' is blocked/);
        assert.equal((await create(owner, 'other', ['good.example.com'])).status, 200);
        const late = await blocked('example.com');
        test.dns.proofs.set('example.com', 'found');
        await owner.call('POST', `/api/domains/example.com/verify?project=${owner.projectId}`);
        assert.deepEqual(await liveHosts(), []);
        await operator.call('DELETE', `/api/operator/blocks/${late.id}`);
        assert.deepEqual(await liveHosts(), ['good.example.com']);
      });

      it('refuses the domain itself to every project', async () => {
        await blocked('example.org');
        const add = await owner.send('POST', `/api/domains?project=${owner.projectId}`, { name: 'example.org' });
        assert.equal(add.status, 403);
      });

      it('keeps a host dark while another block holds it', async () => {
        await create(owner, 'shop', []);
        const name = (await read('shop')).ingressDomains[0]!.name;
        const one = await blocked(name);
        await test.store.db
          .insertInto('blocks')
          .values({ id: '0', kind: 'name', value: name.slice(name.indexOf('.') + 1), reason: '', created_by: '', created_at: 0 })
          .execute();
        await operator.call('DELETE', `/api/operator/blocks/${one.id}`);
        assert.deepEqual(await liveHosts(), []);
      });

      it('lets the owner change the rest of the tunnel, and does not come back with it', async () => {
        await create(owner, 'shop', []);
        const { ingressDomains } = await read('shop');
        const name = ingressDomains[0]!.name;
        await blocked(name);
        const change = { ingressDomains: [name, 'www.example.com'] };
        assert.equal((await owner.send('PATCH', `/api/tunnels/shop?project=${owner.projectId}`, change)).status, 200);
        assert.deepEqual(await liveHosts(), []);
        assert.deepEqual(
          (await read('shop')).ingressDomains.map((domain) => domain.blocked === true),
          [true, false],
        );
      });

      it('reaches a host that became live in the same moment', async () => {
        await create(owner, 'shop', []);
        const name = (await read('shop')).ingressDomains[0]!.name;
        const row = { id: '0', kind: 'name' as const, value: name, reason: '', created_by: '', created_at: 0 };
        assert.deepEqual(await darkenMissed(test.store), []);
        await test.store.db.insertInto('blocks').values(row).execute();
        assert.equal((await darkenMissed(test.store)).length, 1);
        assert.deepEqual(await liveHosts(), []);
        assert.deepEqual(await darkenMissed(test.store), []);
      });
    });
  }),
);
