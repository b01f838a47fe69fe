import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BufferPool, giveBuffer, poolsFor, takeBuffer } from './buffer-pool.ts';

const kindOf = (bytes: number, maxFree: number): BufferPool => ({ bytes, free: [], maxFree });

describe('a pool of buffers', () => {
  it('lends a buffer again once it is given back, to one writer at a time', () => {
    const kind = kindOf(16, 4);
    const first = takeBuffer(kind);
    assert.notEqual(takeBuffer(kind), first);
    giveBuffer(first);
    assert.equal(takeBuffer(kind), first);
    assert.notEqual(takeBuffer(kind), first);
  });

  it('keeps free buffers up to its bound, each size apart', () => {
    const [small, large] = [kindOf(16, 2), kindOf(32, 2)];
    for (const slab of Array.from({ length: 5 }, () => takeBuffer(small))) giveBuffer(slab);
    assert.deepEqual([small.free.length, large.free.length], [2, 0]);
    assert.equal(takeBuffer(large).buffer.length, 32);
  });

  it('shares no memory with the pool of the runtime', () => {
    const kind = kindOf(16, 1);
    assert.equal(takeBuffer(kind).buffer.buffer.byteLength, 16);
  });

  it('has small buffers for visitors, and all pools keep a few MiB at most', () => {
    const { visitor, carrier, upstream } = poolsFor;
    assert.ok(visitor.first.bytes + visitor.bulk.bytes <= 80 * 1024);
    const kinds = new Set([visitor, carrier, upstream].flatMap(({ first, bulk }) => [first, bulk]));
    assert.ok([...kinds].reduce((sum, { bytes, maxFree }) => sum + bytes * maxFree, 0) <= 12 * 1024 * 1024);
  });
});
