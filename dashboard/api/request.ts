// Sends one call to control: same origin, with the session cookie and a timeout. All requests of api/ go through here.
import { type AnswerOf, type Call, type InputOf, requestOf } from '@underpass/rules/api/call.ts';
import { errorHeader, passkeyNeededCode, proofNeededCode } from '@underpass/rules/api/refusal-code.ts';
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import { type ListPage, readPage } from '@underpass/rules/list/list-page.ts';
import { retryOnce } from '../code-loading/load-code.ts';
import { ApiError, isAbort, noAnswer } from './error.ts';

const timeoutMs = 20_000;
/** A file may be long, and the line slow. */
const fileTimeoutMs = 10 * 60_000;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** The person does not wait for the answer, so an ended session is reported at their next action. */
  readonly background?: boolean;
  readonly timeoutMs?: number;
}

/** What a call needs: a proof of any kind, or one by passkey. */
export type ProofKind = 'any' | 'passkey';

/** Asks the person to prove who they are; false if they decline. */
type Prove = (kind: ProofKind) => Promise<boolean>;
let prove: Prove | undefined;

/** Sets the dialog that answers refusals that ask for a proof, while a page of the shell is open. */
export function onProofNeeded(listener: Prove): () => void {
  prove = listener;
  return () => {
    if (prove === listener) prove = undefined;
  };
}

const signedOut = new EventTarget();

/** Calls back when a page cannot get what it shows because the session has ended. */
export function onSignedOut(listener: () => void): () => void {
  signedOut.addEventListener('signed-out', listener);
  return () => signedOut.removeEventListener('signed-out', listener);
}

/** Makes a call of the table in rules/api. */
export async function callApi<Row extends Call>(
  row: Row,
  input: InputOf<Row>,
  options: CallOptions = {},
): Promise<AnswerOf<Row>> {
  return readBody(await answerOf(row, input, options));
}

type ItemOf<List> = List extends readonly (infer Item)[] ? Item : never;

/** One page of a list, with the numbers and the cursor of the answer's headers. */
export async function callPage<Row extends Call & { readonly paged: true }>(
  row: Row,
  input: InputOf<Row>,
  options: CallOptions = {},
): Promise<ListPage<ItemOf<AnswerOf<Row>>>> {
  const response = await answerOf(row, input, options);
  return readPage(await readBody<ItemOf<AnswerOf<Row>>[]>(response), response.headers);
}

/** The answer as it is, to save. */
export async function callFile<Row extends Call>(row: Row, input: InputOf<Row>): Promise<Blob> {
  return wholeOf(await answerOf(row, input, { timeoutMs: fileTimeoutMs }), (response) => response.blob());
}

async function answerOf<Row extends Call>(row: Row, input: InputOf<Row>, options: CallOptions): Promise<Response> {
  const { url, ...init } = requestOf(row, input);
  const response = await send(url, init, options.signal, options.timeoutMs);
  if (response.ok) return response;
  const kind = neededProof(response, row);
  if (kind && (await prove?.(kind))) return answerOf(row, input, options);
  throw isSessionEnd(response, row) ? endSession(row, options) : await failureOf(response);
}

/** A page that is closed without a passkey says so by itself: only changes ask. */
function neededProof({ headers }: Response, { method }: Call): ProofKind | undefined {
  const code = headers.get(errorHeader);
  if (code === proofNeededCode) return 'any';
  return code === passkeyNeededCode && method !== 'GET' ? 'passkey' : undefined;
}

/** Fetches JSON from a URL that an answer gave. */
export async function fetchJson<T>(url: string, signal: AbortSignal): Promise<T> {
  const response = await send(url, { method: 'GET' }, signal);
  if (!response.ok) throw await failureOf(response);
  return readBody(response);
}

async function send(
  url: string,
  init: RequestInit,
  signal: AbortSignal | undefined,
  withinMs: number = timeoutMs,
): Promise<Response> {
  const timeout = AbortSignal.timeout(withinMs);
  const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  const attempt = () => fetch(url, { ...init, credentials: 'same-origin', signal: either });
  try {
    return await (init.method === 'GET' ? retryOnce(attempt) : attempt());
  } catch (error) {
    if (isAbort(error) && signal?.aborted) throw error;
    if (timeout.aborted) throw new ApiError(noAnswer, 'The server took too long to answer.');
    throw new ApiError(noAnswer, navigator.onLine ? 'The server cannot be reached.' : 'You are offline.');
  }
}

/** A 401 of `getUser` is an ordinary answer (spec 6). A 401 of a call that needs no sign-in is about a link. */
const isSessionEnd = ({ status }: Response, row: Call) => status === 401 && row.who !== 'anyone' && row !== sessionCalls.getUser;

/** Keeps the page after a failed change, so that its form keeps the input. The next GET of the page leads to the sign-in. */
function endSession({ method }: Call, { background = false }: CallOptions): ApiError {
  if (method === 'GET' && !background) signedOut.dispatchEvent(new Event('signed-out'));
  return new ApiError(401, 'Your session has ended. Sign in again in another tab, then try once more here.');
}

async function failureOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  const retryAfter = Number(response.headers.get('Retry-After'));
  return new ApiError(response.status, text.trim(), retryAfter > 0 ? retryAfter : undefined);
}

function readBody<T>(response: Response): Promise<T> {
  const isJson = response.headers.get('Content-Type')?.includes('json') === true;
  return wholeOf(response, async () => (isJson ? await response.json() : undefined) as T);
}

/** The connection may break, or the time be over, after the head of an answer. */
async function wholeOf<T>(response: Response, read: (response: Response) => Promise<T>): Promise<T> {
  try {
    return await read(response);
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError(noAnswer, 'Only a part of the answer arrived.');
  }
}
