// How a process that passes bytes on should count them. For the entry point of an edge and of a client.

import { setFlagsFromString } from 'node:v8';

/**
 * Every read makes a buffer outside the heap. V8 by default starts a full collection for each 64 MiB of them, which for
 * bulk is a dozen collections of a heap that has hardly changed per GB; counted in the limit of the whole heap they are
 * freed by the small collections. Measured on 1 GiB through an edge: CPU down by 30 to 40 %, resident memory alike.
 */
export function countBuffersWithHeap(): void {
  try {
    setFlagsFromString('--external-memory-accounted-in-global-limit');
  } catch {
    // Another engine, or one without the flag: slower, and right all the same.
  }
}
