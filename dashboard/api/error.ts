// The error that a failed call throws: the status and the response text, as spec section 8 asks.

import { CodeError } from '../code-loading/load-code.ts';

/** No answer: the network is down, or the call exceeded its time limit. */
export const noAnswer = 0;

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** Seconds to wait, from a 429 answer that gave them. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, text: string, retryAfterSeconds?: number) {
    super(text);
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export const isApiError = (error: unknown): error is ApiError => error instanceof ApiError;

/** True if a newer request replaced this one. Show nothing then. */
export const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError';

/** Statuses that a retry does not change. A 404 may change, because somebody may create the object; spec 8 asks for a retry. */
const finalStatuses: ReadonlySet<number> = new Set([400, 403, 410]);

/** True if a retry may help. */
export const mayRetry = (error: unknown): boolean => !(isApiError(error) && finalStatuses.has(error.status));

/** True if the network or a busy server caused the error: the data on the page is most likely still correct. */
export const isTemporary = (error: unknown): boolean =>
  error instanceof CodeError || (isApiError(error) && (error.status === noAnswer || error.status === 429 || error.status >= 500));

/** True if the thing is gone. A project that is gone, or no longer the person's, is another matter: nothing is known of its things. */
export const isDeleted = (error: unknown): boolean =>
  isApiError(error) && error.status === 404 && !error.message.startsWith('Project');

/** True if the object has changed since the form loaded it. */
export const isStale = (error: unknown): boolean => isApiError(error) && error.status === 412;

/** The public text of any failure; undefined if there is none worth showing. */
export function messageOf(error: unknown): string | undefined {
  if (isApiError(error)) return error.message || undefined;
  if (error instanceof Error) return error.message || undefined;
  return undefined;
}
