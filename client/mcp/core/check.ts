// What the headers of a message say, compared with its body (MCP 2026-07-28, Streamable HTTP, Server Validation), and by which
// revision it is served. A proxy in front decides by these headers, so a message that differs from them is refused in every revision.

import { codes, type Id, type Message, objectAt } from './message.ts';

export interface MessageHeaders {
  readonly version?: string | undefined;
  readonly method?: string | undefined;
  readonly name?: string | undefined;
  /** Whether there is a header `Mcp-Param-…`. */
  readonly hasParams: boolean;
}

/** `session`: revisions in which `initialize` opens a session. `stateless`: each request stands for itself. */
export type Era = 'session' | 'stateless';

export type Checked =
  | { readonly ok: true; readonly era: Era }
  | { readonly ok: false; readonly code: number; readonly text: string; readonly data?: unknown };

export const statelessVersion = '2026-07-28';
export const sessionVersions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26'];
const versions: readonly string[] = [statelessVersion, ...sessionVersions];
/** The version of clients that send no header: there was none before 2025-06-18. */
const unnamedVersion = '2025-03-26';

export const versionKey = 'io.modelcontextprotocol/protocolVersion';

/** The member whose value `Mcp-Name` repeats. Only the first three must have the header. */
const namedBy: Readonly<Record<string, 'name' | 'uri'>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'resources/subscribe': 'uri',
  'resources/unsubscribe': 'uri',
};
const mustName: readonly string[] = ['tools/call', 'prompts/get', 'resources/read'];

export function checkMessage(headers: MessageHeaders, message: Message): Checked {
  const inBody = objectAt(message.body, 'params', '_meta')[versionKey];
  const version = headers.version ?? (inBody === undefined ? unnamedVersion : undefined);
  if (version === undefined) return mismatch('MCP-Protocol-Version is missing');
  if (!versions.includes(version)) return unsupported(version);
  const era = version === statelessVersion ? 'stateless' : 'session';
  const isRequest = message.kind === 'request';
  if (inBody !== undefined ? inBody !== version : era === 'stateless' && isRequest)
    return mismatch(`MCP-Protocol-Version is '${version}', but _meta of the body says ${quote(inBody)}`);
  const wrong = wrongMethod(headers, message, era) ?? wrongName(headers, message, era) ?? wrongParams(headers);
  return wrong === undefined ? { ok: true, era } : mismatch(wrong);
}

const methodOf = (message: Message): string | undefined => (message.kind === 'answer' ? undefined : message.method);

function wrongMethod({ method }: MessageHeaders, message: Message, era: Era): string | undefined {
  if (method === undefined) return era === 'stateless' && message.kind === 'request' ? 'Mcp-Method is missing' : undefined;
  const inBody = methodOf(message);
  return method === inBody ? undefined : `Mcp-Method is '${method}', but the method of the body is ${quote(inBody)}`;
}

function wrongName({ name: header }: MessageHeaders, message: Message, era: Era): string | undefined {
  const method = methodOf(message) ?? '';
  const member = Object.hasOwn(namedBy, method) ? namedBy[method] : undefined;
  const inBody = member === undefined ? undefined : objectAt(message.body, 'params')[member];
  if (header === undefined)
    return era === 'stateless' && mustName.includes(method) ? `Mcp-Name is missing: ${method} needs it` : undefined;
  const name = decodeHeader(header);
  if (name === undefined) return `Mcp-Name '${header}' is not well-formed`;
  return name === inBody ? undefined : `Mcp-Name is '${name}', but the ${member ?? 'name'} of the body is ${quote(inBody)}`;
}

/** Tools reach clients without `x-mcp-header` (prepared.ts), so no header can stand for a parameter. */
function wrongParams({ hasParams }: MessageHeaders): string | undefined {
  return hasParams ? 'Mcp-Param- headers are not supported: no tool of this server designates one' : undefined;
}

/** Reads `=?base64?…?=` (Value Encoding). Undefined if it is no text that a header may hold. */
export function decodeHeader(value: string): string | undefined {
  if (!/^[\t\x20-\x7e]*$/.test(value)) return undefined;
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, 'base64');
  const text = bytes.toString('utf8');
  return bytes.toString('base64') === encoded && Buffer.from(text).equals(bytes) ? text : undefined;
}

const quote = (value: unknown): string => (value === undefined ? 'missing' : `'${String(value).slice(0, 200)}'`);

const mismatch = (text: string): Checked => ({ ok: false, code: codes.headerMismatch, text: `Header mismatch: ${text}` });

const unsupported = (requested: string): Checked => ({
  ok: false,
  code: codes.unsupportedVersion,
  text: 'Unsupported protocol version',
  data: { supported: versions, requested },
});

/** HTTP's status for an error that answers a stateless request. */
export function statusOf(body: { readonly error?: unknown }): number {
  const { code } = objectAt(body as never, 'error');
  if (code === codes.unknownMethod) return 404;
  return code === codes.headerMismatch || code === codes.missingCapability || code === codes.unsupportedVersion ? 400 : 200;
}

/** The id that an error about this message names. */
export const idOf = (message: Message): Id | undefined => (message.kind === 'request' ? message.id : undefined);
