// The key ring: a sealed text opens only with its key and in its place, and keys can be rotated.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { resealAll } from '../../operator/sealed-rows.ts';
import { createTestControl } from '../../test-kit.ts';
import { readTunnelTokens } from '../../tunnels/tunnel/token.ts';
import { openSqliteStore } from '../store/sqlite.ts';
import { createKeyRing } from './key-ring.ts';

const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];

describe('a key ring', () => {
  it('opens what it sealed, whatever the text', () => {
    const ring = createKeyRing([newKey]);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (text, context) => {
        const wellFormed = text.toWellFormed();
        assert.equal(ring.open(ring.seal(wellFormed, context), context), wellFormed);
      }),
    );
  });

  it('seals the same text differently each time', () => {
    const ring = createKeyRing([newKey]);
    assert.notEqual(ring.seal('token', 'a'), ring.seal('token', 'a'));
  });

  it('does not open a text that was moved to another row, changed in any bit, or cut', () => {
    const ring = createKeyRing([newKey]);
    const sealed = ring.seal('token', 'tunnel_tokens/1');
    assert.throws(() => ring.open(sealed, 'tunnel_tokens/2'));
    const [id, body] = sealed.split('.') as [string, string];
    const bytes = Buffer.from(body, 'base64url');
    for (let i = 0; i < bytes.length; i++) {
      const changed = Buffer.from(bytes);
      changed[i]! ^= 1;
      assert.throws(() => ring.open(`${id}.${changed.toString('base64url')}`, 'tunnel_tokens/1'));
    }
    for (const cut of ['', '.', id, `${id}.`, `${id}.${body.slice(0, 20)}`])
      assert.throws(() => ring.open(cut, 'tunnel_tokens/1'));
  });

  it('opens with an older key, seals with the newest, and knows which is which', () => {
    const before = createKeyRing([oldKey]);
    const after = createKeyRing([newKey, oldKey]);
    const sealed = before.seal('token', 'a');
    assert.equal(after.open(sealed, 'a'), 'token');
    assert.deepEqual([after.isStale(sealed), after.isStale(after.seal('token', 'a'))], [true, false]);
    assert.throws(() => createKeyRing([newKey]).open(sealed, 'a'), /no key/);
  });

  it('refuses no keys, and keys that are too short', () => {
    assert.throws(() => createKeyRing([]));
    assert.throws(() => createKeyRing([randomBytes(16)]));
  });

  it('derives a different secret for every purpose', () => {
    const ring = createKeyRing([newKey]);
    assert.notDeepEqual(ring.derive('altcha'), ring.derive('other'));
    const [newest, older] = createKeyRing([newKey, oldKey]).derive('altcha');
    assert.deepEqual([newest, older], [...ring.derive('altcha'), ...createKeyRing([oldKey]).derive('altcha')]);
  });
});

describe('rotation', () => {
  it('seals every tunnel token again, so that the old key can be removed', async () => {
    const store = await openSqliteStore(':memory:');
    const test = await createTestControl({ store, keyRing: createKeyRing([oldKey]) });
    const ann = await test.signUp('ann@example.com');
    for (let i = 0; i < 5; i++)
      await ann.call('POST', `/api/tunnels?project=${ann.projectId}`, { name: `t${i}`, region: 'local' });
    const ids = (await store.db.selectFrom('tunnels').select('id').execute()).map((row) => row.id);
    const before = await readTunnelTokens(store.db, createKeyRing([oldKey]), ids);
    assert.equal(await resealAll(store.db, createKeyRing([newKey, oldKey]), 0), 5);
    assert.equal(await resealAll(store.db, createKeyRing([newKey, oldKey]), 0), 0);
    assert.deepEqual(await readTunnelTokens(store.db, createKeyRing([newKey]), ids), before);
    await test.close();
    await store.close();
  });

  it('goes on under calls: each reads and writes before, during and after, and the old key can go', async () => {
    const store = await openSqliteStore(':memory:');
    const ring = createKeyRing([oldKey]);
    const test = await createTestControl({ store, keyRing: ring });
    const ann = await test.signUp('ann@example.com');
    const path = `/api/tunnels?project=${ann.projectId}`;
    for (let at = 0; at < 10; at++) await ann.call('POST', path, { name: `t${at}`, region: 'local' });
    let made = 0;
    let isOver = false;
    const work = async (): Promise<void> => {
      while (!isOver) {
        const name = `t${made++ % 10}`;
        await ann.call('POST', `/api/tunnels/${name}/token/rotate?project=${ann.projectId}`);
        const read = await ann.call<{ token: string }>('GET', `/api/tunnels/${name}?project=${ann.projectId}`);
        assert.ok(read.token);
        // The embedded database answers within the turn: without this nothing else would run.
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const running = Promise.all([work(), work(), work()]);
    const reach = async (count: number): Promise<void> => {
      while (made < count) await Promise.race([running, new Promise((resolve) => setImmediate(resolve))]);
    };
    await reach(9);
    ring.replace([newKey, oldKey]);
    assert.ok((await resealAll(store.db, ring, 0)) >= 3);
    await reach(made + 9);
    await resealAll(store.db, ring, 0);
    ring.replace([newKey]);
    await reach(made + 9);
    isOver = true;
    await running;
    const tokens = await store.db.selectFrom('tunnel_tokens').select('token_sealed').execute();
    assert.equal(tokens.filter(({ token_sealed }) => createKeyRing([oldKey]).canOpen(token_sealed)).length, 0);
    assert.ok(tokens.length >= 10);
    await test.close();
    await store.close();
  });

  it('keeps the old keys if the new ones are none', () => {
    const ring = createKeyRing([oldKey]);
    const sealed = ring.seal('text', 'row');
    assert.throws(() => ring.replace([]));
    assert.throws(() => ring.replace([randomBytes(16)]));
    assert.equal(ring.open(sealed, 'row'), 'text');
  });
});
