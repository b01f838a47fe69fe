// Runs a full garbage collection after many connections or streams have opened or closed, and returns free memory to the system.
// Without it small uncollected objects fragment the C library's memory, and each allocation of a TLS buffer searches the
// fragments: a twelfth of all CPU of bulk transfer, until V8 collects on its own, which may take hours (docs/decisions/006).
// Handshakes leave such objects, too: thousands, when all clients come back after a restart.

import { collectHeap } from './heap.ts';
import { trimMemory } from './libc.ts';

export interface Closings {
  readonly open: number;
  /** Connections closed since the start. */
  readonly closed: number;
}

/** Collect once at least this many have opened or closed, and at least as many as are open: it then costs little per connection. */
const least = 2_048;
/** The wave is over when no more than this many open or close between two checks. */
const calm = 64;
/**
 * Collecting a larger heap would block for too long, and V8 collects that sooner on its own. With 160 MB of live objects, those of
 * 10,000 clients, it takes 0.24 s. The garbage in front of a collection counts, too.
 */
const mostCollectedBytes = 201_326_592;

export function trimHeap(): void {
  trimMemory?.(0n);
}

/** Connections since the start. */
interface Counts {
  readonly opened: number;
  readonly closed: number;
}

const mostSince = (before: Counts, now: Counts): number => Math.max(now.opened - before.opened, now.closed - before.closed);

export class MemoryReclaim {
  readonly #closings: () => Closings;
  readonly #collect: () => void;
  readonly #trim: () => void;
  #collected = false;
  #atCheck: Counts = { opened: 0, closed: 0 };
  #atCollection: Counts = { opened: 0, closed: 0 };

  constructor(
    closings: () => Closings,
    collect: () => void = () => collectHeap(mostCollectedBytes),
    trim: () => void = trimHeap,
  ) {
    this.#closings = closings;
    this.#collect = collect;
    this.#trim = trim;
  }

  /** Call it every second or so. */
  check(): void {
    const { open, closed } = this.#closings();
    // V8 frees what it collected in later turns of the event loop, so trim one check later.
    if (this.#collected) this.#trim();
    this.#collected = false;
    const counts = { opened: open + closed, closed };
    const isCalm = mostSince(this.#atCheck, counts) <= calm;
    this.#atCheck = counts;
    if (!isCalm || mostSince(this.#atCollection, counts) < Math.max(least, open)) return;
    this.#atCollection = counts;
    this.reclaim();
  }

  /** Collects now, and trims at the next check. */
  reclaim(): void {
    this.#collect();
    this.#collected = true;
  }
}
