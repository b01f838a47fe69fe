// The sessions with one neighbour: what happens to its carriers when they are full, or the neighbour goes.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type Duplex, duplexPair } from 'node:stream';
import { describe, it } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import type { Session, Stream } from '@underpass/wire/api.ts';
import type { Offer } from '@underpass/wire/core/offer.ts';
import { testRequest } from '@underpass/wire/fixture/sessions.ts';
import { createSession } from '@underpass/wire/session/session.ts';
import { pino } from 'pino';
import { Neighbour } from './neighbour.ts';

/** A neighbour that takes `maxStreams` at once on each carrier, and its side of all carriers that were dialled. */
function createNeighbour(maxStreams = 1, offers: readonly Offer[] = []) {
  const carriers: { readonly carrier: Duplex; readonly stream: Promise<Stream> }[] = [];
  const dial = async (): Promise<Duplex> => {
    const [near, far] = duplexPair();
    const session = createSession(far, { side: 'acceptor', peerMayOpen: true, info: {}, limits: { maxStreams } });
    const { promise, resolve } = Promise.withResolvers<Stream>();
    session.onReady = () => session.offer(offers);
    session.onStream = resolve;
    carriers.push({ carrier: far, stream: promise });
    return near;
  };
  return { carriers, neighbour: new Neighbour('place', dial, 'test/1', pino({ level: 'silent' })) };
}

describe('a neighbour', () => {
  it('gets a second carrier once the first is full, and loses the first when its streams end', async () => {
    const { carriers, neighbour } = createNeighbour();
    const stream = ((await neighbour.open()) as Session).open(testRequest);
    await carriers[0]?.stream;
    const second = await neighbour.open();
    assert.equal(second?.canOpen, true);
    assert.equal(stream.closed, false, 'a running stream continues');
    const closed = once(carriers[0]?.carrier as Duplex, 'close');
    stream.reset('cancelled');
    await closed;
    assert.equal(neighbour.session, second);
    neighbour.close();
  });

  it('that was left keeps its carrier until the last stream ends, and is not dialled again', async () => {
    const { carriers, neighbour } = createNeighbour();
    const stream = ((await neighbour.open()) as Session).open(testRequest);
    await carriers[0]?.stream;
    neighbour.leave();
    assert.equal(stream.closed, false, 'a running stream continues');
    assert.equal(await neighbour.open(), null);
    const closed = once(carriers[0]?.carrier as Duplex, 'close');
    stream.reset('cancelled');
    await closed;
    assert.equal(carriers.length, 1);
  });

  it('that stops answering no longer counts as one with a working client, until it answers again', {
    timeout: 30_000,
  }, async () => {
    const { carriers, neighbour } = createNeighbour(2, [{ key: 't', healthy: true }]);
    const session = (await neighbour.open()) as Session;
    assert.equal(neighbour.standing('t'), 'working');
    carriers[0]?.carrier.pause();
    session.open(testRequest);
    const until = (wanted: string) => eventually(() => neighbour.standing('t') === wanted);
    await until('doubtful');
    carriers[0]?.carrier.resume();
    await until('working');
    neighbour.close();
  });
});
