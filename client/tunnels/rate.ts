// Bytes per second over the last few seconds, from readings of a counter that only grows.

/** Long enough to smooth bursts, short enough to be current. */
const windowMs = 5_000;

interface Rate {
  /** The rate as of this reading. */
  readonly read: (nowMs: number, total: number) => number;
}

export function createRate(): Rate {
  let readings: { readonly atMs: number; readonly total: number }[] = [];
  return {
    read(nowMs, total) {
      const recent = readings.filter(({ atMs }) => atMs <= nowMs && nowMs - atMs <= windowMs);
      // At most ten readings per window, however often a caller asks.
      readings =
        recent.length === 0 || nowMs - (recent.at(-1)?.atMs ?? 0) >= windowMs / 10 ? [...recent, { atMs: nowMs, total }] : recent;
      const first = readings[0];
      const spanMs = nowMs - (first?.atMs ?? nowMs);
      return spanMs <= 0 ? 0 : ((total - (first?.total ?? total)) * 1000) / spanMs;
    },
  };
}
