import assert from 'node:assert/strict';
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { test } from 'node:test';
import { getHeapSpaceStatistics } from 'node:v8';
import { collectHeap } from './heap.ts';

interface Collection extends PerformanceEntry {
  readonly detail: { readonly kind: number; readonly flags: number };
}

const asked = constants.NODE_PERFORMANCE_GC_FLAGS_FORCED | constants.NODE_PERFORMANCE_GC_FLAGS_ALL_AVAILABLE_GARBAGE;

test('collects the whole heap, unless it is larger than the caller allows', async () => {
  const forced: Collection[] = [];
  const { promise: seen, resolve } = Promise.withResolvers<void>();
  const observer = new PerformanceObserver((list) => {
    const entries = list.getEntries() as Collection[];
    forced.push(...entries.filter(({ detail }) => (detail.flags & asked) !== 0));
    if (forced.length > 0) resolve();
  });
  observer.observe({ entryTypes: ['gc'] });
  collectHeap(0);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(forced.length, 0);
  collectHeap();
  await seen;
  observer.disconnect();
  assert.ok(forced.every(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR));
});

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.physical_space_size ?? 0;

test('gives the memory of the young generation back', () => {
  const kept: object[] = [];
  for (let made = 0; made < 400_000; made++) kept.push({ made, pair: [made, made + 1] });
  const grown = youngBytes();
  collectHeap();
  assert.ok(grown > 8e6 && youngBytes() < 2e6, `${grown} bytes before, ${youngBytes()} after`);
  assert.equal(kept.length, 400_000);
});
