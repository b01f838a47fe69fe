// Whether live updates arrive. The page follows one project at a time, so there is one link.
import { useSyncExternalStore } from 'react';

/** Control sends a beat every 4 s (control/tunnels/tunnel/live-stream.ts): two are missing. The rest is for a try by another way. */
const silentAfterMs = 8000;
const stoppedAfterMs = 10_000;

let stoppedAtMs: number | undefined;
const listeners = new Set<() => void>();

function enter(next: number | undefined): void {
  if (next === stoppedAtMs) return;
  stoppedAtMs = next;
  for (const listener of listeners) listener();
}

export interface LinkWatch {
  /** Updates work now. True if the page showed that they had stopped. */
  readonly hear: () => boolean;
  readonly end: () => void;
}

/** `heardAtMs`: when updates last worked. `onSilent` can try another way before the page says that they have stopped. */
export function watchLink(heardAtMs: number, onSilent: () => void): LinkWatch {
  let heard = heardAtMs;
  let timer: ReturnType<typeof setTimeout>;
  const wait = () => {
    timer = setTimeout(() => {
      timer = setTimeout(() => enter(heard), stoppedAfterMs - silentAfterMs);
      onSilent();
    }, silentAfterMs);
  };
  wait();
  return {
    hear: () => {
      const had = stoppedAtMs !== undefined;
      heard = Date.now();
      clearTimeout(timer);
      wait();
      enter(undefined);
      return had;
    },
    end: () => {
      clearTimeout(timer);
      enter(undefined);
    },
  };
}

/** When the status on the page was last up to date; undefined while live updates arrive. */
export const stoppedSince = (): number | undefined => stoppedAtMs;

export const useStoppedAt = (): number | undefined => useSyncExternalStore(subscribe, stoppedSince);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
