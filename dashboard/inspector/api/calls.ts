// Calls to the client on this machine. Each has a time limit; a failure is a CallError with the text to show.
import type {
  Comparison,
  Exchange,
  ExchangeList,
  InspectRefusal,
  InspectRefusalCode,
  ReplayRequest,
  ReplayStarted,
  SearchResult,
} from '@underpass/rules/inspect/exchange.ts';
import { takeToken } from './token.ts';

const timeoutMs = 15_000;

const token = takeToken();

export class CallError extends Error {
  /** Undefined if there was no answer. */
  readonly code: InspectRefusalCode | undefined;
  constructor(text: string, code: InspectRefusalCode | undefined) {
    super(text);
    this.code = code;
  }
}

export const isTokenRefused = (error: unknown): boolean => error instanceof CallError && error.code === 'token-wrong';

/** `signal` alone: the answer may take any time. */
export async function send(path: string, init: RequestInit & { readonly signal: AbortSignal }): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, ...init.headers };
  const response = await fetch(path, { ...init, headers, cache: 'no-store' }).catch(() => {
    init.signal.throwIfAborted();
    throw new CallError('The client does not answer. Check that it still runs.', undefined);
  });
  if (!response.ok) throw await refusalOf(response);
  return response;
}

async function refusalOf(response: Response): Promise<CallError> {
  const refusal = (await response.json().catch(() => undefined)) as Partial<InspectRefusal> | undefined;
  const code = refusal?.error?.code ?? (response.status === 401 ? 'token-wrong' : undefined);
  return new CallError(refusal?.error?.text ?? `The client answered with status ${response.status}.`, code);
}

const limited = (signal: AbortSignal | undefined): AbortSignal =>
  signal === undefined ? AbortSignal.timeout(timeoutMs) : AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);

const get = (path: string, signal?: AbortSignal): Promise<Response> => send(path, { signal: limited(signal) });

const post = (path: string, value: unknown): Promise<Response> =>
  send(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(value),
    signal: limited(undefined),
  });

export const listExchanges = async (signal: AbortSignal): Promise<ExchangeList> => (await get('/api/exchanges', signal)).json();

export const getExchange = async (id: number, reveal: boolean, signal: AbortSignal): Promise<Exchange> =>
  (await get(`/api/exchanges/${id}${reveal ? '?reveal=1' : ''}`, signal)).json();

export type Side = 'request' | 'response';

export const getBody = async (id: number, side: Side, signal?: AbortSignal): Promise<ArrayBuffer> =>
  (await get(`/api/exchanges/${id}/body/${side}`, signal)).arrayBuffer();

export const getCurl = async (id: number, secrets: boolean): Promise<string> =>
  (await get(`/api/exchanges/${id}/curl${secrets ? '?secrets=1' : ''}`)).text();

/** Everything that is kept, if there are no ids. */
export async function getHar(ids: readonly number[], secrets: boolean): Promise<Blob> {
  const query = new URLSearchParams();
  if (ids.length > 0) query.set('ids', ids.join(','));
  if (secrets) query.set('secrets', '1');
  return (await get(`/api/har?${query}`)).blob();
}

export const compareExchanges = async (left: number, right: number, signal: AbortSignal): Promise<Comparison> =>
  (await get(`/api/compare?left=${left}&right=${right}`, signal)).json();

/** Searches these requests. */
export const searchExchanges = async (text: string, ids: readonly number[], signal: AbortSignal): Promise<SearchResult> =>
  (await get(`/api/search?${new URLSearchParams({ text, ids: ids.join(',') })}`, signal)).json();

export const replay = async (id: number, request: ReplayRequest): Promise<ReplayStarted> =>
  (await post(`/api/exchanges/${id}/replay`, request)).json();

export async function clearExchanges(): Promise<void> {
  await post('/api/clear', {});
}
