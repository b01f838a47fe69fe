// Limits count in memory or, if replicas share Postgres, in the database. Both refuse in the same way.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { rateLimits } from '@underpass/rules/limits.ts';
import { collectHeap } from '@underpass/runtime/heap.ts';
import { onBothDatabases, type StoreSuite } from '../../test-kit-databases.ts';
import { openPostgresStore } from '../store/postgres.ts';
import type { Store } from '../store/store.ts';
import { createBoundedMemory, memoryKeysMost } from './bounded-memory.ts';
import { LimitReached } from './limit-reached.ts';
import { createLimiter } from './limiter.ts';

const isTooMany = (error: unknown): boolean => error instanceof LimitReached;

const suite: StoreSuite = (name, skip, open) =>
  describe(`limits with ${name}`, { skip }, () => {
    let store: Store;
    before(async () => {
      store = await open();
    });
    after(async () => {
      await store.close();
    });

    it('stop a key at its limit and say when it may go on; another key is not affected', async () => {
      const limiter = createLimiter(store);
      for (let i = 0; i < rateLimits.loginMailPerEmail.points; i++) await limiter.take('loginMailPerEmail', 'a@example.com');
      await assert.rejects(limiter.take('loginMailPerEmail', 'a@example.com'), (error) => {
        assert.ok(error instanceof LimitReached);
        assert.equal(error.message, rateLimits.loginMailPerEmail.sentence);
        const seconds = error.retryAfterSeconds ?? 0;
        return seconds > 0 && seconds <= rateLimits.loginMailPerEmail.windowSeconds;
      });
      await limiter.take('loginMailPerEmail', 'b@example.com');
      await limiter.take('wrongLink', 'a@example.com');
    });

    it('count calls that arrive at the same moment', async () => {
      const limiter = createLimiter(store);
      const results = await Promise.allSettled(
        Array.from({ length: 50 }, () => limiter.take('loginMailPerEmail', 'flood@example.com')),
      );
      assert.equal(results.filter((each) => each.status === 'fulfilled').length, rateLimits.loginMailPerEmail.points);
    });
  });

const postgres = onBothDatabases(suite);

describe('limits in memory', () => {
  const open = () => createBoundedMemory({ points: 2, duration: 3600 });
  /** The keys that the library holds, as the oracle. */
  const entriesOf = (limiter: ReturnType<typeof open>): number =>
    (limiter as unknown as { _memoryStorage: { _storage: Map<string, unknown> } })._memoryStorage._storage.size;

  it('hold a bounded number of keys, even if one caller uses all networks of a /48', async () => {
    const limiter = open();
    for (let i = 0; i < 65_536; i++) await limiter.consume(`2001:db8:0:${i.toString(16)}`);
    assert.equal(entriesOf(limiter), memoryKeysMost);
  });

  it('hold no more memory after many calls of one caller', async () => {
    const limiter = open();
    const heldBytes = async (calls: number): Promise<number> => {
      for (let i = 0; i < calls; i++) await limiter.consume('busy').catch(() => {});
      collectHeap();
      return process.memoryUsage().heapUsed;
    };
    const before = await heldBytes(10_000);
    // 120 bytes for each call were 12 MB.
    const grown = (await heldBytes(100_000)) - before;
    assert.ok(grown < 2e6, `${grown} bytes`);
  });

  it('forget the key used longest ago, never an active one', async () => {
    const limiter = open();
    for (const key of ['flood', 'flood', 'quiet', 'quiet']) await limiter.consume(key);
    for (let i = 0; i < memoryKeysMost; i++) {
      await limiter.consume(`2001:db8:0:${i.toString(16)}`);
      if (i % 1000 === 0) await assert.rejects(limiter.consume('flood'));
    }
    await assert.rejects(limiter.consume('flood'));
    await limiter.consume('quiet');
  });
});

describe('limits of two replicas', { skip: postgres.skip }, () => {
  it('share one limit for signing in', async () => {
    const url = await postgres.createDatabase();
    const stores = await Promise.all([openPostgresStore(url, assert.fail), openPostgresStore(url, assert.fail)]);
    const [one, two] = stores.map(createLimiter) as [ReturnType<typeof createLimiter>, ReturnType<typeof createLimiter>];
    for (let i = 0; i < rateLimits.loginMailPerEmail.points; i++)
      await (i % 2 === 0 ? one : two).take('loginMailPerEmail', 'a@example.com');
    for (const limiter of [one, two]) await assert.rejects(limiter.take('loginMailPerEmail', 'a@example.com'), isTooMany);
    for (const store of stores) await store.close();
  });
});
