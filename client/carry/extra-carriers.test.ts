import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Session } from '@underpass/wire/api.ts';
import type { Carrier } from './carrier.ts';
import { ExtraCarriers, isHeldUp, type Seen, unused } from './extra-carriers.ts';

const heldUp: Seen = { rttMs: 200, leastRttMs: 100, openStreams: 2, bytes: 65_536 };

describe('a carrier is held up', () => {
  const cases: readonly (readonly [boolean, string, Partial<Seen>])[] = [
    [true, 'a PING waited as long as the path takes', {}],
    [false, 'a PING waited for less', { rttMs: 199 }],
    [false, 'another carrier would have no stream', { openStreams: 1 }],
    [false, 'the streams are idle', { bytes: 65_535 }],
    [true, 'a queue of 20 ms', { leastRttMs: 20, rttMs: 40 }],
    [false, 'a near edge, whose PINGs wait for the processor', { leastRttMs: 19, rttMs: 1_000 }],
    [false, 'no PING has measured the path yet', { leastRttMs: 0 }],
  ];
  for (const [expected, why, seen] of cases)
    it(`${expected ? 'if' : 'not if'}: ${why}`, () => assert.equal(isHeldUp(unused, { ...heldUp, ...seen }), expected));

  it('not by the bytes of an earlier transfer', () => {
    assert.equal(isHeldUp({ bytes: 1, idlePings: 0 }, heldUp), false);
  });
});

/** A session whose PINGs the test answers. */
function fakeCarrier(carriers?: number) {
  const session = {
    peerInfo: carriers === undefined ? {} : { carriers },
    leastRttMs: 100,
    openStreams: 2,
    receivedBytes: 0,
    sentBytes: 0,
    closed: false,
    drained: false,
    onProof: (_rttMs: number): void => {},
    onGoaway: (_code: string): void => {},
    drain(): void {
      session.drained = true;
    },
  };
  const carrier = { session: session as unknown as Session, onEnd: (_end: unknown): void => {} };
  const ping = (rttMs: number, bytes: number): void => {
    session.sentBytes += bytes;
    session.onProof(rttMs);
  };
  return { session, carrier: carrier as unknown as Carrier, ping, hold: () => ping(300, 1e6), end: () => carrier.onEnd(null) };
}

function createExtras(told?: number) {
  const first = fakeCarrier(told);
  const opened: ReturnType<typeof fakeCarrier>[] = [];
  const dials: PromiseWithResolvers<Carrier>[] = [];
  const connected: Session[] = [];
  const extras = new ExtraCarriers({
    kept: 2,
    open() {
      const dial = Promise.withResolvers<Carrier>();
      dials.push(dial);
      return dial.promise;
    },
    onConnected: (session) => void connected.push(session),
  });
  extras.watch(first.carrier.session);
  const answer = async (): Promise<ReturnType<typeof fakeCarrier>> => {
    const fresh = fakeCarrier(told);
    opened.push(fresh);
    dials.at(-1)?.resolve(fresh.carrier);
    await new Promise(setImmediate);
    return fresh;
  };
  return { extras, first, dials, connected, answer };
}

describe('extra carriers', () => {
  it('are opened one at a time by each carrier that is held up, as many as the edge takes', async () => {
    const { extras, first, dials, connected, answer } = createExtras(5);
    first.hold();
    const third = await answer();
    assert.deepEqual([extras.carriers, connected], [[third.carrier], [third.session]]);
    third.hold();
    first.hold();
    assert.equal(dials.length, 3);
    first.hold();
    assert.equal(dials.length, 3, 'two more are being dialled');
  });

  it('are not opened at an edge that says nothing of them', () => {
    const { first, dials } = createExtras();
    first.hold();
    assert.equal(dials.length, 0);
  });

  it('are asked for again by a later PING if a dial fails', async () => {
    const { extras, first, dials } = createExtras(3);
    first.hold();
    dials[0]?.reject(new Error('refused'));
    await new Promise(setImmediate);
    assert.deepEqual([dials.length, extras.carriers], [1, []]);
    first.hold();
    assert.equal(dials.length, 2);
  });

  it('are drained after a minute of PINGs without a stream and a byte', async () => {
    const { extras, first, answer } = createExtras(8);
    first.hold();
    const { session, ping } = await answer();
    const idle = (pings: number): void => {
      for (let left = pings; left > 0; left--) ping(100, 0);
    };
    idle(20);
    assert.equal(session.drained, false, 'two streams are open');
    session.openStreams = 0;
    idle(11);
    ping(100, 1);
    idle(11);
    assert.deepEqual([session.drained, extras.carriers.length], [false, 1]);
    idle(1);
    assert.deepEqual([session.drained, extras.carriers.length], [true, 0]);
  });

  it('that are lost, or that their edge drains, make room for another', async () => {
    const { first, dials, extras, answer } = createExtras(3);
    first.hold();
    (await answer()).end();
    assert.equal(extras.carriers.length, 0);
    first.hold();
    (await answer()).session.onGoaway('drain');
    first.hold();
    assert.equal(dials.length, 3);
  });

  it('are not opened by the carriers that the pool keeps when these are idle, and none is drained', () => {
    const { first, dials } = createExtras(8);
    first.session.openStreams = 0;
    for (let left = 30; left > 0; left--) first.ping(300, 0);
    assert.deepEqual([dials.length, first.session.drained], [0, false]);
  });

  it('that connect after the stop are drained', async () => {
    const { extras, first, answer } = createExtras(8);
    first.hold();
    extras.stop();
    assert.equal((await answer()).session.drained, true);
    assert.equal(extras.carriers.length, 0);
  });
});
