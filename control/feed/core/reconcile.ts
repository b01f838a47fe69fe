// When everything is read from the store again. Pure. What is changed behind control's back (a command on the machine,
// news that the bus lost) is found by it, and a suspension has to be at the edges within a minute.

/** At most a fifth of the time goes into reading. */
const restPerRead = 4;

/**
 * The worst case is a change of what was just read: the rest of that reading, the pause, and the next one up to the same
 * place, so two readings and a pause. Ten seconds of the minute are for the edges: 5 s to hear of it, 5 s to cut.
 */
const withinMs = 50_000;
/** A store that takes longer than that to read is read without end rather than late. */
const shortestPauseMs = 1_000;

/** `readMs`: how long the last reading took; `leastMs`: the pause of a small installation. */
export const reconcilePauseMs = (readMs: number, leastMs: number): number => {
  const latest = Math.max(withinMs - 2 * readMs, shortestPauseMs);
  return Math.min(Math.max(leastMs, restPerRead * readMs), latest);
};
