// Tries again by itself what failed because the server could not answer, with growing pauses. For pages that show nothing else.
import { useEffect, useRef } from 'react';
import { isApiError, isTemporary } from './error.ts';

const firstPauseMs = 2000;
const mostPauseMs = 30_000;

/** `random`: from 0 to 1. It spreads the pages that lost the same server at the same moment. */
export function nextPauseMs(failures: number, random: number, retryAfterSeconds = 0): number {
  const pauseMs = Math.min(mostPauseMs, firstPauseMs * 2 ** failures);
  return Math.max(retryAfterSeconds * 1000, pauseMs * (0.75 + random / 2));
}

/** Each failure is an error object of its own. A hidden tab does not ask: it reloads its data when it is shown. */
export function useAutoRetry(error: unknown, retry: () => void): void {
  const failures = useRef(0);
  const latest = useRef(retry);
  latest.current = retry;
  useEffect(() => {
    if (!isTemporary(error)) return;
    const retryAfter = isApiError(error) ? error.retryAfterSeconds : undefined;
    let timer: ReturnType<typeof setTimeout>;
    const wait = (pauseMs: number) => {
      timer = setTimeout(() => (document.hidden ? wait(firstPauseMs) : latest.current()), pauseMs);
    };
    wait(nextPauseMs(failures.current++, Math.random(), retryAfter));
    return () => clearTimeout(timer);
  }, [error]);
}
