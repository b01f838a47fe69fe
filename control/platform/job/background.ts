// Work that every control process repeats by the clock. It has no queue and no rows: what a run misses, the next one does.

import type { Logger } from 'pino';

export interface BackgroundWork {
  readonly name: string;
  readonly everyMs: number;
  /** Takes a lease itself where only one process may do it. */
  readonly run: () => Promise<unknown>;
  /** The first run is at once, not after the first pause. */
  readonly atStart?: boolean;
}

/** Never runs one work twice at once; a failure is logged. Returns the function that stops all. */
export function startBackground(table: readonly BackgroundWork[], log: Logger): () => void {
  const timers = table.map(({ name, everyMs, run, atStart = false }) => {
    let isRunning = false;
    const runOnce = async (): Promise<void> => {
      if (isRunning) return;
      isRunning = true;
      await run().catch((error: unknown) => log.error({ err: error }, `${name}: failed`));
      isRunning = false;
    };
    if (atStart) void runOnce();
    return setInterval(() => void runOnce(), everyMs);
  });
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}
