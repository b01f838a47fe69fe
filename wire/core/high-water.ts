// How many bytes may wait for the carrier before its streams are held back. Pure.
// A fast carrier gets the maximum. A slow one gets what it sends in 30 ms, so that a small request or a PING
// behind a bulk transfer does not wait for a megabyte to leave first.

export const maxHighWaterBytes = 1_048_576;
/** One read of a socket: with less the carrier would stop and go. Smaller writes also say nothing about its speed. */
export const minHighWaterBytes = 65_536;
const waitMs = 30;

/** The next mark, after `bytes` that waited took `ms` to leave. Moves a quarter of the way, so one hiccup changes little. */
export function nextHighWater(current: number, bytes: number, ms: number): number {
  if (bytes < minHighWaterBytes) return current;
  const goal = ms <= 0 ? maxHighWaterBytes : (bytes / ms) * waitMs;
  const bounded = Math.min(maxHighWaterBytes, Math.max(minHighWaterBytes, goal));
  return Math.round(current + (bounded - current) / 4);
}
