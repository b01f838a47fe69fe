// What the upstream learns about a visitor whom the access policy admits: three fields for reading, one assertion for proof.

import type { MachineToken, VisitorClaims } from '@underpass/rules/visit/grants.ts';

interface VisitorSubject {
  readonly claims: VisitorClaims | null;
  readonly token: MachineToken | null;
}

/** How long an assertion is valid, and how long an edge uses it: a slow upstream has at least a minute to verify it. */
const assertionMs = 5 * 60_000;
export const assertionUsedMs = 4 * 60_000;

interface AssertionFacts {
  /** Control's address. */
  readonly issuer: string;
  readonly authority: string;
  readonly keyId: string;
  readonly nowMs: number;
  /** When the policy stops to admit the visitor: the assertion ends no later. */
  readonly endsAtMs: number;
}

/** The text to sign: header and claims of the JWT. */
export function renderAssertion(who: VisitorSubject, { issuer, authority, keyId, nowMs, endsAtMs }: AssertionFacts): string {
  const { claims } = who;
  const seconds = (ms: number): number => Math.floor(ms / 1_000);
  const payload = {
    iss: issuer,
    aud: `https://${authority}`,
    sub: subjectOf(who),
    ...(claims === null || claims.email === '' ? {} : { email: claims.email }),
    ...(claims === null || claims.groups.length === 0 ? {} : { groups: claims.groups }),
    method: claims?.method ?? 'token',
    ...(claims?.agent === undefined ? {} : { agent: claims.agent }),
    iat: seconds(nowMs),
    exp: seconds(Math.min(nowMs + assertionMs, endsAtMs)),
  };
  return `${encode({ alg: 'ES256', typ: 'JWT', kid: keyId })}.${encode(payload)}`;
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Header lines. None of their text comes from the visitor's own headers. */
export function renderVisitor(who: VisitorSubject, assertion: string): string {
  const { claims } = who;
  const email = claims === null || claims.email === '' ? '' : `X-Underpass-Email: ${fieldText(claims.email)}\r\n`;
  const groups =
    claims === null || claims.groups.length === 0 ? '' : `X-Underpass-Groups: ${claims.groups.map(listed).join(',')}\r\n`;
  return `X-Underpass-User: ${fieldText(subjectOf(who))}\r\n${email}${groups}X-Underpass-Assertion: ${assertion}\r\n`;
}

function subjectOf({ claims, token }: VisitorSubject): string {
  return claims?.subject ?? `token:${token?.name ?? ''}`;
}

/** Visible ASCII as it is; everything else, and "%", percent-encoded as UTF-8. */
const fieldText = (text: string): string => percentEncode(text, /[\x21-\x24\x26-\x7e]/);
/** Encodes one of several groups, and the comma that separates them too. */
const listed = (text: string): string => percentEncode(text, /[A-Za-z0-9._~@ /:-]/).trim();

function percentEncode(text: string, kept: RegExp): string {
  let encoded = '';
  for (const byte of Buffer.from(text)) {
    const character = String.fromCharCode(byte);
    encoded += kept.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return encoded;
}
