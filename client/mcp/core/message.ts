// JSON-RPC messages as MCP uses them: each body or line is one object, never a batch. A message is parsed and then written again for
// its reader, so both sides see the same names even where the text had a member twice.

export type Id = string | number;
export type Json = { readonly [name: string]: unknown };

export type Message =
  | { readonly kind: 'request'; readonly id: Id; readonly method: string; readonly body: Json }
  | { readonly kind: 'notification'; readonly method: string; readonly body: Json }
  | { readonly kind: 'answer'; readonly id: Id; readonly body: Json };

/** What a server sends without a request of a client. */
export type Unasked = Exclude<Message, { kind: 'answer' }>;

export type Request = Extract<Message, { kind: 'request' }>;

type ParsedMessage =
  | { readonly ok: true; readonly message: Message }
  | { readonly ok: false; readonly code: number; readonly text: string };

/** JSON-RPC's own, those that SDKs share, and those of MCP 2026-07-28 (basic, Error Codes). */
export const codes = {
  parse: -32700,
  invalid: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
  internal: -32603,
  ended: -32000,
  timeout: -32001,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

export function parseMessage(text: string): ParsedMessage {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return { ok: false, code: codes.parse, text: 'The message is not JSON' };
  }
  if (isDeep(body, deepest)) return { ok: false, code: codes.invalid, text: `The message is nested more than ${deepest} deep` };
  if (Array.isArray(body))
    return { ok: false, code: codes.invalid, text: 'Batches are not supported: send one message at a time' };
  const message = isObject(body) && body.jsonrpc === '2.0' ? classify(body) : undefined;
  return message === undefined
    ? { ok: false, code: codes.invalid, text: 'The message is not a JSON-RPC 2.0 request, notification or response' }
    : { ok: true, message };
}

/** Code that walks a message calls itself at each step. Schemas of tools are some twenty deep. */
const deepest = 200;

const isDeep = (value: unknown, most: number): boolean =>
  typeof value === 'object' && value !== null && (most === 0 || Object.values(value).some((each) => isDeep(each, most - 1)));

function classify(body: Json): Message | undefined {
  const { id, method, params } = body;
  if (params !== undefined && !isObject(params)) return undefined;
  if (typeof method === 'string') {
    if (isId(id)) return { kind: 'request', id, method, body };
    return 'id' in body ? undefined : { kind: 'notification', method, body };
  }
  if (method !== undefined || !isId(id) || 'result' in body === 'error' in body) return undefined;
  return { kind: 'answer', id, body };
}

const isId = (id: unknown): id is Id => typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id));

export const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The object at a member, or an empty one. */
export function objectAt(body: Json, ...path: readonly string[]): Json {
  let place: unknown = body;
  for (const name of path) place = isObject(place) && Object.hasOwn(place, name) ? place[name] : undefined;
  return isObject(place) ? place : {};
}

export function errorOf(id: Id | undefined, code: number, message: string, data?: unknown): Json {
  return {
    jsonrpc: '2.0',
    ...(id === undefined ? {} : { id }),
    error: { code, message, ...(data === undefined ? {} : { data }) },
  };
}

export const resultOf = (id: Id, result: Json): Json => ({ jsonrpc: '2.0', id, result });

export function notificationOf(method: string, params: Json): Json {
  return { jsonrpc: '2.0', method, params };
}
