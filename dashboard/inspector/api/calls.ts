// Calls to the client on this machine. Each has a time limit; a failure is a CallError with the text to show.
import { type InspectCall, inspectCalls, inspectUrl, type Side } from '@underpass/rules/inspect/calls.ts';
import type { InspectRefusal, InspectRefusalCode, ReplayRequest } from '@underpass/rules/inspect/exchange.ts';
import { takeToken } from './token.ts';

const timeoutMs = 15_000;

const token = takeToken();

class CallError extends Error {
  /** Undefined if there was no answer. */
  readonly code: InspectRefusalCode | undefined;
  constructor(text: string, code: InspectRefusalCode | undefined) {
    super(text);
    this.code = code;
  }
}

export const isTokenRefused = (error: unknown): boolean => error instanceof CallError && error.code === 'token-wrong';

/** `signal` alone: the answer may take any time. */
export async function send<Input extends object>(
  call: InspectCall<Input>,
  input: Input,
  init: RequestInit & { readonly signal: AbortSignal },
): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const request = { ...init, method: call.method, headers, cache: 'no-store' } as const;
  const response = await fetch(inspectUrl(call, input), request).catch(() => {
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

interface More {
  readonly signal?: AbortSignal | undefined;
  readonly body?: unknown;
}

const ask = <Input extends object>(call: InspectCall<Input>, input: Input, { signal, body }: More = {}): Promise<Response> =>
  send(call, input, { signal: limited(signal), ...(body === undefined ? {} : { body: JSON.stringify(body) }) });

const read = async <Input extends object, Answer>(call: InspectCall<Input, Answer>, input: Input, more?: More): Promise<Answer> =>
  (await ask(call, input, more)).json();

const flag = (isSet: boolean) => (isSet ? '1' : undefined);

export const listExchanges = (signal: AbortSignal) => read(inspectCalls.list, {}, { signal });

export const getExchange = (id: number, reveal: boolean, signal: AbortSignal) =>
  read(inspectCalls.exchange, { id, reveal: flag(reveal) }, { signal });

export const getBody = async (id: number, side: Side, signal?: AbortSignal): Promise<ArrayBuffer> =>
  (await ask(inspectCalls.body, { id, side }, { signal })).arrayBuffer();

export const getCurl = async (id: number, secrets: boolean): Promise<string> =>
  (await ask(inspectCalls.curl, { id, secrets: flag(secrets) })).text();

/** Everything that is kept, if there are no ids. */
export const getHar = async (ids: readonly number[], secrets: boolean): Promise<Blob> =>
  (await ask(inspectCalls.har, { ids: ids.join(',') || undefined, secrets: flag(secrets) })).blob();

export const compareExchanges = (left: number, right: number, signal: AbortSignal) =>
  read(inspectCalls.compare, { left, right }, { signal });

/** Searches these requests. */
export const searchExchanges = (text: string, ids: readonly number[], signal: AbortSignal) =>
  read(inspectCalls.search, { text, ids: ids.join(',') }, { signal });

export const replay = (id: number, body: ReplayRequest) => read(inspectCalls.replay, { id }, { body });

export async function clearExchanges(): Promise<void> {
  await ask(inspectCalls.clear, {}, { body: {} });
}
