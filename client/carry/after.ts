// A single delay on a session's clock.

import type { SessionClock } from '@underpass/wire/clock.ts';

/** Returns a function that cancels the task. */
export function after(clock: SessionClock, ms: number, task: () => void): () => void {
  const stop = clock.every(ms, () => {
    stop();
    task();
  });
  return stop;
}
