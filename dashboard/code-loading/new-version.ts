// Tells if the server has a newer dashboard than this document. It asks only after a file did not load, which is how a tab that was open
// during an upgrade finds out.
import { useSyncExternalStore } from 'react';

let isReady = false;
const listeners = new Set<() => void>();

/** A document of another version names other scripts: each has a hash of its content in its name. */
export async function checkVersion(): Promise<void> {
  const running = [...document.querySelectorAll<HTMLScriptElement>('script[type="module"][src]')];
  const answer = await fetch(location.pathname, { cache: 'no-store', signal: AbortSignal.timeout(10_000) });
  const served = answer.ok ? await answer.text() : '';
  if (!served.includes('id="root"') || running.every(({ src }) => served.includes(new URL(src).pathname))) return;
  isReady = true;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useNewVersion = (): boolean => useSyncExternalStore(subscribe, () => isReady);
