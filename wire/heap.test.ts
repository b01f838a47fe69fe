import assert from 'node:assert/strict';
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { test } from 'node:test';
import { collectHeap } from './heap.ts';

interface Collection extends PerformanceEntry {
  readonly detail: { readonly kind: number; readonly flags: number };
}

test('collects the whole heap, unless it is larger than the caller allows', async () => {
  const forced: Collection[] = [];
  const { promise: seen, resolve } = Promise.withResolvers<void>();
  const observer = new PerformanceObserver((list) => {
    const entries = list.getEntries() as Collection[];
    forced.push(...entries.filter(({ detail }) => (detail.flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) !== 0));
    if (forced.length > 0) resolve();
  });
  observer.observe({ entryTypes: ['gc'] });
  collectHeap(0);
  collectHeap();
  await seen;
  observer.disconnect();
  assert.deepEqual(
    forced.map(({ detail }) => detail.kind),
    [constants.NODE_PERFORMANCE_GC_MAJOR],
  );
});
