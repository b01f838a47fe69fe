// What a call answers when it refuses: one table from code to status, and the public text that travels with it.
// Spec 8: errors are plain text. Anything else that is thrown is a defect and answers 500 without a word about it.

const statusOf = {
  invalid: 400,
  signedOut: 401,
  forbidden: 403,
  missing: 404,
  conflict: 409,
  gone: 410,
  stale: 412,
  tooLarge: 413,
  unsupported: 415,
  undecided: 428,
  tooMany: 429,
  unavailable: 503,
} as const;

export type RefusalCode = keyof typeof statusOf;

export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: RefusalCode, publicText: string, retryAfterSeconds?: number) {
    super(publicText);
    this.name = 'Refusal';
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  get status(): number {
    return statusOf[this.code];
  }
}

export const refuse = (code: RefusalCode, publicText: string): never => {
  throw new Refusal(code, publicText);
};

/** The value, or a 404 that names what was asked for. */
export const orMissing = <T>(value: T | undefined | null, what: string): T => {
  if (value === undefined || value === null) throw new Refusal('missing', `${what} not found`);
  return value;
};

type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

/** The value that a rule accepted, or a 400 with the rule's own text. */
export const orInvalid = <T>(parsed: Parsed<T>): T => {
  if (!parsed.ok) throw new Refusal('invalid', parsed.message);
  return parsed.value;
};

type ParsedForm<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly errors: object };

/** The same for a form: the text of the first field that has a problem. */
export const orInvalidForm = <T>(parsed: ParsedForm<T>): T => {
  if (parsed.ok) return parsed.value;
  const [[field, message] = ['form', 'is invalid']] = Object.entries(parsed.errors);
  throw new Refusal('invalid', `${field}: ${message}`);
};
