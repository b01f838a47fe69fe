// One call to control: same origin, with the session cookie, bounded in time. Everything in api/ goes through here.
import { askAgain } from './ask-again.ts';
import { ApiError, isAbort, NO_ANSWER } from './error.ts';

const TIMEOUT_MS = 20_000;

export interface RequestOptions {
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly json?: unknown;
  /** Form fields: URLSearchParams travels form-encoded, FormData as multipart. */
  readonly form?: URLSearchParams | FormData;
  readonly text?: { readonly type: string; readonly body: string };
  /** The `updatedAt` of what was read: where it is not the newest, control refuses the change (412). */
  readonly basedOn?: string;
  readonly signal?: AbortSignal | undefined;
  /** Nobody asked for it: that the session has ended is told at the next act. */
  readonly background?: boolean;
}

const signedOut = new EventTarget();

/** Calls back when something to be shown cannot be had because there is no session any more. */
export function onSignedOut(listener: () => void): () => void {
  signedOut.addEventListener('signed-out', listener);
  return () => signedOut.removeEventListener('signed-out', listener);
}

/** One segment of a path. `.` and `..` would be resolved away by the browser; a tilde names nothing, so the call ends in a 404. */
export function segment(value: string): string {
  return /^\.{0,2}$/.test(value) ? '~' : encodeURIComponent(value.toWellFormed());
}

export async function request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(method, path, options);
  if (!response.ok) throw isSessionEnd(response, path) ? endSession(method, options) : await failureOf(response);
  return readBody<T>(response);
}

async function send(method: string, path: string, options: RequestOptions): Promise<Response> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
  const ask = () => fetch(withQuery(path, options.query), { method, credentials: 'same-origin', signal, ...contentOf(options) });
  try {
    return await (method === 'GET' ? askAgain(ask) : ask());
  } catch (error) {
    if (isAbort(error) && options.signal?.aborted) throw error;
    if (timeout.aborted) throw new ApiError(NO_ANSWER, 'The server took too long to answer.');
    throw new ApiError(NO_ANSWER, navigator.onLine ? 'The server cannot be reached.' : 'You are offline.');
  }
}

function withQuery(path: string, query: RequestOptions['query']): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) search.set(name, value);
  return search.size === 0 ? path : `${path}?${search}`;
}

function contentOf(options: RequestOptions): Pick<RequestInit, 'body' | 'headers'> {
  const condition = options.basedOn === undefined ? {} : { 'If-Match': `"${options.basedOn}"` };
  if (options.json !== undefined)
    return { body: JSON.stringify(options.json), headers: { 'Content-Type': 'application/json', ...condition } };
  if (options.text !== undefined) return { body: options.text.body, headers: { 'Content-Type': options.text.type } };
  return options.form === undefined ? {} : { body: options.form };
}

/** spec 6: 401 on the user call means that there is no user, an answer and no surprise; on /auth calls it is about a link. */
const isSessionEnd = ({ status }: Response, path: string) => status === 401 && path.startsWith('/api/') && path !== '/api/user';

/** What could not be sent stays where it was typed: the page is left when it asks for something to show. */
function endSession(method: string, { background = false }: RequestOptions): ApiError {
  if (method === 'GET' && !background) signedOut.dispatchEvent(new Event('signed-out'));
  return new ApiError(401, 'Your session has ended. Sign in again in another tab, then try once more here.');
}

async function failureOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  const retryAfter = Number(response.headers.get('Retry-After'));
  return new ApiError(response.status, text.trim(), retryAfter > 0 ? retryAfter : undefined);
}

async function readBody<T>(response: Response): Promise<T> {
  const isJson = response.headers.get('Content-Type')?.includes('json') === true;
  return (isJson ? await response.json() : undefined) as T;
}
