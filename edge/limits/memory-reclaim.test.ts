import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { MemoryReclaim } from './memory-reclaim.ts';

describe('after a crowd', () => {
  let limiter = { open: 0, closed: 0 };
  let collections = 0;
  let trims = 0;
  let watch: MemoryReclaim;
  const look = (): number => {
    watch.check();
    return collections;
  };

  beforeEach(() => {
    limiter = { open: 0, closed: 0 };
    collections = 0;
    trims = 0;
    watch = new MemoryReclaim(
      limiter,
      () => collections++,
      () => trims++,
    );
  });

  it('the heap is collected once, when all of it has gone', () => {
    limiter.closed = 5_000;
    assert.equal(look(), 0, 'they are still going');
    limiter.closed += 10;
    assert.equal(look(), 1);
    limiter.closed += 10;
    assert.equal(look(), 1);
  });

  it('what it held goes back to the system once, a look after the collection', () => {
    limiter.closed = 5_000;
    look();
    look();
    assert.equal(trims, 0);
    for (let looks = 0; looks < 3; looks++) look();
    assert.equal(trims, 1);
  });

  it('of fewer than two thousand it is left alone', () => {
    limiter.closed = 2_000;
    look();
    assert.equal(look(), 0);
  });

  it('of fewer than have stayed it is left alone', () => {
    Object.assign(limiter, { closed: 5_000, open: 6_000 });
    look();
    assert.equal(look(), 0);
    limiter.closed += 1_000;
    look();
    assert.equal(look(), 1);
  });
});
