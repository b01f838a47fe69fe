// What went wrong with a certificate authority, as one coded error.

type AcmeCode =
  /** No answer in time, or none that can be read. */
  | 'unreachable'
  /** The authority asks to wait. */
  | 'rate-limited'
  /** The authority looked, and did not find the proof. */
  | 'not-proven'
  /** The authority no longer knows our account. */
  | 'no-account'
  /** The authority refuses for another reason. */
  | 'refused';

export class AcmeError extends Error {
  readonly code: AcmeCode;
  /** When to try again, if the authority says so. */
  readonly retryAfterMs: number | undefined;

  constructor(code: AcmeCode, detail: string, retryAfterMs?: number) {
    super(`acme: ${code}: ${detail.slice(0, 500)}`);
    this.name = 'AcmeError';
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

interface ProblemDocument {
  readonly type?: string;
  readonly detail?: string;
}

const urn = 'urn:ietf:params:acme:error:';

/** RFC 8555 6.7. */
export function problemType(body: unknown): string {
  const type = (body as ProblemDocument | null)?.type;
  return typeof type === 'string' && type.startsWith(urn) ? type.slice(urn.length) : '';
}

export function problemDetail(body: unknown): string {
  const detail = (body as ProblemDocument | null)?.detail;
  return `${problemType(body)} ${typeof detail === 'string' ? detail : ''}`.trim();
}

function codeOf(status: number, type: string): AcmeCode {
  if (status === 429 || type === 'rateLimited') return 'rate-limited';
  if (type === 'accountDoesNotExist') return 'no-account';
  return status >= 500 ? 'unreachable' : 'refused';
}

export function errorOf(status: number, body: unknown, retryAfterMs: number | undefined): AcmeError {
  return new AcmeError(codeOf(status, problemType(body)), `status ${status} ${problemDetail(body)}`, retryAfterMs);
}
