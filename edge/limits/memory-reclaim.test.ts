import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { AfterCrowd } from './memory-reclaim.ts';

describe('after a crowd', () => {
  let doorman = { open: 0, gone: 0 };
  let collections = 0;
  let trims = 0;
  let watch: AfterCrowd;
  const look = (): number => {
    watch.look();
    return collections;
  };

  beforeEach(() => {
    doorman = { open: 0, gone: 0 };
    collections = 0;
    trims = 0;
    watch = new AfterCrowd(
      doorman,
      () => collections++,
      () => trims++,
    );
  });

  it('the heap is collected once, when all of it has gone', () => {
    doorman.gone = 5_000;
    assert.equal(look(), 0, 'they are still going');
    doorman.gone += 10;
    assert.equal(look(), 1);
    doorman.gone += 10;
    assert.equal(look(), 1);
  });

  it('what it held goes back to the system once, a look after the collection', () => {
    doorman.gone = 5_000;
    look();
    look();
    assert.equal(trims, 0);
    for (let looks = 0; looks < 3; looks++) look();
    assert.equal(trims, 1);
  });

  it('of fewer than two thousand it is left alone', () => {
    doorman.gone = 2_000;
    look();
    assert.equal(look(), 0);
  });

  it('of fewer than have stayed it is left alone', () => {
    Object.assign(doorman, { gone: 5_000, open: 6_000 });
    look();
    assert.equal(look(), 0);
    doorman.gone += 1_000;
    look();
    assert.equal(look(), 1);
  });
});
