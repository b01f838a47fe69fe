// Limits count in memory and, where replicas share Postgres, in the database; both refuse alike.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { rateLimits } from '@underpass/rules/limits.ts';
import { skipWithout } from '../../tests/helpers/tool.ts';
import { Refusal } from '../api/refusal.ts';
import { openPostgresStore } from '../store/postgres.ts';
import { openSqliteStore } from '../store/sqlite.ts';
import type { Store } from '../store/store.ts';
import { startPostgres, type TestPostgres } from '../test-kit-postgres.ts';
import { createLimiter } from './limiter.ts';

const isTooMany = (error: unknown): boolean => error instanceof Refusal && error.status === 429;

const suite = (name: string, skip: string | false, open: () => Promise<Store>, stop: () => Promise<void>) =>
  describe(`limits with ${name}`, { skip }, () => {
    let store: Store;
    before(async () => {
      store = await open();
    });
    after(async () => {
      await store.close();
      await stop();
    });

    it('let a key do so much and no more, and say when again; another key is not touched', async () => {
      const limiter = createLimiter(store);
      for (let i = 0; i < rateLimits.loginLinkPerEmail.points; i++) await limiter.take('loginLinkPerEmail', 'a@example.com');
      await assert.rejects(limiter.take('loginLinkPerEmail', 'a@example.com'), (error) => {
        assert.ok(error instanceof Refusal);
        assert.equal(error.message, rateLimits.loginLinkPerEmail.sentence);
        const seconds = error.retryAfterSeconds ?? 0;
        return seconds > 0 && seconds <= rateLimits.loginLinkPerEmail.windowSeconds;
      });
      await limiter.take('loginLinkPerEmail', 'b@example.com');
      await limiter.take('redeem', 'a@example.com');
    });

    it('count everything that comes at the same moment', async () => {
      const limiter = createLimiter(store);
      const results = await Promise.allSettled(
        Array.from({ length: 50 }, () => limiter.take('loginLinkPerEmail', 'flood@example.com')),
      );
      assert.equal(results.filter((each) => each.status === 'fulfilled').length, rateLimits.loginLinkPerEmail.points);
    });
  });

suite(
  'node:sqlite',
  false,
  () => openSqliteStore(':memory:'),
  async () => {},
);

let postgres: TestPostgres;
const needsPostgres = skipWithout('postgres');
if (!needsPostgres) {
  before(async () => {
    postgres = await startPostgres();
  });
}
suite(
  'Postgres',
  needsPostgres,
  async () => openPostgresStore(await postgres.createDatabase(), (error) => assert.fail(error)),
  async () => {},
);

describe('limits of two replicas', { skip: needsPostgres }, () => {
  after(() => postgres.close());

  it('are one limit for signing in', async () => {
    const url = await postgres.createDatabase();
    const stores = await Promise.all([openPostgresStore(url, assert.fail), openPostgresStore(url, assert.fail)]);
    const [one, two] = stores.map(createLimiter) as [ReturnType<typeof createLimiter>, ReturnType<typeof createLimiter>];
    for (let i = 0; i < rateLimits.loginLinkPerEmail.points; i++)
      await (i % 2 === 0 ? one : two).take('loginLinkPerEmail', 'a@example.com');
    for (const limiter of [one, two]) await assert.rejects(limiter.take('loginLinkPerEmail', 'a@example.com'), isTooMany);
    for (const store of stores) await store.close();
  });
});
