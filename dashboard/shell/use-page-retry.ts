// How a page that failed to load tries again: its data by the loaders, its code by a reload of the document, which also finds the
// file names of a newer version.
import { useCallback, useState } from 'react';
import { useRevalidator } from 'react-router';
import { isApiError, isTemporary, mayRetry } from '../api/error.ts';
import { useAutoRetry } from '../api/use-again.ts';
import { CodeError } from '../code-loading/load-code.ts';

interface PageRetry {
  /** Missing if trying again cannot help. */
  readonly retry: (() => void) | undefined;
  readonly busy: boolean;
  readonly retriesItself: boolean;
}

export function usePageRetry(error: unknown): PageRetry {
  const { revalidate, state } = useRevalidator();
  const [latest, setLatest] = useState<unknown>();
  const isCode = error instanceof CodeError;
  const reload = useCallback(() => {
    reloadOnceReachable().catch((reason: unknown) =>
      setLatest(new CodeError('The server cannot be reached.', { cause: reason })),
    );
  }, []);
  useAutoRetry(isCode ? (latest ?? error) : error, isCode ? reload : revalidate);
  const retry = isApiError(error) ? () => revalidate() : () => location.reload();
  return {
    retry: mayRetry(error) ? retry : undefined,
    busy: state === 'loading',
    retriesItself: isTemporary(error),
  };
}

const reloadedKey = 'reloaded-for-code';
/** Code that is missing after a reload, too, must not reload the document forever. */
const reloadEveryMs = 60_000;

/** A reload while the server is away would lose the page to the browser's own error page. */
async function reloadOnceReachable(): Promise<void> {
  const { status } = await fetch(location.pathname, { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(10_000) });
  if (status >= 500) throw new Error(`The server answers ${status}.`);
  const last = Number(sessionStorage.getItem(reloadedKey));
  if (Date.now() - last < reloadEveryMs) return;
  sessionStorage.setItem(reloadedKey, String(Date.now()));
  location.reload();
}
