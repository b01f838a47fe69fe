// One request with its headers and bodies. It is read again when its row changes.
import type { Exchange, ExchangeSummary } from '@underpass/rules/inspect/exchange.ts';
import { useEffect, useState } from 'react';
import { getExchange } from '../api/calls.ts';

interface LoadedExchange {
  /** The exchange of the requested id; a failed refresh keeps it. */
  readonly exchange: Exchange | undefined;
  readonly error: unknown;
}

/** `summary` is its row in the list: a new object is a change. */
export function useExchange(id: number, summary: ExchangeSummary | undefined, reveal: boolean): LoadedExchange {
  const [loaded, setLoaded] = useState<LoadedExchange>({ exchange: undefined, error: undefined });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a changed summary means changed content.
  useEffect(() => {
    const stop = new AbortController();
    getExchange(id, reveal, stop.signal).then(
      (exchange) => setLoaded({ exchange, error: undefined }),
      (error: unknown) => {
        if (!stop.signal.aborted) setLoaded(({ exchange }) => ({ exchange, error }));
      },
    );
    return () => stop.abort();
  }, [id, summary, reveal]);
  return loaded.exchange === undefined || loaded.exchange.id === id ? loaded : { exchange: undefined, error: loaded.error };
}
