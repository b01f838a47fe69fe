// The calls of the inspector's API as rows: the client's port makes its routes from them, the page and the command line their
// requests. Pure.

import { fillUrl } from '../api/call.ts';
import type { Comparison, Exchange, ExchangeList, ReplayStarted, SearchResult } from './exchange.ts';

export interface InspectCall<Input = never, Answer = unknown> {
  readonly method: 'GET' | 'POST';
  /** `:name` stands for one segment. */
  readonly path: string;
  /** Types alone: the segments and the query that a caller gives, and the answer. */
  readonly types?: (input: Input) => Answer;
}

const get = <Input, Answer>(path: string): InspectCall<Input, Answer> => ({ method: 'GET', path });
const post = <Input, Answer>(path: string): InspectCall<Input, Answer> => ({ method: 'POST', path });

export type Side = 'request' | 'response';
/** `reveal`: hidden headers too; `secrets`: their values in text to copy. */
type Flag = '1' | undefined;
interface OfExchange {
  readonly id: number;
}

/** Answers that are no JSON have the type of their text or bytes. */
export const inspectCalls = {
  list: get<object, ExchangeList>('/api/exchanges'),
  /** Server-sent events, each an `InspectEvent`. */
  events: get<object, string>('/api/events'),
  exchange: get<OfExchange & { readonly reveal?: Flag }, Exchange>('/api/exchanges/:id'),
  curl: get<OfExchange & { readonly secrets?: Flag }, string>('/api/exchanges/:id/curl'),
  body: get<OfExchange & { readonly side: Side }, ArrayBuffer>('/api/exchanges/:id/body/:side'),
  /** Everything that is kept, without `ids`, which commas separate. */
  har: get<{ readonly ids?: string | undefined; readonly secrets?: Flag }, string>('/api/har'),
  search: get<{ readonly text: string; readonly ids?: string }, SearchResult>('/api/search'),
  compare: get<{ readonly left: number; readonly right: number; readonly reveal?: Flag }, Comparison>('/api/compare'),
  /** The body is a `ReplayRequest`. */
  replay: post<OfExchange, ReplayStarted>('/api/exchanges/:id/replay'),
  clear: post<object, undefined>('/api/clear'),
} as const;

export type InspectCallName = keyof typeof inspectCalls;

export const inspectUrl = <Input extends object>({ path }: InspectCall<Input>, input: Input): string =>
  fillUrl(path, input as Readonly<Record<string, unknown>>);

const segments: Readonly<Record<string, string>> = { id: '(?<id>\\d{1,15})', side: '(?<side>request|response)' };

const routes = Object.entries(inspectCalls).map(([name, { method, path }]) => ({
  ...{ name: name as InspectCallName, method },
  pattern: new RegExp(`^${path.replace(/:(\w+)/g, (_, segment: string) => segments[segment]!)}$`),
}));

export interface FoundCall {
  readonly name: InspectCallName;
  readonly id: number;
  readonly side: Side;
}

/** Null if no call has this method and path. Calls without a number or a side get an empty one. */
export function findInspectCall(method: string | undefined, path: string): FoundCall | null {
  for (const { name, method: own, pattern } of routes) {
    const match = own === method ? pattern.exec(path) : null;
    if (match !== null) return { name, id: Number(match.groups?.id), side: match.groups?.side as Side };
  }
  return null;
}
