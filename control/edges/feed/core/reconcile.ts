// When everything is read from the store again. Pure. This finds changes that no message announced to control (a command on the
// machine, a message that the bus lost). A suspension must reach the edges within a minute.

/** Reading takes at most a fifth of the time. */
const restPerRead = 4;

/**
 * The worst case is a change right after its row was read. It waits for the rest of that reading, the pause, and the next reading
 * up to that row: two readings and a pause. Ten seconds of the minute are for the edges: 5 s to deliver, 5 s to cut.
 */
const withinMs = 50_000;
/** A store that takes longer to read is read almost without pause. */
const shortestPauseMs = 1_000;

/** `readMs`: how long the last reading took; `leastMs`: the pause of a small installation. */
export function reconcilePauseMs(readMs: number, leastMs: number): number {
  const latest = Math.max(withinMs - 2 * readMs, shortestPauseMs);
  return Math.min(Math.max(leastMs, restPerRead * readMs), latest);
}
