// How a call refuses: a code, its status, and the public text, which the API answers as plain text (spec 8).
// Any other error is a defect: the API answers 500 and reveals nothing of it.

import { passkeyNeededCode, proofNeededCode, sessionNeededCode } from '@underpass/rules/api/refusal-code.ts';
import type { Parsed } from '@underpass/rules/parsed.ts';

const statusOf = {
  invalid: 400,
  signedOut: 401,
  forbidden: 403,
  sessionNeeded: 403,
  proofNeeded: 403,
  passkeyNeeded: 403,
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

/** Refusals that programs must tell from others of the same status. docs/errors.md explains them. */
export const namedRefusals: { readonly [Code in RefusalCode]?: string } = {
  sessionNeeded: sessionNeededCode,
  proofNeeded: proofNeededCode,
  passkeyNeeded: passkeyNeededCode,
};

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

export function refuse(code: RefusalCode, publicText: string): never {
  throw new Refusal(code, publicText);
}

/** The value, or a 404 that names what is missing. */
export function orMissing<T>(value: T | undefined | null, what: string): T {
  if (value === undefined || value === null) throw new Refusal('missing', `${what} not found`);
  return value;
}

/** The value that a rule accepted, or a 400 with the rule's text. */
export function orInvalid<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new Refusal('invalid', parsed.message);
  return parsed.value;
}

type ParsedForm<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly errors: object };

/** The same for a form: a 400 with the text of the first wrong field. */
export function orInvalidForm<T>(parsed: ParsedForm<T>): T {
  if (parsed.ok) return parsed.value;
  const [[field, message] = ['form', 'is invalid']] = Object.entries(parsed.errors);
  throw new Refusal('invalid', `${field}: ${message}`);
}
