// The error of the library: the code, text and fix that the command would print.

import { CarryError } from '../carry/problem.ts';
import { ClientError, errors } from '../process/error.ts';
import { headline } from '../terminal/output.ts';

export class LibraryError extends Error {
  readonly code: string;
  readonly fix: string;

  constructor(code: string, message: string, fix: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'UnderpassError';
    this.code = code;
    this.fix = fix;
  }
}

export function underpassError(error: unknown): LibraryError {
  if (error instanceof LibraryError) return error;
  if (!(error instanceof ClientError)) {
    const { title, fix } = errors.unexpected;
    return new LibraryError('unexpected', `${title}: ${error instanceof Error ? error.message : error}`, fix, error);
  }
  // The code of the problem says more than that the tunnel cannot start.
  const { cause } = error;
  if (cause instanceof CarryError) return new LibraryError(cause.problem.code, cause.message, error.fix, cause);
  return new LibraryError(error.code, headline(error, errors[error.code].title), error.fix, cause);
}
