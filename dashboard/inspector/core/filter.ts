// Which requests the list shows.
import type { ExchangeSummary } from '@underpass/rules/inspect/exchange.ts';

/** 'errors': no answer, or a status of 400 and above. */
export type StatusFilter = 'all' | 'errors' | '1' | '2' | '3' | '4' | '5';

export interface Filter {
  /** Words that a request must contain, in any order. */
  readonly text: string;
  /** Empty: all. */
  readonly method: string;
  readonly status: StatusFilter;
}

export const noFilter: Filter = { text: '', method: '', status: 'all' };

export const isFiltering = ({ text, method, status }: Filter): boolean => text.trim() !== '' || method !== '' || status !== 'all';

export const hasFailed = ({ state, status, error }: ExchangeSummary): boolean =>
  state === 'failed' || error !== null || (status ?? 0) >= 400;

/** The requests that hold a word of the search in a header, a body, a frame or an event, by word. */
export type Found = ReadonlyMap<string, ReadonlySet<number>>;

export const nothingFound: Found = new Map();

export const wordsOf = (text: string): readonly string[] => text.toLowerCase().split(/\s+/).filter(Boolean);

export function selectExchanges(
  all: readonly ExchangeSummary[],
  filter: Filter,
  found: Found = nothingFound,
): readonly ExchangeSummary[] {
  if (!isFiltering(filter)) return all;
  const words = wordsOf(filter.text);
  return all.filter(
    (one) =>
      (filter.method === '' || one.method === filter.method) && hasStatus(one, filter.status) && hasWords(one, words, found),
  );
}

function hasStatus(one: ExchangeSummary, wanted: StatusFilter): boolean {
  if (wanted === 'all') return true;
  return wanted === 'errors' ? hasFailed(one) : Math.floor((one.status ?? 0) / 100) === Number(wanted);
}

const textOf = (one: ExchangeSummary): string =>
  [
    `#${one.id} ${one.method} ${one.host}${one.target} ${one.status ?? ''} ${one.mediaType} ${one.kind}`,
    `${one.visitorAddress} ${one.visitorProgram} ${one.tunnel} ${one.error?.code ?? ''} ${one.signature ?? ''}`,
  ]
    .join(' ')
    .toLowerCase();

function hasWords(one: ExchangeSummary, words: readonly string[], found: Found): boolean {
  const text = textOf(one);
  return words.every((word) => text.includes(word) || found.get(word)?.has(one.id));
}

/** The methods to offer, in alphabetical order. The chosen one stays although its requests are gone. */
export function methodsOf(all: readonly ExchangeSummary[], chosen: string): readonly string[] {
  const methods = new Set(all.map(({ method }) => method));
  if (chosen !== '') methods.add(chosen);
  return [...methods].sort();
}
