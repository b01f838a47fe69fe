// How a process that passes bytes on should count them. For the entry point of an edge and of a client.

import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** V8's own upper bound of growth between two full collections, which it grants only to heaps it has seen to be quick. */
const growth = 4;

/**
 * Every read makes a buffer outside the heap. V8 by default starts a full collection for each 64 MiB of them, which for
 * bulk is 40 collections of a heap that has hardly changed per GB; counted in the limit of the whole heap they are freed
 * by the small collections, once that limit is not set as tightly as for a heap that grows by leaking.
 */
export function countBuffersWithHeap(): void {
  try {
    setFlagsFromString('--external-memory-accounted-in-global-limit');
    setFlagsFromString(`--external-memory-max-growing-factor=${growth}`);
    setFlagsFromString(`--heap-growing-percent=${(growth - 1) * 100}`);
  } catch {
    // Another engine, or one without a flag: slower, and right all the same.
  }
}

let fullCollection: (() => void) | null = null;

/** A full collection, now; the process stands still for it, so that no heap larger than `mostBytes` is collected. */
export function collectHeap(mostBytes: number = Number.POSITIVE_INFINITY): void {
  if (getHeapStatistics().used_heap_size > mostBytes) return;
  fullCollection ??= findFullCollection();
  fullCollection?.();
}

/** V8 gives it to contexts that are made while this flag is set, and the function outlives the flag. */
function findFullCollection(): (() => void) | null {
  try {
    setFlagsFromString('--expose-gc');
    const found: unknown = runInNewContext('gc');
    setFlagsFromString('--no-expose-gc');
    return typeof found === 'function' ? () => found() : null;
  } catch {
    return null;
  }
}
