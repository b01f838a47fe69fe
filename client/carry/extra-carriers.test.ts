import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Session } from '@underpass/wire/api.ts';
import type { Carrier } from './carrier.ts';
import { ExtraCarriers, isFullLong, type Load, nextLoad, type Seen } from './extra-carriers.ts';

const full: Seen = { isFar: true, isFull: true, openStreams: 1, receivedBytes: 0, sentBytes: 0, leastRttMs: 50 };
const fresh: Load = { receivedBytes: 0, fullLooks: 0 };

describe('a look at a carrier finds it full', () => {
  const cases: readonly (readonly [boolean, string, Partial<Seen>])[] = [
    [true, 'bytes wait here', {}],
    [true, 'the edge sends much', { isFull: false, receivedBytes: 16_384 }],
    [false, 'nothing waits, and little arrives', { isFull: false, receivedBytes: 16_383 }],
    [false, 'the path is short', { isFar: false }],
    [false, 'no stream is open', { openStreams: 0 }],
  ];
  for (const [expected, why, seen] of cases)
    it(`${expected ? 'if' : 'not if'}: ${why}`, () =>
      assert.equal(nextLoad(fresh, { ...full, ...seen }).fullLooks, expected ? 1 : 0));

  it('not by the bytes of an earlier look', () => {
    const before = nextLoad(fresh, { ...full, isFull: false, receivedBytes: 1e6 });
    assert.equal(nextLoad(before, { ...full, isFull: false, receivedBytes: 1e6 }).fullLooks, 0);
  });

  it('for long after two looks, or two round trips where these take longer', () => {
    const long = (fullLooks: number, leastRttMs: number) => isFullLong({ receivedBytes: 0, fullLooks }, { leastRttMs });
    assert.deepEqual([long(1, 50), long(2, 50), long(3, 200), long(4, 200)], [false, true, false, true]);
  });
});

/** A session whose state the test sets and whose PINGs it answers. */
function fakeCarrier(carriers?: number) {
  const session = {
    ...full,
    peerInfo: carriers === undefined ? {} : { carriers },
    isCollapsed: false,
    closed: false,
    drained: false,
    onProof: (_rttMs: number): void => {},
    onGoaway: (_code: string): void => {},
    drain(): void {
      session.drained = true;
    },
  };
  const carrier = { session: session as unknown as Session, onEnd: (_end: unknown): void => {} };
  const ping = (bytes: number): void => {
    session.sentBytes += bytes;
    session.onProof(100);
  };
  return { session, carrier: carrier as unknown as Carrier, ping, end: () => carrier.onEnd(null) };
}

function createExtras(told?: number) {
  const kept = [fakeCarrier(told), fakeCarrier(told)];
  const dials: PromiseWithResolvers<Carrier>[] = [];
  const connected: Session[] = [];
  const renewed: Carrier[] = [];
  let tick: (() => void) | null = null;
  const extras = new ExtraCarriers({
    kept: () => kept.map(({ carrier }) => carrier),
    open() {
      const dial = Promise.withResolvers<Carrier>();
      dials.push(dial);
      return dial.promise;
    },
    renew: (slow) => void renewed.push(slow),
    onConnected: (session) => void connected.push(session),
    clock: {
      every(_ms, run) {
        tick = run;
        return () => {
          tick = null;
        };
      },
    },
  });
  for (const { carrier } of kept) extras.watch(carrier.session);
  extras.streamOpened();
  const looks = (count: number): void => {
    for (let left = count; left > 0; left--) tick?.();
  };
  const answer = async (): Promise<ReturnType<typeof fakeCarrier>> => {
    const fresh = fakeCarrier(told);
    dials.at(-1)?.resolve(fresh.carrier);
    await new Promise(setImmediate);
    return fresh;
  };
  return { extras, kept, dials, connected, renewed, looks, answer, isLooking: () => tick !== null };
}

describe('extra carriers', () => {
  it('are opened one at a time while all carriers are full, as many as the edge takes', async () => {
    const { extras, dials, connected, looks, answer } = createExtras(4);
    looks(1);
    assert.equal(dials.length, 0);
    looks(5);
    assert.equal(dials.length, 1, 'the dial is under way');
    const third = await answer();
    assert.deepEqual([extras.carriers, connected], [[third.carrier], [third.session]]);
    looks(2);
    await answer();
    looks(9);
    assert.equal(dials.length, 2, 'the edge takes four');
  });

  it('are not opened while one carrier has room', () => {
    const { dials, kept, looks } = createExtras(8);
    Object.assign(kept[0]?.session as object, { isFull: false });
    looks(9);
    assert.equal(dials.length, 0);
  });

  it('are not opened at an edge that says nothing of them', () => {
    const { dials, looks } = createExtras();
    looks(9);
    assert.equal(dials.length, 0);
  });

  it('are asked for again by a later look if a dial fails', async () => {
    const { extras, dials, looks } = createExtras(3);
    looks(2);
    dials[0]?.reject(new Error('refused'));
    await new Promise(setImmediate);
    assert.deepEqual([dials.length, extras.carriers], [1, []]);
    looks(1);
    assert.equal(dials.length, 2);
  });

  it('are drained after a minute of PINGs without a stream and a byte', async () => {
    const { extras, looks, answer } = createExtras(8);
    looks(2);
    const { session, ping } = await answer();
    const idle = (pings: number): void => {
      for (let left = pings; left > 0; left--) ping(0);
    };
    idle(20);
    assert.equal(session.drained, false, 'a stream is open');
    session.openStreams = 0;
    idle(11);
    ping(1);
    idle(11);
    assert.deepEqual([session.drained, extras.carriers.length], [false, 1]);
    idle(1);
    assert.deepEqual([session.drained, extras.carriers.length], [true, 0]);
  });

  it('that are lost, or that their edge drains, make room for another', async () => {
    const { dials, extras, looks, answer } = createExtras(3);
    looks(2);
    (await answer()).end();
    assert.equal(extras.carriers.length, 0);
    looks(2);
    (await answer()).session.onGoaway('drain');
    looks(2);
    assert.equal(dials.length, 3);
  });

  it('are looked for only while bytes pass', () => {
    const { kept, looks, isLooking } = createExtras(8);
    for (const { session } of kept) session.isFull = false;
    looks(20);
    assert.equal(isLooking(), false);
    kept[0]?.ping(1);
    assert.equal(isLooking(), true);
  });

  it('that have collapsed are drained once all is calm, and kept ones renewed; those with a stream stay', async () => {
    const { extras, kept, renewed, looks, answer } = createExtras(8);
    looks(2);
    const extra = await answer();
    const calm = { isFull: false, isCollapsed: true, openStreams: 0 };
    for (const { session } of [...kept, extra]) Object.assign(session, calm);
    Object.assign(kept[1]?.session as object, { openStreams: 1 });
    looks(19);
    assert.deepEqual([renewed, extra.session.drained], [[], false]);
    looks(1);
    assert.deepEqual([renewed, extra.session.drained, extras.carriers], [[kept[0]?.carrier], true, []]);
  });

  it('that connect after the stop are drained', async () => {
    const { extras, looks, answer, isLooking } = createExtras(8);
    looks(2);
    extras.stop();
    assert.equal((await answer()).session.drained, true);
    assert.deepEqual([extras.carriers.length, isLooking()], [0, false]);
  });
});
