// Spreads long work over turns of the event loop, so that visitors do not wait for it.

import { setImmediate as nextTurn } from 'node:timers/promises';

/** Work of one turn. A visitor's request then waits for at most one such piece in each process. */
const turnMs = 4;

/** Runs the steps; between steps it lets the event loop turn once the time of this turn is used up. */
export async function inTurns<Result>(steps: Iterator<void, Result>): Promise<Result> {
  let endsAtMs = performance.now() + turnMs;
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() < endsAtMs) continue;
    await nextTurn();
    endsAtMs = performance.now() + turnMs;
  }
}

/** Runs all steps at once: before there are visitors. */
export function atOnce<Result>(steps: Iterator<void, Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
