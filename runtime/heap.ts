// Tunes V8's garbage collector for a process that relays bytes. The entry points of edge and client call it.
// It loads V8's modules when it needs them, because the compiled client has another engine.

/** The heap may grow by this factor between two full collections. V8 itself allows this maximum only to heaps that allocate fast. */
const growth = 4;

/**
 * Buffers lie outside the heap, and V8 by default starts a full collection for each 64 MiB of them: 40 per GB of a bulk
 * transfer, although the heap hardly changes. These flags count buffers in the limit of the whole heap, so that small
 * collections free them. They also raise that limit, because V8's default suits heaps whose growth is retained.
 */
export function countBuffersWithHeap(): void {
  // The V8 of an older Node writes each flag that it does not know to standard error.
  if (Number.parseInt(process.versions.node, 10) < 26) return;
  try {
    const { setFlagsFromString } = process.getBuiltinModule('node:v8');
    setFlagsFromString('--external-memory-accounted-in-global-limit');
    setFlagsFromString(`--external-memory-max-growing-factor=${growth}`);
    setFlagsFromString(`--heap-growing-percent=${(growth - 1) * 100}`);
  } catch {
    // Another engine: slower, but correct.
  }
}

/** The runtime of the compiled client. Its collector also returns free memory to the system. */
const runtime: { readonly Bun?: { gc(now: boolean): number } } = globalThis as object;

let fullCollection: (() => void) | null = null;

/** Runs a full collection now. It pauses the process, so a heap larger than `maxBytes` is not collected. */
export function collectHeap(maxBytes: number = Number.POSITIVE_INFINITY): void {
  if (process.versions.bun !== undefined) return void runtime.Bun?.gc(true);
  if (process.getBuiltinModule('node:v8').getHeapStatistics().used_heap_size > maxBytes) return;
  fullCollection ??= findFullCollection();
  fullCollection?.();
}

/**
 * A collection of last resort also empties the young generation and gives its pages back: 60 MB after thousands of connections,
 * which V8 otherwise keeps until the process has allocated next to nothing for 30 s. It takes twice as long as a plain one.
 */
const lastResort = { type: 'major', execution: 'sync', flavor: 'last-resort' } as const;

/** V8 adds `gc` to contexts created while the flag is set. The function still works after the flag is cleared. */
function findFullCollection(): (() => void) | null {
  try {
    const { setFlagsFromString } = process.getBuiltinModule('node:v8');
    setFlagsFromString('--expose-gc');
    const found: unknown = process.getBuiltinModule('node:vm').runInNewContext('gc');
    setFlagsFromString('--no-expose-gc');
    return typeof found === 'function' ? () => found(lastResort) : null;
  } catch {
    return null;
  }
}
