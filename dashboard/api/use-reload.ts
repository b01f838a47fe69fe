// When a part of a page asks again: for a new state, or after some time.
import { useEffect, useRef } from 'react';

/** A list of thousands costs the server some 20 ms. */
export const reloadEveryMs = 2000;

/** Calls `reload` for every state after the first. */
export function useReload<State>(state: State, reload: () => void, first = state): void {
  const done = useRef({ state: first, at: Number.NEGATIVE_INFINITY });
  useEffect(() => {
    if (state === done.current.state) return;
    const waitMs = done.current.at + reloadEveryMs - performance.now();
    const timer = setTimeout(() => {
      done.current = { state, at: performance.now() };
      reload();
    }, waitMs);
    return () => clearTimeout(timer);
  }, [state, reload]);
}

/** Calls `reload` again and again, except while the tab is hidden. */
export function useRefresh(reload: () => void, everyMs: number): void {
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), everyMs);
    return () => clearInterval(timer);
  }, [reload, everyMs]);
}
