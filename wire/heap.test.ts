import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectHeap } from './heap.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('a heap is collected whole, unless it is too large to stand still for', async () => {
  let kept: object | null = { some: 'thing' };
  const seen = new WeakRef(kept);
  kept = null;
  await nextTurn();
  collectHeap(0);
  await nextTurn();
  assert.notEqual(seen.deref(), undefined);
  await nextTurn();
  collectHeap(Number.POSITIVE_INFINITY);
  await nextTurn();
  assert.equal(seen.deref(), undefined);
});
