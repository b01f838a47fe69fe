import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { beginPace, limitOf, nextPace, type Pace } from './pace.ts';

const minRttMs = 50;
const full = 100;

/** Looks of 100 ms, each with its rate in bytes a millisecond and its round trip. */
function look(pace: Pace, ...seen: readonly (readonly [rate: number, rttMs: number])[]): Pace {
  return seen.reduce(
    (before, [rate, rttMs]) =>
      nextPace(before, before.atMs + 100, { minRttMs, rttMs, deliveredBytes: before.deliveredBytes + 100 * rate }),
    pace,
  );
}

const begun = beginPace(0, 0);
const limited = look(begun, [10_000, minRttMs], [20_000, full], [20_000, full], [20_000, full]);

describe('the pace of a carrier', () => {
  it('has no limit while its rate grows, however long the queue is', () => {
    assert.equal(limitOf(look(begun, [1_000, full], [2_000, full], [4_000, full], [8_000, full])), null);
  });

  it('has no limit where no queue has formed', () => {
    assert.equal(limitOf(look(begun, ...Array.from({ length: 10 }, () => [20_000, 74] as const))), null);
  });

  it('is limited to a little more than what arrives once the rate is level and a queue has formed', () => {
    assert.equal(limitOf(limited), 21_000_000);
  });

  it('takes no look of a busy machine on a short path for a queue', () => {
    const short = (pace: Pace): Pace => nextPace(pace, pace.atMs + 10, { minRttMs: 5, rttMs: 14, deliveredBytes: 0 });
    assert.equal(limitOf(short(short(short(begun)))), null);
  });

  it('keeps its limit for a while after the queue is gone, then loses it', () => {
    const calm = (looks: number): Pace => look(limited, ...Array.from({ length: looks }, () => [20_000, minRttMs] as const));
    assert.ok(limitOf(calm(7)) !== null);
    assert.equal(limitOf(calm(8)), null);
  });

  it('follows a rate that falls because others send, slowly, and grows again beside their queue', () => {
    const fallen = look(limited, [10_000, full]);
    assert.equal(limitOf(fallen), Math.round(1.05 * 0.97 * 20_000_000));
    assert.ok((limitOf(look(fallen, [20_370, full])) ?? 0) > 21_000_000);
  });

  it('begins again after a pause', () => {
    assert.equal(limitOf(nextPace(limited, limited.atMs + 401, { minRttMs, rttMs: full, deliveredBytes: 0 })), null);
  });
});
