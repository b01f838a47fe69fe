import assert from 'node:assert/strict';
import { type Duplex, duplexPair } from 'node:stream';
import { it } from 'node:test';
import type { FromEdge, ToEdge } from '@underpass/wire/feed/feed.ts';
import { createControlFeed, type FeedStream } from '@underpass/wire/feed/feed-stream.ts';
import { pino } from 'pino';
import { FeedLink } from './feed-link.ts';
import type { ReportScope } from './reporter.ts';

const options = {
  edgeId: 'e',
  region: 'test',
  software: '',
  startedAtMs: 0,
  position: null,
  apply: () => {},
  report: () => [],
  visitorLog: () => [],
  pace: 'control',
  log: pino({ level: 'silent' }),
  random: () => 0,
} as const;

it('discards the pieces of a snapshot that was cut off', async () => {
  const applied: unknown[] = [];
  const feeds: FeedStream<ToEdge, FromEdge>[] = [];
  let dialled = Promise.withResolvers<void>();
  const link = new FeedLink({
    ...options,
    dial: async () => {
      const [ours, theirs] = duplexPair();
      feeds.push(createControlFeed(theirs));
      dialled.resolve();
      return ours;
    },
    apply: (change) => void applied.push(change),
  });
  await dialled.promise;
  dialled = Promise.withResolvers();
  const state = { tunnels: [], certificates: [], challenges: [], peers: [] };
  feeds[0]?.send({ type: 'snapshot', seq: 1, state, more: true });
  feeds[0]?.end();
  await dialled.promise;
  const delta = { type: 'delta', seq: 1_000, put: {}, drop: {} } as const;
  const acknowledged = new Promise((resolve) => Object.assign(feeds[1] as object, { onMessage: resolve }));
  feeds[1]?.send(delta);
  await acknowledged;
  assert.deepEqual(applied, [delta]);
  link.close();
});

it('backs off from a feed that fails at the first message after its welcome', async () => {
  const waits: number[] = [];
  const third = Promise.withResolvers<void>();
  const lost = ({ waitMs }: { waitMs: number }): void => {
    if (waits.push(waitMs) === 3) third.resolve();
  };
  const link = new FeedLink({
    ...options,
    dial: async () => {
      const [ours, theirs] = duplexPair();
      const feed = createControlFeed(theirs);
      feed.send({ type: 'welcome', version: 1, epoch: 'e', region: 'test' });
      feed.send({ type: 'snapshot', seq: 1, state: { tunnels: [], certificates: [], challenges: [], peers: [] } });
      feed.send({ type: 'ping', id: 1 });
      return ours;
    },
    apply: () => {
      throw new Error('tripped');
    },
    log: { ...options.log, info: () => {}, warn: lost } as never,
  });
  await third.promise;
  link.close();
  assert.deepEqual(waits, [125, 250, 500]);
});

it('closes a connection to control that is established too late', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const dialled = Promise.withResolvers<Duplex>();
  const link = new FeedLink({ ...options, dial: () => dialled.promise });
  t.mock.timers.tick(10_000);
  await new Promise(setImmediate);
  const [carrier] = duplexPair();
  dialled.resolve(carrier);
  await new Promise(setImmediate);
  assert.ok(carrier.destroyed);
  link.close();
});

for (const takesPartial of [true, undefined]) {
  const scope = takesPartial ? 'only the tunnels whose clients changed' : 'all tunnels';
  it(`reports ${scope} soon to a control that ${takesPartial ? 'takes' : 'does not know'} partial reports`, async () => {
    const [ours, theirs] = duplexPair();
    const asked: unknown[] = [];
    const report = (which: ReportScope) => {
      asked.push(typeof which === 'string' ? which : [...which]);
      if (typeof which !== 'string') which.delete([...which][0] as string);
      return [{ tunnelId: 't', rxBytes: 0, txBytes: 0, connections: 0, requests: 0, clients: [] }];
    };
    const link = new FeedLink({ ...options, pace: 'primary', dial: async () => ours, report });
    const feed = createControlFeed(theirs);
    const welcome = { type: 'welcome', version: 1, epoch: 'e', region: 'test' } as const;
    feed.send(takesPartial === undefined ? welcome : { ...welcome, takesPartial });
    const heard: (boolean | undefined)[] = [];
    const second = Promise.withResolvers<void>();
    feed.onMessage = (message) => {
      if (message.type === 'report' && heard.push(message.partial) === (takesPartial ? 3 : 2)) second.resolve();
    };
    while (!link.connected) await new Promise(setImmediate);
    link.presenceChanged(['t']);
    link.presenceChanged(['u', 't']);
    await second.promise;
    // A part leaves out what is too much for it.
    assert.deepEqual(asked, takesPartial ? ['all', ['t', 'u'], ['u']] : ['all', 'changed']);
    assert.deepEqual(heard, takesPartial ? [undefined, true, true] : [undefined, undefined]);
    link.close();
  });
}

it('says for how long control has been silent, also on a connection that stays open', async (t) => {
  let nowMs = 1_000;
  t.mock.method(performance, 'now', () => nowMs);
  const [ours, theirs] = duplexPair();
  let answers = false;
  const dial = async (): Promise<Duplex> => {
    if (!answers) throw new Error('control is away');
    return ours;
  };
  const link = new FeedLink({ ...options, dial });
  nowMs += 9_000;
  assert.equal(link.awayMs, 9_000);
  answers = true;
  const feed = createControlFeed(theirs);
  feed.send({ type: 'welcome', version: 1, epoch: 'e', region: 'test' });
  while (!link.connected) await new Promise(setImmediate);
  assert.equal(link.awayMs, 0);
  nowMs += 5_000;
  assert.equal(link.awayMs, 5_000);
  const answered = new Promise((resolve) => Object.assign(feed, { onMessage: resolve }));
  feed.send({ type: 'ping', id: 1 });
  await answered;
  nowMs += 15_000;
  assert.deepEqual([link.connected, link.awayMs], [true, 15_000]);
  assert.equal(link.standing.losses, 0, 'the dials before the first connection are no losses');
  feed.end();
  while (link.connected) await new Promise(setImmediate);
  assert.equal(link.awayMs, 15_000);
  assert.equal(link.standing.losses, 1);
  link.close();
});

it('cuts control after fifteen seconds of silence, counted while this process runs', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const [ours, theirs] = duplexPair();
  const link = new FeedLink({ ...options, dial: async () => ours });
  const feed = createControlFeed(theirs);
  feed.send({ type: 'welcome', version: 1, epoch: 'e', region: 'test' });
  while (!link.connected) await new Promise(setImmediate);
  t.mock.timers.tick(14_000);
  assert.equal(link.connected, true);
  const answered = new Promise((resolve) => Object.assign(feed, { onMessage: resolve }));
  feed.send({ type: 'ping', id: 1 });
  await answered;
  t.mock.timers.tick(14_000);
  assert.equal(link.connected, true);
  t.mock.timers.tick(1_000);
  assert.equal(link.connected, false);
  link.close();
});

it('does not take for silence what it has not read yet because a change takes long to apply', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const [ours, theirs] = duplexPair();
  const applied = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const apply = (): Promise<void> => {
    begun.resolve();
    return applied.promise;
  };
  const link = new FeedLink({ ...options, dial: async () => ours, apply });
  const feed = createControlFeed(theirs);
  feed.send({ type: 'welcome', version: 1, epoch: 'e', region: 'test' });
  feed.send({ type: 'snapshot', seq: 1, state: { tunnels: [], certificates: [], challenges: [], peers: [] } });
  await begun.promise;
  t.mock.timers.tick(60_000);
  assert.equal(link.connected, true);
  const acknowledged = new Promise((resolve) => Object.assign(feed, { onMessage: resolve }));
  applied.resolve();
  await acknowledged;
  t.mock.timers.tick(15_000);
  assert.equal(link.connected, false);
  link.close();
});

it('does not take a connection that a stopped control leaves unanswered for a sign of life', async (t) => {
  let nowMs = 1_000;
  t.mock.method(performance, 'now', () => nowMs);
  const [ours, theirs] = duplexPair();
  const hello = new Promise((resolve) => Object.assign(createControlFeed(theirs), { onMessage: resolve }));
  const dialled = Promise.withResolvers<Duplex>();
  const link = new FeedLink({ ...options, dial: () => dialled.promise });
  nowMs += 15_000;
  dialled.resolve(ours);
  await hello;
  assert.equal(link.awayMs, 15_000);
  link.close();
});
