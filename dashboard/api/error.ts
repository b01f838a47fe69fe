// What a failed call raises: the status and the response text, as spec section 8 asks.

/** No answer came: the network is away, or the call took longer than its limit. */
export const NO_ANSWER = 0;

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** Seconds to wait, where the answer was 429 and said so. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, text: string, retryAfterSeconds?: number) {
    super(text);
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export const isApiError = (error: unknown): error is ApiError => error instanceof ApiError;

/** True where the person asked for something else meanwhile; nothing has to be said then. */
export const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError';

/** Statuses that stay the same however often one asks. What is not there (404) may be made meanwhile; spec 8 wants the retry. */
const FINAL_STATUSES: ReadonlySet<number> = new Set([400, 403, 410]);

/** True where asking again may help. */
export const mayRetry = (error: unknown): boolean => !(isApiError(error) && FINAL_STATUSES.has(error.status));

/** Of the way or of a busy server: what was had before is most likely still so. */
export const isPassing = (error: unknown): boolean =>
  isApiError(error) && (error.status === NO_ANSWER || error.status === 429 || error.status >= 500);

/** What was to be changed is not any more what the form began with. */
export const isStale = (error: unknown): boolean => isApiError(error) && error.status === 412;

/** The public text of any failure; undefined where there is none worth showing. */
export function messageOf(error: unknown): string | undefined {
  if (isApiError(error)) return error.message || undefined;
  if (error instanceof Error) return error.message || undefined;
  return undefined;
}
