// Fetches the data of one part of a page, apart from the page's loader. The old data stays until the new data arrives.
import { useCallback, useEffect, useRef, useState } from 'react';
import { isAbort } from './error.ts';

export interface Fetched<T> {
  /** undefined until the first answer. */
  readonly data: T | undefined;
  /** The error of the last attempt. */
  readonly error: unknown;
  readonly busy: boolean;
  readonly reload: () => void;
}

interface State<T> {
  readonly key: string;
  readonly data: T | undefined;
  readonly error: unknown;
}

/** Fetches again whenever the key changes. The key must contain everything that the fetch depends on. */
export function useFetched<T>(key: string, fetchData: (signal: AbortSignal) => Promise<T>): Fetched<T> {
  const [state, setState] = useState<State<T>>({ key, data: undefined, error: undefined });
  const [busy, setBusy] = useState(true);
  const [round, setRound] = useState(0);
  const latest = useRef(fetchData);
  latest.current = fetchData;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round is a reload.
  useEffect(() => {
    const controller = new AbortController();
    setBusy(true);
    latest.current(controller.signal).then(
      (data) => settle({ data, error: undefined }),
      (error: unknown) => isAbort(error) || settle({ error }),
    );
    const settle = (result: Partial<State<T>>) => {
      if (controller.signal.aborted) return;
      setState((old) => ({ key, data: old.key === key ? old.data : undefined, error: undefined, ...result }));
      setBusy(false);
    };
    return () => controller.abort();
  }, [key, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  const current = state.key === key;
  return { data: current ? state.data : undefined, error: current ? state.error : undefined, busy, reload };
}
