// Does something again by itself, after a pause. The timers of all pages are here: none runs while its page is hidden.
import { useEffect, useEffectEvent, useRef } from 'react';
import { isApiError, isTemporary } from './error.ts';

/** The pause before a round, counted from 0. */
export type Pauses = (round: number) => number;

export const every =
  (ms: number): Pauses =>
  () =>
    ms;

/** Ever more rarely: from longer than the server keeps an answer, so that a check sees a change, to five minutes. */
export const everMoreRarely: Pauses = (round) => Math.min(13_000 * 1.6 ** round, 5 * 60_000);

/**
 * Runs until the returned function is called. A page that is shown again works at once, because its reader may have changed
 * something; so does a browser that is online again.
 */
export function startRounds(work: () => void, pauses: Pauses): () => void {
  let round = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = () => {
    timer = setTimeout(run, pauses(round++));
  };
  const run = () => {
    wait();
    work();
  };
  const restart = () => {
    clearTimeout(timer);
    if (document.hidden) return;
    round = 0;
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

/** `pauses`: the same function each time; undefined to stop. */
export function useAgain(work: () => void, pauses: Pauses | undefined): void {
  const onRound = useEffectEvent(work);
  useEffect(() => (pauses === undefined ? undefined : startRounds(() => onRound(), pauses)), [pauses]);
}

const firstRetryMs = 2000;
const mostRetryMs = 30_000;

/** `random`: from 0 to 1. It spreads the pages that lost the same server at the same moment. */
export function nextPauseMs(failures: number, random: number, retryAfterSeconds = 0): number {
  const pauseMs = Math.min(mostRetryMs, firstRetryMs * 2 ** failures);
  return Math.max(retryAfterSeconds * 1000, pauseMs * (0.75 + random / 2));
}

/**
 * Tries again what failed because the server could not answer, with growing pauses. For pages that show nothing else. Each failure
 * is an error object of its own, and leads to one try.
 */
export function useAutoRetry(error: unknown, retry: () => void): void {
  const failures = useRef(0);
  const onRetry = useEffectEvent(retry);
  useEffect(() => {
    if (!isTemporary(error)) return;
    const pauseMs = nextPauseMs(failures.current++, Math.random(), isApiError(error) ? error.retryAfterSeconds : undefined);
    const stop = startRounds(() => {
      stop();
      onRetry();
    }, every(pauseMs));
    return stop;
  }, [error]);
}

/** A list of thousands costs the server some 20 ms. */
export const reloadEveryMs = 2000;

/** Calls `reload` for every state after the first. */
export function useReload<State>(state: State, reload: () => void, first = state): void {
  const done = useRef({ state: first, at: Number.NEGATIVE_INFINITY });
  const onReload = useEffectEvent(reload);
  useEffect(() => {
    if (state === done.current.state) return;
    const waitMs = done.current.at + reloadEveryMs - performance.now();
    const timer = setTimeout(() => {
      done.current = { state, at: performance.now() };
      onReload();
    }, waitMs);
    return () => clearTimeout(timer);
  }, [state]);
}
