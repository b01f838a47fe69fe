// Gives back memory that an idle client does not need: what the start left behind, and what a crowd of streams left behind.
import { collectHeap } from '@underpass/runtime/heap.ts';
import { type Closings, MemoryReclaim, trimHeap } from '@underpass/runtime/memory-reclaim.ts';
import { unmapProgram } from '@underpass/runtime/program-pages.ts';

/** How often to look whether a crowd has gone. */
const checkMs = 1_000;
/** Time until a client has connected, and the runtime has compiled what the start ran often. */
const startedMs = 10_000;

/** Watches the whole process: a collection costs the same for one tunnel as for all. Returns a function that ends it. */
export function startIdleMemory(streams: () => Closings): () => void {
  const reclaim = new MemoryReclaim(streams, collectHeap, () => {
    trimHeap();
    unmapProgram();
  });
  const checks = setInterval(() => reclaim.check(), checkMs).unref();
  const started = setTimeout(() => reclaim.reclaim(), startedMs).unref();
  return () => {
    clearInterval(checks);
    clearTimeout(started);
  };
}
