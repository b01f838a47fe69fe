import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { MemoryReclaim } from './memory-reclaim.ts';

describe('after many connections have opened or closed', () => {
  let closings = { open: 0, closed: 0 };
  let collections = 0;
  let trims = 0;
  let watch: MemoryReclaim;
  const look = (): number => {
    watch.check();
    return collections;
  };

  beforeEach(() => {
    closings = { open: 0, closed: 0 };
    collections = 0;
    trims = 0;
    watch = new MemoryReclaim(
      () => closings,
      () => collections++,
      () => trims++,
    );
  });

  it('the heap is collected once, when no more close', () => {
    closings.closed = 5_000;
    assert.equal(look(), 0, 'connections still close');
    closings.closed += 10;
    assert.equal(look(), 1);
    closings.closed += 10;
    assert.equal(look(), 1);
  });

  it('the heap is collected once, when all have opened', () => {
    closings.open = 5_000;
    assert.equal(look(), 0, 'connections still open');
    closings.open += 10;
    assert.equal(look(), 1);
    assert.equal(look(), 1);
    closings = { open: 0, closed: 5_010 };
    look();
    assert.equal(look(), 2, 'and once more when they have closed');
  });

  it('free memory is returned to the system once, one check after the collection', () => {
    closings.closed = 5_000;
    look();
    look();
    assert.equal(trims, 0);
    for (let looks = 0; looks < 3; looks++) look();
    assert.equal(trims, 1);
  });

  it('a caller may collect sooner, and memory is returned one check later as well', () => {
    watch.reclaim();
    assert.deepEqual([collections, trims], [1, 0]);
    look();
    assert.deepEqual([collections, trims], [1, 1]);
  });

  it('the heap is not collected if they were fewer than two thousand', () => {
    closings.closed = 2_000;
    look();
    assert.equal(look(), 0);
  });

  it('the heap is not collected again until as many have closed as are open', () => {
    closings.open = 6_000;
    look();
    assert.equal(look(), 1);
    for (const each of [3_000, 2_900]) {
      closings = { open: 6_000, closed: closings.closed + each };
      look();
      assert.equal(look(), 1);
    }
    closings.closed += 100;
    look();
    assert.equal(look(), 2);
  });
});
