// Asks the client which requests hold the words of the search in their headers, bodies, frames and events.
import type { ExchangeSummary } from '@underpass/rules/inspect/exchange.ts';
import { useEffect, useRef, useState } from 'react';
import { searchExchanges } from '../api/calls.ts';
import { type Found, nothingFound, wordsOf } from '../core/filter.ts';

/** The pause between two searches: a person types several letters, and requests arrive in a row. */
const pauseMs = 300;

interface ContentSearch {
  readonly found: Found;
  readonly isSearching: boolean;
  /** What it left out; empty if nothing. */
  readonly note: string;
}

const noSearch: ContentSearch = { found: nothingFound, isSearching: false, note: '' };

/** `exchanges`: the rows to search. An unchanged row is the same object, and is searched once. */
export function useContentSearch(text: string, exchanges: readonly ExchangeSummary[]): ContentSearch {
  const words = wordsOf(text).join(' ');
  const rows = useRef(exchanges);
  useEffect(() => {
    rows.current = exchanges;
  }, [exchanges]);
  const [search, setSearch] = useState(noSearch);
  useEffect(() => {
    if (words === '') return setSearch(noSearch);
    const stop = new AbortController();
    const searched = new WeakSet<ExchangeSummary>();
    setSearch(({ found }) => ({ found, isSearching: true, note: '' }));
    let isFirst = true;
    const step = async () => {
      const changed = rows.current.filter((row) => !searched.has(row));
      if (isFirst || changed.length > 0) {
        const ids = changed.map(({ id }) => id);
        const next = await searchExchanges(words, ids, stop.signal).then(
          ({ found, isWhole }) => ({ found, note: isWhole ? '' : 'The oldest bodies were not searched.' }),
          (error: Error) => ({ found: [], note: error.message }),
        );
        if (stop.signal.aborted) return;
        for (const row of changed) searched.add(row);
        const isNew = isFirst;
        setSearch((before) => ({
          found: merge(isNew ? nothingFound : before.found, next.found),
          isSearching: false,
          note: next.note || (isNew ? '' : before.note),
        }));
        isFirst = false;
      }
      timer = setTimeout(step, pauseMs);
    };
    let timer = setTimeout(step, pauseMs);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [words]);
  return search;
}

function merge(before: Found, found: readonly { readonly word: string; readonly ids: readonly number[] }[]): Found {
  const merged = new Map(before);
  for (const { word, ids } of found) merged.set(word, new Set([...(merged.get(word) ?? []), ...ids]));
  return merged;
}
