// Checks something again by itself, ever more rarely, and not while the page is hidden.
import { useEffect, useRef } from 'react';

/** Longer than the server keeps an answer, so that a check sees a change. */
const firstPauseMs = 13_000;
const longestPauseMs = 5 * 60_000;
const growth = 1.6;

/**
 * Runs until the returned function is called. A page that is shown again checks at once, because its reader may have changed
 * something; so does a browser that is online again.
 */
export function startRechecks(check: () => void): () => void {
  let pauseMs = firstPauseMs;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = () => {
    timer = setTimeout(run, pauseMs);
    pauseMs = Math.min(pauseMs * growth, longestPauseMs);
  };
  const run = () => {
    check();
    wait();
  };
  const restart = () => {
    clearTimeout(timer);
    if (document.hidden) return;
    pauseMs = firstPauseMs;
    run();
  };
  document.addEventListener('visibilitychange', restart);
  window.addEventListener('online', restart);
  if (!document.hidden) wait();
  return () => {
    document.removeEventListener('visibilitychange', restart);
    window.removeEventListener('online', restart);
    clearTimeout(timer);
  };
}

/** Checks again while `wanted`. */
export function useRecheck(wanted: boolean, check: () => void): void {
  const latest = useRef(check);
  latest.current = check;
  useEffect(() => (wanted ? startRechecks(() => latest.current()) : undefined), [wanted]);
}
