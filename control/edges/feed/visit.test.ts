// How access policies reach the edges.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { AccessPolicy } from '@underpass/rules/visit/access-policy.ts';
import type { FeedTunnel } from '@underpass/wire/feed/feed.ts';
import { createKeyRing } from '../../platform/secret/key-ring.ts';
import type { Store } from '../../platform/store/store.ts';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';
import { onBothDatabases } from '../../test-kit-databases.ts';
import { findSignInPolicy } from '../../visitors/policies/find-sign-in-policy.ts';
import { FeedHub } from './hub.ts';
import { readTunnels } from './region-content.ts';
import { addRegion, connectEdge, createTestBus, silentLog, type TestEdge } from './test-kit.ts';

const origin = 'https://console.example.com';
let store: Store;
let test: TestControl;
let ann: SignedUp;
let hub: FeedHub;
let edge: TestEdge;

const keyRing = createKeyRing([randomBytes(32)]);

async function openHub(keys = keyRing): Promise<void> {
  hub = new FeedHub({
    ...{ store: test.store, bus: createTestBus(), keyRing: keys, clock: () => test.time.now, steady: Date.now },
    ...{ log: silentLog, origin, givenCertificates: () => [], keyOpens: async () => true },
  });
  await hub.start();
  edge = connectEdge((duplex) => hub.accept(duplex, { region: 'local' }));
  edge.hello('local');
  await edge.until(() => edge.seq !== undefined);
}

async function closeHub(): Promise<void> {
  edge.close();
  await hub.close();
}

const at = (): string => `?project=${ann.projectId}`;
const tunnel = (name: string): FeedTunnel => edge.state.tunnels.find((each) => each.name === name)!;
/** Makes a change through the API, tells the hub what the API told the feed, and waits for the edge. */
async function change(make: () => Promise<unknown>, claim: () => boolean): Promise<void> {
  test.feed.changed.length = 0;
  await make();
  hub.tunnelsChanged(test.feed.changed);
  await edge.until(claim);
}
const policyPath = (part = ''): string => `/api/access-policies/staff${part}${at()}`;

onBothDatabases((database, skip, openStore) => {
  describe(database, { skip }, () => {
    beforeEach(async () => {
      store = await openStore();
      test = await createTestControl({ keyRing, store });
      ann = await test.signUp('ann@example.com');
      await ann.call('POST', `/api/access-policies${at()}`, { name: 'staff', members: true, people: ['a@x.com'] });
      await ann.call('POST', `/api/tunnels${at()}`, { name: 'open', region: 'local' });
      await ann.call('POST', `/api/tunnels${at()}`, { name: 'shop', region: 'local', accessPolicy: 'staff' });
      await openHub();
    });
    afterEach(async () => {
      await closeHub();
      await test.close();
      await store.close();
    });

    it('rules about MCP calls reach new edges whole, and deny at edges and in rows of an earlier version', async () => {
      const rules = [
        { path: '/mcp#tools/list', action: 'public' },
        { path: '/mcp#tools/call delete_*', action: 'deny' },
        { path: '/x', action: 'public' },
      ];
      const denied = [{ path: '/mcp', action: 'deny' }, { path: '/mcp', action: 'deny' }, rules[2]];
      const save = (body: object) => ann.call('PATCH', policyPath(), body);
      await change(
        () => save({ rules }),
        () => tunnel('shop').visit?.callRules !== undefined,
      );
      const { visit } = tunnel('shop');
      assert.deepEqual([visit?.rules, visit?.callRules], [denied, rules]);
      const rows = await test.store.db.selectFrom('access_policies').select('content').execute();
      assert.deepEqual(JSON.parse(rows[0]!.content).rules, denied);
      assert.deepEqual((await ann.call<AccessPolicy>('GET', policyPath())).rules, rules);
      // A control of an earlier version makes the policy stricter, and keeps the field that it does not know.
      const older = { ...JSON.parse(rows[0]!.content), rules: [{ path: '/x', action: 'deny' }] };
      await test.store.db
        .updateTable('access_policies')
        .set({ content: JSON.stringify(older) })
        .execute();
      assert.deepEqual((await ann.call<AccessPolicy>('GET', policyPath())).rules, older.rules);
      await change(
        () => save({ rules: [rules[2]] }),
        () => tunnel('shop').visit?.callRules === undefined,
      );
      assert.deepEqual(tunnel('shop').visit?.rules, [rules[2]]);
    });

    it('a tunnel without a policy is as before; one with a policy denies whoever knows no policies', () => {
      assert.deepEqual([tunnel('open').allowList, tunnel('open').visit], [['0.0.0.0/0', '::/0'], undefined]);
      const { allowList, visit } = tunnel('shop');
      assert.deepEqual([allowList, visit!.allowList], [[], ['0.0.0.0/0', '::/0']]);
      assert.deepEqual([visit!.origin, visit!.grants.memberIds, visit!.grants.people], [origin, [ann.userId], ['a@x.com']]);
      assert.equal(Buffer.from(visit!.sealKey, 'base64url').length, 32);
      assert.match(visit!.assertionKeyPem, /BEGIN PRIVATE KEY/);
      assert.equal('passwordHash' in visit!, false);
    });

    it('the key with which an edge signs visits is that of its region: another region could be broken into', async () => {
      await addRegion(test.store.db, 'far', { wildcard: 'far.localhost' });
      await ann.call('POST', `/api/tunnels${at()}`, { name: 'away', region: 'far', accessPolicy: 'staff' });
      const found = await readTunnels(test.store.db, { keyRing, origin }, [...test.feed.changed], test.time.now);
      const [away] = found.filter(({ tunnel: { name } }) => name === 'away');
      assert.notEqual(away!.tunnel.visit!.sealKey, tunnel('shop').visit!.sealKey);
      const seen = await findSignInPolicy(test.store.db, keyRing, away!.tunnel.hosts[0]!, test.time.now);
      assert.equal(seen!.visitKey.toString('base64url'), away!.tunnel.visit!.sealKey);
    });

    it('each change of a policy reaches the edge: rules, people, tokens, links, sign-outs, members', async () => {
      const visit = () => tunnel('shop').visit!;
      await change(
        () => ann.call('PATCH', policyPath(), { rules: [{ path: '/docs', action: 'public' }], people: [] }),
        () => visit().rules.length === 1 && visit().grants.people.length === 0,
      );
      await change(
        () => ann.call('POST', policyPath('/tokens'), { name: 'ci' }),
        () => visit().tokens.length === 1,
      );
      await change(
        () => ann.call('DELETE', policyPath(`/tokens/${visit().tokens[0]!.id}`)),
        () => visit().tokens.length === 0,
      );
      await change(
        () => ann.call('POST', policyPath('/links'), { name: 'client' }),
        () => visit().grants.links.length === 1,
      );
      await change(
        () => ann.call('DELETE', policyPath(`/links/${visit().grants.links[0]!.id}`)),
        () => visit().grants.links.length === 0,
      );
      await change(
        () => ann.call('POST', policyPath('/sign-out'), { email: 'a@x.com' }),
        () => visit().grants.signedOut.length === 1,
      );
      const guest = await test.signUp('guest@example.com');
      await test.addMember(ann.projectId, guest.userId, 'viewer');
      await change(
        async () => hub.tunnelsChanged([tunnel('shop').id]),
        () => visit().grants.memberIds!.length === 2,
      );
      await change(
        () => ann.call('DELETE', `/api/members/${guest.userId}${at()}`),
        () => visit().grants.memberIds!.length === 1,
      );
      await change(
        () => ann.call<Tunnel>('PATCH', `/api/tunnels/shop${at()}`, { accessPolicy: '' }),
        () => tunnel('shop').visit === undefined && tunnel('shop').allowList.length === 2,
      );
    });

    it('a policy that cannot be read denies: its keys do not open, or its row holds no policy', async () => {
      await test.store.db.updateTable('access_policies').set({ content: '{}' }).execute();
      await change(
        async () => hub.tunnelsChanged([tunnel('shop').id]),
        () => tunnel('shop').visit === undefined,
      );
      assert.deepEqual(tunnel('shop').allowList, []);
      await closeHub();
      await openHub(createKeyRing([randomBytes(32)]));
      assert.deepEqual([tunnel('shop').allowList, tunnel('shop').visit], [[], undefined]);
    });
  });
});
