import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { giveSlab, type SlabKind, slabsFor, takeSlab } from './slab.ts';

const kindOf = (bytes: number, mostFree: number): SlabKind => ({ bytes, free: [], mostFree });

describe('memory for writes', () => {
  it('is lent again once it was given back, to one at a time', () => {
    const kind = kindOf(16, 4);
    const first = takeSlab(kind);
    assert.notEqual(takeSlab(kind), first);
    giveSlab(first);
    assert.equal(takeSlab(kind), first);
    assert.notEqual(takeSlab(kind), first);
  });

  it('is kept up to its bound and no further, each size by itself', () => {
    const [small, large] = [kindOf(16, 2), kindOf(32, 2)];
    for (const slab of Array.from({ length: 5 }, () => takeSlab(small))) giveSlab(slab);
    assert.deepEqual([small.free.length, large.free.length], [2, 0]);
    assert.equal(takeSlab(large).buffer.length, 32);
  });

  it('is no part of a pool of the runtime, whose other parts somebody else may write', () => {
    const kind = kindOf(16, 1);
    assert.equal(takeSlab(kind).buffer.buffer.byteLength, 16);
  });

  it('of a visitor is small, for there are many; all that waits unused is a few MiB', () => {
    const { visitor, carrier, upstream } = slabsFor;
    assert.ok(visitor.first.bytes + visitor.bulk.bytes <= 80 * 1024);
    const kinds = new Set([visitor, carrier, upstream].flatMap(({ first, bulk }) => [first, bulk]));
    assert.ok([...kinds].reduce((sum, { bytes, mostFree }) => sum + bytes * mostFree, 0) <= 12 * 1024 * 1024);
  });
});
