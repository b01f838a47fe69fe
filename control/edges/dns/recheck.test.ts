import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { createWithLease } from '../../platform/store/lease.ts';
import type { Store } from '../../platform/store/store.ts';
import { addProject, openMemoryStore, silentLog } from '../feed/test-kit.ts';
import type { ChallengeAnswer } from './core/challenge.ts';
import { createRecheck } from './recheck.ts';

const hourMs = 3_600_000;

describe('the daily re-check', () => {
  let store: Store;
  let now: number;
  let answer: ChallengeAnswer;
  let asked: number;
  let events: string[];

  beforeEach(async () => {
    store = await openMemoryStore();
    [now, answer, asked, events] = [1_790_000_000_000, 'missing', 0, []];
    const { projectId } = await addProject(store.db, 'ann');
    const checks = { checked_at: now, misses: 0, first_missed_at: null, created_at: 1 };
    const domain = { project_id: projectId, challenge: 'c', ...checks };
    await store.db
      .insertInto('domains')
      .values({ id: 'd1', apex_name: 'a.com', owned_apex: 'a.com', verified_at: 1, ...domain })
      .execute();
    await store.db
      .insertInto('domains')
      .values({ id: 'd2', apex_name: 'b.com', owned_apex: null, verified_at: null, ...domain })
      .execute();
  });
  afterEach(() => store.close());

  const recheck = () =>
    createRecheck({
      store,
      clock: () => now,
      log: silentLog,
      dns: {
        checkChallenge: async () => {
          asked += 1;
          return answer;
        },
      },
      withLease: createWithLease(store, () => now),
      onLost: async (trx, domain) => {
        const row = await trx.selectFrom('domains').select('owned_apex').where('id', '=', domain.id).executeTakeFirst();
        events.push(`lost ${domain.apexName}, owned by ${row?.owned_apex}`);
        return () => events.push('told');
      },
    }).run();

  const passDays = async (days: number): Promise<void> => {
    for (let hour = 0; hour < 24 * days; hour++) {
      now += hourMs;
      await recheck();
    }
  };
  const misses = async (): Promise<number | undefined> =>
    (await store.db.selectFrom('domains').select('misses').where('id', '=', 'd1').executeTakeFirst())?.misses;

  test('asks daily, and about verified domains only', async () => {
    await recheck();
    assert.equal(asked, 0);
    await passDays(1);
    await recheck();
    assert.equal(asked, 1);
  });

  test('a proof missing for 72 hours loses the domain, and the owners then get a mail', async () => {
    await passDays(3);
    assert.deepEqual(events, []);
    await passDays(1);
    assert.deepEqual(events, ['lost a.com, owned by null', 'told']);
    await passDays(5);
    assert.equal(events.length, 2);
  });

  test('a clock that jumps loses no domain, and the 72 hours start again', async () => {
    await passDays(3);
    now += 400 * 24 * hourMs;
    await recheck();
    assert.deepEqual([asked, await misses(), events], [3, 0, []]);
    now -= 400 * 24 * hourMs;
    await recheck();
    for (let hour = 0; hour < 24; hour++) {
      now += hourMs;
      await recheck();
    }
    assert.deepEqual([asked, await misses()], [4, 1], 'checked again within a day');
  });

  test('a proof that returns resets the count', async () => {
    await passDays(3);
    answer = 'found';
    await passDays(1);
    assert.equal(await misses(), 0);
    answer = 'missing';
    await passDays(3);
    assert.deepEqual(events, []);
  });

  test('a month of silence and SERVFAIL loses no domain', async () => {
    answer = 'unknown';
    await passDays(30);
    assert.deepEqual(events, []);
    assert.equal(await misses(), 0);
  });

  test('two processes check a domain once', async () => {
    now += 24 * hourMs;
    await Promise.all([recheck(), recheck()]);
    assert.equal(asked, 1);
  });
});
