// What a program asks at the authorization endpoint (RFC 6749 4.1.1, RFC 7636, RFC 8707). Pure.

import { matchesRedirectUri } from './redirect-uri.ts';

/** An OAuth client: the software behind programs. `isDocument`: its id is the address of a document that says the rest, so that site vouches for it. */
export interface OAuthClient {
  readonly id: string;
  readonly name: string;
  readonly redirectUris: readonly string[];
  readonly isDocument: boolean;
}

export interface Authorization {
  readonly redirectUri: string;
  readonly challenge: string;
  /** The resource as the program wrote it; the token request repeats it. */
  readonly resource: string;
  readonly state: string | undefined;
}

/** RFC 6749 4.1.2.1 and RFC 8707 2. */
export type AuthorizationError =
  | 'invalid_request'
  | 'unsupported_response_type'
  | 'invalid_target'
  | 'access_denied'
  | 'temporarily_unavailable';

type ParsedAuthorization =
  | { readonly ok: true; readonly value: Authorization }
  /** No registered address to redirect to: the person gets a page. */
  | { readonly ok: false; readonly page: string }
  | {
      readonly ok: false;
      readonly redirectUri: string;
      readonly state: string | undefined;
      readonly error: AuthorizationError;
      readonly description: string;
    };

/** A base64url SHA-256 (RFC 7636 4.2). */
const challengePattern = /^[A-Za-z0-9_-]{43}$/;
const stateCharsMost = 2_048;
const resourceCharsMost = 1_024;

/** The one value of a parameter; null if there are several (RFC 6749 3.1). */
function only(query: URLSearchParams, name: string): string | undefined | null {
  const values = query.getAll(name);
  return values.length > 1 ? null : values[0];
}

const wrongUri = 'The program wants its answer at an address that it has not registered.';

export function parseAuthorization(query: URLSearchParams, client: OAuthClient): ParsedAuthorization {
  const redirectUri = only(query, 'redirect_uri') ?? '';
  if (!matchesRedirectUri(redirectUri, client.redirectUris)) return { ok: false, page: wrongUri };
  const state = only(query, 'state') ?? undefined;
  const refused = (error: AuthorizationError, description: string): ParsedAuthorization =>
    // A state that is too long to carry would make this answer too long too.
    ({ ok: false, redirectUri, state: (state?.length ?? 0) > stateCharsMost ? undefined : state, error, description });
  const repeated = [...new Set(query.keys())].find((name) => only(query, name) === null);
  if (repeated !== undefined) return refused('invalid_request', 'A parameter is given twice.');
  if ((state?.length ?? 0) > stateCharsMost)
    return refused('invalid_request', `state is longer than ${stateCharsMost} characters.`);
  if (only(query, 'response_type') !== 'code') return refused('unsupported_response_type', 'response_type must be code.');
  if (only(query, 'code_challenge_method') !== 'S256') return refused('invalid_request', 'code_challenge_method must be S256.');
  const challenge = only(query, 'code_challenge') ?? '';
  if (!challengePattern.test(challenge)) return refused('invalid_request', 'code_challenge must be 43 characters of base64url.');
  const resource = only(query, 'resource') ?? '';
  if (resource === '') return refused('invalid_target', 'resource is missing: the address of the tunnel (RFC 8707).');
  if (parseResource(resource) === null) return refused('invalid_target', 'resource must be an https address without a fragment.');
  return { ok: true, value: { redirectUri, challenge, resource, state } };
}

/** The host that a resource names, and its origin; null unless it is an https address that reads only one way. */
export function parseResource(text: string): { readonly host: string; readonly origin: string } | null {
  if (text.length > resourceCharsMost || !/^https:\/\/[\x21-\x7e]+$/i.test(text) || /[\\#]/.test(text)) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.username !== '' || url.password !== '') return null;
  return { host: url.hostname, origin: url.origin };
}
