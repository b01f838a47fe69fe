// The job queue: each job done once, retried with pauses, dropped when it is useless, shared by several workers.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { pino } from 'pino';
import { lookAtClock } from '../store/known-time.ts';
import { openSqliteStore } from '../store/sqlite.ts';
import type { Store } from '../store/store.ts';
import { addJob, createJobQueue, type JobHandlers, type JobKind, nextPauseMs } from './queue.ts';

let store: Store;
const time = { now: 0 };

beforeEach(async () => {
  store = await openSqliteStore(':memory:');
  time.now = 1_000_000;
});
afterEach(() => store.close());

const unexpected = async (): Promise<void> => assert.fail('not this kind');
const handlersWith = (
  operatorMail: JobHandlers['operator-mail'],
  loginLink: JobHandlers['login-link'] = unexpected,
): JobHandlers => ({
  'login-link': loginLink,
  'access-code': unexpected,
  registration: unexpected,
  'registration-mail': unexpected,
  'operator-mail': operatorMail,
  invitation: unexpected,
  'domain-lost': unexpected,
  notice: unexpected,
  'alert-mail': unexpected,
  'account-deleted': unexpected,
});
const createQueue = (handlers: JobHandlers) =>
  createJobQueue({ store, clock: () => time.now, log: pino({ level: 'silent' }), handlers });
const addMail = (subject: string): Promise<void> => addJob(store.db, time.now, 'operator-mail', { subject, text: '' });
const left = async (): Promise<number> => (await store.db.selectFrom('jobs').select('id').execute()).length;

describe('the queue', () => {
  it('does each job once, in order, and deletes it', async () => {
    const done: string[] = [];
    const queue = createQueue(handlersWith(async ({ subject }) => void done.push(subject)));
    for (let i = 0; i < 45; i++) await addMail(`${i}`);
    await queue.drain();
    await queue.drain();
    assert.deepEqual(
      done,
      Array.from({ length: 45 }, (_, i) => `${i}`),
    );
    assert.equal(await left(), 0);
  });

  it('shares jobs between workers, and does none twice', async () => {
    const done: string[] = [];
    const make = () => createQueue(handlersWith(async ({ subject }) => void done.push(subject)));
    for (let i = 0; i < 30; i++) await addMail(`${i}`);
    await Promise.all([make(), make(), make()].map((queue) => queue.drain()));
    assert.equal(done.length, 30);
    assert.equal(new Set(done).size, 30);
  });

  it('retries after growing pauses of at most half an hour', async () => {
    let attempts = 0;
    const queue = createQueue(
      handlersWith(async () => {
        attempts++;
        if (attempts < 4) throw new Error('the server is busy');
      }),
    );
    await addMail('x');
    for (const pauseMs of [5_000, 15_000, 45_000]) {
      await queue.drain();
      const before = attempts;
      time.now += pauseMs - 1;
      await queue.drain();
      assert.equal(attempts, before, 'not too early');
      time.now += 1;
    }
    await queue.drain();
    assert.deepEqual([attempts, await left()], [4, 0]);
    assert.equal(nextPauseMs(50), 30 * 60_000);
  });

  it('does the other jobs while one fails', async () => {
    const done: string[] = [];
    const queue = createQueue(
      handlersWith(async ({ subject }) => {
        if (subject === 'bad') throw new Error('no');
        done.push(subject);
      }),
    );
    for (const subject of ['a', 'bad', 'b']) await addMail(subject);
    await queue.drain();
    assert.deepEqual([done, await left()], [['a', 'b'], 1]);
  });

  it('sends a login link while older work hangs', async () => {
    const hanging = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const sent = Promise.withResolvers<string>();
    const queue = createQueue(
      handlersWith(
        () => {
          begun.resolve();
          return hanging.promise;
        },
        async ({ email }) => sent.resolve(email),
      ),
    );
    await addMail('x');
    const first = queue.drain();
    await begun.promise;
    await addJob(store.db, time.now, 'login-link', { email: 'a@example.com', browserHash: null });
    const second = queue.drain();
    assert.equal(await sent.promise, 'a@example.com');
    hanging.resolve();
    await Promise.all([first, second]);
    assert.equal(await left(), 0);
  });

  for (const kind of ['login-link', 'registration-mail'] as const) {
    it(`starts a ${kind} on time while another one hangs, so the time of a mail reveals nothing about other addresses`, async () => {
      const hanging = Promise.withResolvers<void>();
      const sent: string[] = [];
      const last = Promise.withResolvers<void>();
      const send = async ({ email }: { readonly email: string }): Promise<void> => {
        sent.push(email);
        if (email === 'known@example.com') await hanging.promise;
        if (email === 'last@example.com') last.resolve();
      };
      const queue = createQueue({ ...handlersWith(unexpected, send), 'registration-mail': send });
      const add = async (email: string): Promise<void> => {
        if (kind === 'login-link') await addJob(store.db, time.now, kind, { email, browserHash: null });
        else await addJob(store.db, time.now, kind, { email, firstName: '', step: 'received' });
      };
      for (const email of ['first@example.com', 'known@example.com', 'second@example.com']) await add(email);
      const drained = queue.drain();
      await add('last@example.com');
      const again = queue.drain();
      await last.promise;
      assert.deepEqual(sent, ['first@example.com', 'known@example.com', 'second@example.com', 'last@example.com']);
      hanging.resolve();
      await Promise.all([drained, again]);
      assert.equal(await left(), 0);
    });
  }

  it('leaves a job of a kind that only a newer control knows', async () => {
    await addMail('known');
    await store.db
      .updateTable('jobs')
      .set({ kind: 'later' as JobKind })
      .execute();
    await createQueue(handlersWith(unexpected)).drain();
    assert.equal(await left(), 1);
  });

  it('sends a login link beside a flood of codes, and drops codes for which nobody waits any more', {
    timeout: 5_000,
  }, async () => {
    const sent: string[] = [];
    const code = async (): Promise<void> => void sent.push('code');
    const queue = createQueue({ ...handlersWith(unexpected, async () => void sent.push('link')), 'access-code': code });
    const flow = { flowId: 'f', host: 'h.example', email: 'a@example.com', address: '192.0.2.1', isMailed: false };
    const addCodes = (): Promise<unknown> =>
      Promise.all(Array.from({ length: 60 }, () => addJob(store.db, time.now, 'access-code', flow)));
    await addCodes();
    time.now += 10 * 60_000;
    await queue.drain();
    assert.equal(await left(), 0);
    await addCodes();
    await addJob(store.db, time.now, 'login-link', { email: 'b@example.com', browserHash: null });
    const drained = queue.drain();
    while (!sent.includes('link')) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(sent.length <= 21, `${sent.length}`);
    await store.db.deleteFrom('jobs').execute();
    await drained;
  });

  it('does a job that another job added, while a third one hangs', async () => {
    const hanging = Promise.withResolvers<void>();
    const added = Promise.withResolvers<void>();
    const queue = createQueue(
      handlersWith(async ({ subject }) => {
        if (subject === 'hangs') await hanging.promise;
        if (subject === 'adds') await addMail('added');
        if (subject === 'added') added.resolve();
      }),
    );
    for (const subject of ['hangs', 'adds']) await addMail(subject);
    const drained = queue.drain();
    await added.promise;
    hanging.resolve();
    await drained;
    assert.equal(await left(), 0);
  });

  it('drops a login link after 15 minutes, even if it was never tried', async () => {
    let attempts = 0;
    const failing = async (): Promise<void> => {
      attempts++;
      throw new Error('down');
    };
    const queue = createQueue(handlersWith(unexpected, failing));
    const add = () => addJob(store.db, time.now, 'login-link', { email: 'a@example.com', browserHash: null });
    await add();
    for (let minute = 0; minute < 20; minute++) {
      await queue.drain();
      time.now += 60_000;
    }
    assert.equal(await left(), 0);
    assert.ok(attempts > 2 && attempts < 10, `${attempts} attempts`);
    await add();
    time.now += 15 * 60_000;
    const before = attempts;
    await queue.drain();
    assert.deepEqual([attempts, await left()], [before, 0]);
  });

  it('takes over the job of a worker that died', async () => {
    const done: string[] = [];
    await addMail('x');
    await store.db
      .updateTable('jobs')
      .set({ due_at: time.now + 60_000, attempts: 1 })
      .execute();
    const queue = createQueue(handlersWith(async ({ subject }) => void done.push(subject)));
    await queue.drain();
    assert.deepEqual(done, []);
    time.now += 60_000;
    await queue.drain();
    assert.deepEqual(done, ['x']);
  });

  it('starts no job after a stop, which waits only for the jobs under way', { timeout: 5_000 }, async () => {
    const hanging = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const sent: string[] = [];
    const queue = createQueue(
      handlersWith(async ({ subject }) => {
        if (sent.push(subject) === 20) begun.resolve();
        await hanging.promise;
      }),
    );
    for (let i = 0; i < 100; i++) await addMail(`${i}`);
    queue.start();
    await begun.promise;
    const stopped = queue.stop();
    hanging.resolve();
    await stopped;
    assert.deepEqual([sent.length, await left()], [20, 80]);
    const { due } = await store.db
      .selectFrom('jobs')
      .select((eb) => eb.fn.max('due_at').as('due'))
      .executeTakeFirstOrThrow();
    assert.ok(due <= time.now, 'the next worker does the rest at once');
    await store.db.deleteFrom('jobs').execute();
    await addMail('after a new start');
    queue.start();
    await queue.drain();
    await queue.stop();
    assert.equal(sent.at(-1), 'after a new start');
  });

  it('does a job that is added while it drains', async () => {
    const done: string[] = [];
    const queue = createQueue(
      handlersWith(async ({ subject }) => {
        done.push(subject);
        if (subject === 'first') {
          await addMail('second');
          void queue.drain();
        }
      }),
    );
    await addMail('first');
    await queue.drain();
    assert.deepEqual(done, ['first', 'second']);
  });
});

describe('a clock that jumps', () => {
  const jumpMs = 400 * 24 * 3600_000;

  it('keeps a mail that failed, and sends it soon after the clock is correct', async () => {
    let sent = 0;
    let refuses = true;
    const queue = createQueue(
      handlersWith(async () => {
        if (refuses) throw new Error('the server is busy');
        sent++;
      }),
    );
    await lookAtClock(store, time.now, pino({ level: 'silent' }));
    await addMail('x');
    await queue.drain();
    time.now += jumpMs;
    await queue.drain();
    assert.equal(await left(), 1, 'tried and kept');
    time.now -= jumpMs;
    refuses = false;
    await queue.drain();
    assert.deepEqual([sent, await left()], [1, 0]);
  });
});
