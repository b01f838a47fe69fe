import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../fixture/clock.ts';
import { KeepAlive } from './keep-alive.ts';

const pingEveryMs = 5_000;

/** A keep-alive whose PINGs are answered after these times, one after the other. */
function answered(roundTripsMs: readonly number[]): KeepAlive {
  const clock = createFakeClock();
  let payload = new Uint8Array(8);
  const keepAlive = new KeepAlive({ clock, sendPing: (sent) => (payload = new Uint8Array(sent)), onProof() {}, onSilent() {} });
  keepAlive.greet();
  for (const ms of roundTripsMs) {
    keepAlive.heard = true;
    clock.advance(ms);
    keepAlive.receivePong(payload);
    clock.advance(pingEveryMs - ms);
  }
  return keepAlive;
}

describe('keep-alive', () => {
  it('takes the shortest round trip for the path without a queue', () => {
    const keepAlive = answered([40, 12, 300, 250]);
    assert.equal(keepAlive.rttMs, 250);
    assert.equal(keepAlive.leastRttMs, 12);
  });

  it('forgets a shortest round trip after a minute: the path may be another one now', () => {
    assert.equal(answered([12, ...Array.from({ length: 11 }, () => 80)]).leastRttMs, 12);
    assert.equal(answered([12, ...Array.from({ length: 12 }, () => 80)]).leastRttMs, 80);
  });

  it('counts the answer to a probe that is under way when a regular one is due', () => {
    const clock = createFakeClock();
    let payload = new Uint8Array(8);
    const keepAlive = new KeepAlive({ clock, sendPing: (sent) => (payload = new Uint8Array(sent)), onProof() {}, onSilent() {} });
    keepAlive.greet();
    clock.advance(90);
    keepAlive.receivePong(payload);
    keepAlive.heard = true;
    clock.advance(4_900);
    keepAlive.probe();
    clock.advance(30);
    keepAlive.receivePong(payload);
    assert.equal(keepAlive.leastRttMs, 30);
  });

  it('gives 0 before the first answer', () => {
    assert.equal(answered([]).leastRttMs, 0);
  });

  const doubts: readonly (readonly [string, readonly number[], number])[] = [
    ['three in a row are far above the shortest', [12, 80, 90, 85], 80],
    ['a queue empties now and then', [12, 80, 90, 13, 80, 90], 0],
    ['only two are above it so far', [12, 80, 90], 0],
    ['they are less than twice the shortest', [50, 80, 90, 85], 0],
    ['a busy machine delays the pings of a short path', [1, 15, 18, 12], 0],
    ['no shorter one is known', [80, 80, 80], 0],
    ['the longer path is a minute old, so its round trip is the shortest', [12, ...Array.from({ length: 12 }, () => 80)], 0],
  ];
  for (const [why, roundTripsMs, doubtedMs] of doubts) {
    it(`${doubtedMs > 0 ? 'suspects' : 'does not suspect'} a longer path: ${why}`, () => {
      assert.equal(answered(roundTripsMs).doubtedRttMs, doubtedMs);
    });
  }

  describe('a peer that was asked', () => {
    const start = (firstMs = 0, opens = false) => {
      const clock = createFakeClock();
      const pings: Uint8Array[] = [];
      const quietMs: number[] = [];
      const keepAlive = new KeepAlive({
        clock,
        opens,
        sendPing: (sent) => pings.push(new Uint8Array(sent)),
        onProof() {},
        onQuiet: () => quietMs.push(clock.now()),
        onSilent() {},
      });
      keepAlive.greet();
      const hear = (): void => {
        keepAlive.heard = true;
        keepAlive.answered = true;
      };
      const pong = (): void => {
        hear();
        keepAlive.receivePong(pings.at(-1)!);
      };
      clock.advance(firstMs);
      pong();
      return { clock, keepAlive, pings, quietMs, hear, pong };
    };

    it('only by the PING of every 5 s is quiet a second later, and this is told once until it answers', () => {
      const { clock, keepAlive, quietMs, pong } = start(0, true);
      clock.advance(5_999);
      assert.equal(keepAlive.isQuiet, false);
      clock.advance(6_000);
      assert.deepEqual([keepAlive.isQuiet, quietMs], [true, [6_000]]);
      pong();
      clock.advance(10_000);
      assert.deepEqual(quietMs, [6_000, 16_000]);
    });

    it('only by that PING is not quiet to a side that opens no streams, which watches nothing in between', () => {
      const { clock, keepAlive, quietMs } = start();
      const { timers } = clock;
      clock.advance(9_000);
      assert.deepEqual([keepAlive.isQuiet, quietMs, clock.timers], [false, [], timers]);
    });

    it('gets a PING after 0.4 s of silence, and is quiet after one second', () => {
      const { clock, keepAlive, pings } = start();
      keepAlive.asked();
      clock.advance(399);
      assert.equal(pings.length, 1);
      clock.advance(1);
      assert.equal(pings.length, 2);
      clock.advance(599);
      assert.equal(keepAlive.isQuiet, false);
      clock.advance(1);
      assert.equal(keepAlive.isQuiet, true);
    });

    it('is not quiet while it is asked again and again, and answers', () => {
      const { clock, keepAlive, pings, hear } = start();
      for (let asked = 0; asked < 100; asked++) {
        keepAlive.asked();
        clock.advance(40);
        hear();
        keepAlive.asked();
        clock.advance(10);
        assert.equal(keepAlive.isQuiet, false);
      }
      assert.equal(pings.length, 2, 'only the PING of the keep-alive follows');
    });

    it('is no longer quiet once anything arrives, and nothing watches it after an answer', () => {
      const { clock, keepAlive, hear, pong } = start();
      const { timers } = clock;
      keepAlive.asked();
      clock.advance(1_000);
      assert.equal(keepAlive.isQuiet, true);
      hear();
      assert.equal(keepAlive.isQuiet, false);
      pong();
      clock.advance(200);
      assert.equal(clock.timers, timers);
    });

    it('whose upstream is slow answers the PING, which does not count among those of a minute', () => {
      const { clock, keepAlive, pong } = start(40);
      for (let asked = 0; asked < 20; asked++) {
        keepAlive.asked();
        clock.advance(410);
        pong();
        assert.equal(keepAlive.isQuiet, false);
      }
      assert.equal(keepAlive.leastRttMs, 40);
    });
  });
});
