// When a server may start again after it failed to start: each visitor waits for their own failures, so none can keep others out.

interface StartGate {
  /** How long to wait; 0 if it may start. */
  readonly waitMs: (key: string, nowMs: number) => number;
  readonly failed: (key: string, nowMs: number) => void;
  readonly worked: (key: string) => void;
}

const firstMs = 500;
const longestMs = 30_000;
/** Keys with failures; the oldest is forgotten. */
const maxKeys = 256;

export function createStartGate(): StartGate {
  const failures = new Map<string, { readonly count: number; readonly untilMs: number }>();
  return {
    waitMs: (key, nowMs) => Math.max(0, (failures.get(key)?.untilMs ?? 0) - nowMs),
    failed(key, nowMs) {
      const count = (failures.get(key)?.count ?? 0) + 1;
      failures.delete(key);
      failures.set(key, { count, untilMs: nowMs + Math.min(longestMs, firstMs * 2 ** (count - 1)) });
      const [oldest = ''] = failures.keys();
      if (failures.size > maxKeys) failures.delete(oldest);
    },
    worked: (key) => void failures.delete(key),
  };
}
