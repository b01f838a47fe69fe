// How the garbage collector treats the buffers of a process that passes bytes on. For the entry points of edge and client.

import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How far the heap may grow between two full collections: V8's own upper bound, which it otherwise grants to quick heaps alone. */
const growth = 4;

/**
 * Buffers lie outside the heap, and V8 by default starts a full collection for each 64 MiB of them: for bulk transfers 40 per
 * GB, of a heap that has hardly changed. Counted in the limit of the whole heap instead, buffers are freed by the small
 * collections; that limit is also raised, because V8 sets it for heaps that grow by leaking.
 */
export function countBuffersWithHeap(): void {
  try {
    setFlagsFromString('--external-memory-accounted-in-global-limit');
    setFlagsFromString(`--external-memory-max-growing-factor=${growth}`);
    setFlagsFromString(`--heap-growing-percent=${(growth - 1) * 100}`);
  } catch {
    // Another engine, or a V8 without one of the flags: slower, but correct.
  }
}

let fullCollection: (() => void) | null = null;

/** A full collection, now. The process stands still meanwhile, so a heap larger than `maxBytes` is left alone. */
export function collectHeap(maxBytes: number = Number.POSITIVE_INFINITY): void {
  if (getHeapStatistics().used_heap_size > maxBytes) return;
  fullCollection ??= findFullCollection();
  fullCollection?.();
}

/** V8 gives the function to contexts created while the flag is set; it still works when the flag is off again. */
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
