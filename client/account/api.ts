// The calls to control that the command line makes: a bearer token, JSON in and out, coded errors.
import { withoutBrackets } from '@underpass/rules/address/address.ts';
import { type AnswerOf, type Call, type CallRequest, type InputOf, requestOf } from '@underpass/rules/api/call.ts';
import { type Problem, problems } from '../carry/problem.ts';
import { gather } from '../process/bounded-file.ts';
import { ClientError, type ErrorCode } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { chooseProxyOfUrl, type HttpProxy } from '../process/proxy.ts';
import { version } from '../process/version.ts';

export interface Api {
  readonly origin: string;
  /** Makes a call of the table in rules/api. With `basedOn`, the server refuses with `stale` if a newer version exists. */
  readonly call: <Row extends Call>(row: Row, input: InputOf<Row>) => Promise<AnswerOf<Row>>;
}

interface ApiOptions {
  readonly origin: string;
  readonly token?: string | undefined;
  /** The fix to show when the server refuses the token; it depends on where the token came from. */
  readonly refusedFix?: string | undefined;
}

const timeoutMs = 30_000;
/** Room for a list of several thousand tunnels. */
const maxAnswerBytes = 16 * 1024 * 1024;

const temporary: ReadonlySet<string> = new Set(['server-unreachable', 'proxy-failed', 'server-failed', 'too-many-requests']);

/** True if waiting may help: the network may change, or the server restart. */
export const isTemporary = (error: unknown): boolean => error instanceof ClientError && temporary.has(error.code);

export function createApi(io: Io, { origin, token, refusedFix }: ApiOptions): Api {
  async function call<Row extends Call>(row: Row, input: InputOf<Row>): Promise<AnswerOf<Row>> {
    const response = await send(io, origin, requestOf(row, input), token);
    const text = await boundedText(response, origin);
    if (response.status === 401 && token !== undefined) throw refusedSignIn(origin, refusedFix);
    if (!response.ok) throw refusal(response, text, origin);
    return parseAnswer(text, origin);
  }
  return { origin, call };
}

/** Every failed try means that another client's save succeeded. After five the user sees the error instead of waiting. */
const changeTries = 5;

/** Reads a value, saves a change of it, and starts over if another client saved in between. */
export async function saveChange<T>(read: () => Promise<T>, save: (before: T) => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries++) {
    const before = await read();
    try {
      await save(before);
      return;
    } catch (error) {
      if (!(error instanceof ClientError) || error.code !== 'stale' || tries === changeTries) throw error;
    }
  }
}

/** Makes a call without a token. A device login counts 428 (not confirmed yet) and 410 (denied or expired) as answers. */
export async function callWithoutToken<Row extends Call>(
  io: Io,
  origin: string,
  row: Row,
  input: InputOf<Row>,
): Promise<{ status: number; value: AnswerOf<Row> | undefined }> {
  const response = await send(io, origin, requestOf(row, input));
  const text = await boundedText(response, origin);
  if (response.status === 428 || response.status === 410) return { status: response.status, value: undefined };
  if (!response.ok) throw refusal(response, text, origin);
  return { status: response.status, value: parseAnswer(text, origin) };
}

function send(io: Io, origin: string, { url, headers, ...init }: CallRequest, token?: string) {
  return request(io, `${origin}${url}`, { ...init, headers: { ...headersOf(token), ...headers } });
}

export async function request(
  io: Io,
  url: string,
  init: { method: string; headers?: Record<string, string>; body?: CallRequest['body'] & {} },
) {
  try {
    return await io.fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) });
  } catch (cause) {
    const { origin } = new URL(url);
    throw await unreachable(io, url, `${origin} (${reasonOf(cause)})`, cause);
  }
}

export async function unreachable({ env }: Io, url: string, detail: string, cause: unknown): Promise<ClientError> {
  const proxy = chooseProxyOfUrl(env, new URL(url));
  if (!proxy.ok) return proxyFailed({ code: 'proxy-invalid', detail: proxy.message }, cause);
  if (proxy.value === null) return new ClientError('server-unreachable', detail, { cause });
  const failure = (cause as Error).name === 'TimeoutError' ? null : await findProxyProblem(proxy.value, url);
  if (failure !== null) return proxyFailed(failure, cause);
  const { host, port } = proxy.value;
  return new ClientError('server-unreachable', `${detail}, through the HTTP proxy ${host}:${port}`, { cause });
}

/** Asks the proxy again: the runtimes do not say which of the two hosts failed. */
async function findProxyProblem(proxy: HttpProxy, url: string): Promise<Problem | null> {
  const { hostname, port } = new URL(url);
  const { checkProxy } = await import('../carry/proxy-connect.ts');
  return checkProxy(proxy, { host: withoutBrackets(hostname), port: Number(port || 443) });
}

const proxyFailed = ({ code, detail }: Problem, cause: unknown): ClientError =>
  new ClientError('proxy-failed', detail, { cause, fix: problems[code].fix });

function headersOf(token: string | undefined): Record<string, string> {
  return {
    accept: 'application/json',
    'user-agent': `underpass/${version}`,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
}

async function boundedText(response: Response, origin: string): Promise<string> {
  const bytes = await gather(response.body ?? [], maxAnswerBytes).catch((cause) => {
    throw new ClientError('server-unreachable', `the connection to ${origin} broke (${reasonOf(cause)})`, { cause });
  });
  if (bytes === null) throw new ClientError('server-unknown', `${origin} answers with more than ${maxAnswerBytes} bytes`);
  return bytes.toString('utf8');
}

function parseAnswer<T>(text: string, origin: string): T {
  if (text === '') return undefined as T;
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new ClientError('server-unknown', `${origin} does not answer in JSON`, { cause });
  }
}

const codeOfStatus: Readonly<Record<number, ErrorCode>> = {
  401: 'not-signed-in',
  403: 'forbidden',
  404: 'not-found',
  409: 'conflict',
  412: 'stale',
  429: 'too-many-requests',
};

function refusedSignIn(origin: string, fix: string | undefined): ClientError {
  return new ClientError('not-signed-in', `${origin} refuses the token`, fix === undefined ? {} : { fix });
}

function refusal(response: Response, text: string, origin: string): ClientError {
  const message = publicText(response, text);
  const code = refusalCode(response.status, message !== undefined);
  const detail = message ?? `${origin} answers ${response.status}`;
  const wait = response.headers.get('retry-after');
  return new ClientError(code, detail, code === 'too-many-requests' && wait ? { fix: `Try again in ${wait} s.` } : {});
}

/** A refusal without the API's plain text comes from something else, except 429: a load balancer in front may send it. */
function refusalCode(status: number, hasMessage: boolean): ErrorCode {
  // Web servers say 501 to a method that they do not know, such as POST.
  if (status >= 500 && status !== 501) return 'server-failed';
  if (!hasMessage && status !== 429) return 'server-unknown';
  return codeOfStatus[status] ?? 'request-refused';
}

/** Errors of the API are short plain text. Anything else, such as the HTML page of a proxy, is not shown. */
function publicText(response: Response, text: string): string | undefined {
  const type = response.headers.get('content-type') ?? 'text/plain';
  const line = text.trim();
  return type.startsWith('text/plain') && line !== '' && line.length <= 1000 ? line : undefined;
}

const unknownAuthority =
  'certificate of an unknown authority: give its CA with "underpass login --ca FILE" or NODE_EXTRA_CA_CERTS';

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ConnectionRefused: 'connection refused',
  ENOTFOUND: 'name does not resolve',
  EAI_AGAIN: 'name does not resolve now',
  FailedToOpenSocket: 'name does not resolve or connection refused',
  ECONNRESET: 'connection reset',
  ConnectionClosed: 'connection closed',
  TimeoutError: `no answer within ${timeoutMs / 1000} s`,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  CERT_HAS_EXPIRED: 'certificate expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate of another name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'TLS fails: is it http://?',
  EPROTO: 'TLS fails: is it http://?',
};

const kinds: readonly (readonly [start: string, say: (code: string) => string])[] = [
  ['ERR_SSL_', (code) => `TLS fails: ${code}`],
  ['HPE_', () => 'the answer is not HTTP'],
];

/** Node and the runtime of the compiled program wrap network errors differently: the code is in the error or in its cause. */
export function reasonOf(error: unknown): string {
  const chain = [error, error instanceof Error ? error.cause : undefined].filter((item) => item instanceof Error);
  for (const item of chain.reverse()) {
    const { code: given } = item as NodeJS.ErrnoException;
    // The code of a DOMException is a number.
    const code = typeof given === 'string' ? given : item.name;
    const reason = reasons[code] ?? kinds.find(([start]) => code.startsWith(start))?.[1](code);
    if (reason !== undefined) return reason;
  }
  return chain[0]?.message ?? String(error);
}
