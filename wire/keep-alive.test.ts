import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from './fixture/clock.ts';
import { KeepAlive } from './keep-alive.ts';

const pingEveryMs = 5_000;

/** A pulse whose every ping is answered after as long as its turn says. */
function answered(roundTripsMs: readonly number[]): KeepAlive {
  const clock = createFakeClock();
  let payload = new Uint8Array(8);
  const pulse = new KeepAlive({ clock, sendPing: (sent) => (payload = new Uint8Array(sent)), onProof() {}, onSilent() {} });
  pulse.greet();
  for (const ms of roundTripsMs) {
    pulse.heard = true;
    clock.advance(ms);
    pulse.receivePong(payload);
    clock.advance(pingEveryMs - ms);
  }
  return pulse;
}

describe('pulse', () => {
  it('knows the path without the queue in front of it: the shortest round trip', () => {
    const pulse = answered([40, 12, 300, 250]);
    assert.equal(pulse.rttMs, 250);
    assert.equal(pulse.leastRttMs, 12);
  });

  it('forgets a shortest round trip of more than a minute ago, which may have been of another path', () => {
    assert.equal(answered([12, ...Array.from({ length: 11 }, () => 80)]).leastRttMs, 12);
    assert.equal(answered([12, ...Array.from({ length: 12 }, () => 80)]).leastRttMs, 80);
  });

  it('gives 0 before the first answer', () => {
    assert.equal(answered([]).leastRttMs, 0);
  });

  const doubts: readonly (readonly [string, readonly number[], number])[] = [
    ['three in a row far above the shortest', [12, 80, 90, 85], 80],
    ['a queue that empties now and then', [12, 80, 90, 13, 80, 90], 0],
    ['no more than two of them yet', [12, 80, 90], 0],
    ['less than twice the shortest', [50, 80, 90, 85], 0],
    ['what a busy machine makes of a short path', [1, 15, 18, 12], 0],
    ['no shorter one is remembered', [80, 80, 80], 0],
    ['the longer path is a minute old: no doubt is left', [12, ...Array.from({ length: 12 }, () => 80)], 0],
  ];
  for (const [why, roundTripsMs, doubtedMs] of doubts) {
    it(`${doubtedMs > 0 ? 'thinks of' : 'does not think of'} a longer path: ${why}`, () => {
      assert.equal(answered(roundTripsMs).doubtedRttMs, doubtedMs);
    });
  }
});
