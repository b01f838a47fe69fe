import assert from 'node:assert/strict';
import { type Duplex, duplexPair } from 'node:stream';
import { it } from 'node:test';
import { pino } from 'pino';
import { FeedLink } from './feed-link.ts';

it('a carrier to control that stands when nobody waits for it any more is closed', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const dialled = Promise.withResolvers<Duplex>();
  const link = new FeedLink({
    dial: () => dialled.promise,
    edgeId: 'e',
    region: 'test',
    software: '',
    startedAtMs: 0,
    position: null,
    apply: () => {},
    report: () => [],
    pace: 'control',
    log: pino({ level: 'silent' }),
    random: () => 0,
  });
  t.mock.timers.tick(10_000);
  await new Promise(setImmediate);
  const [carrier] = duplexPair();
  dialled.resolve(carrier);
  await new Promise(setImmediate);
  assert.ok(carrier.destroyed);
  link.close();
});
