// How much may wait for the carrier before streams are held back. Pure.
// A fast carrier gets the most; a slow one only what it sends in a tenth of a second, so that a small request or a ping
// behind a bulk transfer does not wait for a megabyte to leave first.

export const mostHighWaterBytes = 1_048_576;
/** One read of a socket: less would stop and go. Smaller writes also say nothing about the carrier's speed. */
export const leastHighWaterBytes = 65_536;
const waitMs = 100;

/** After `bytes` that were waiting took `ms` to leave. Moves a quarter of the way, so that one hiccup changes little. */
export function nextHighWater(current: number, bytes: number, ms: number): number {
  if (bytes < leastHighWaterBytes) return current;
  const goal = ms <= 0 ? mostHighWaterBytes : (bytes / ms) * waitMs;
  const bounded = Math.min(mostHighWaterBytes, Math.max(leastHighWaterBytes, goal));
  return Math.round(current + (bounded - current) / 4);
}
