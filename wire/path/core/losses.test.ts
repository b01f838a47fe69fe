import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isLossy, type Losses, nextLosses, noLosses } from './losses.ts';

/** Looks of these segments each: sent, and sent again. */
function look(losses: Losses, ...seen: readonly (readonly [sent: number, resent: number])[]): Losses {
  return seen.reduce(({ counted, recent }, [sent, resent]) => {
    const now = { sentSegments: counted.sentSegments + sent, resentSegments: counted.resentSegments + resent };
    return nextLosses({ counted, recent }, now);
  }, losses);
}

describe('the losses of a path', () => {
  it('are none before a segment was sent again', () => {
    assert.equal(isLossy(noLosses), false);
    assert.equal(isLossy(look(noLosses, [10_000, 0])), false);
  });

  it('count from the first, however few segments were sent', () => {
    assert.equal(isLossy(look(noLosses, [20, 0], [20, 1])), true);
  });

  it('do not count while they are rare', () => {
    assert.equal(isLossy(look(noLosses, [1_000, 1])), false);
  });

  it('count again on a carrier that sent much before without loss', () => {
    const calm = look(noLosses, [1_000_000, 0]);
    assert.equal(isLossy(look(calm, ...Array.from({ length: 12 }, () => [1_000, 10] as const))), true);
  });

  it('count on when the counters of the kernel begin again', () => {
    const before = nextLosses(noLosses, { sentSegments: 2 ** 32 - 1_000, resentSegments: 2 ** 32 - 10 });
    const { recent } = nextLosses(before, { sentSegments: 500, resentSegments: 5 });
    assert.equal(recent.sentSegments, 0.5 * before.recent.sentSegments + 1_500);
    assert.equal(recent.resentSegments, 0.5 * before.recent.resentSegments + 15);
  });

  it('are forgotten once the path is calm', () => {
    const lossy = look(noLosses, [10_000, 1_000]);
    assert.equal(isLossy(lossy), true);
    assert.equal(isLossy(look(lossy, ...Array.from({ length: 9 }, () => [4_000, 0] as const))), false);
  });
});
