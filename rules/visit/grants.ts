// Decides whom an access policy admits. Control uses it at each sign-in, an edge for each session and after each change. Pure.

import type { PathRule } from './path-rule.ts';

/** How a visitor proved who they are. */
export const signInMethods = ['member', 'email', 'oidc', 'password', 'link'] as const;
export type SignInMethod = (typeof signInMethods)[number];

/** What a session says about a visitor. Control writes it at the sign-in, and nothing changes it afterwards. */
export interface VisitorClaims {
  readonly method: SignInMethod;
  /** A member's user id, the e-mail address, the provider's subject, or the id of the password or link. */
  readonly subject: string;
  /** Empty for passwords and links. */
  readonly email: string;
  /** Groups of the claim of an OpenID Connect provider, bounded. */
  readonly groups: readonly string[];
  /** Which provider, password or link: another one ends the session. Empty for members and e-mail. */
  readonly source: string;
  readonly signedInAtMs: number;
  readonly expiresAtMs: number;
  /** The program that holds the session for the visitor (OAuth client name); absent for a browser. */
  readonly agent?: string;
  /** Which of the person's programs: all tokens that follow from one code have the same. Control can end it alone. */
  readonly programId?: string;
}

/** The subject that names one program in the list of those who were signed out. */
export const programSubject = (programId: string): string => `program:${programId}`;

/** Whom a policy admits now. Edges hold it and test every session against it, so a change ends what it no longer admits. */
export interface VisitorGrants {
  /** User ids of the project's members; null: members are not admitted as such. */
  readonly memberIds: readonly string[] | null;
  /** E-mail addresses, and `*@domain` for everybody there. */
  readonly people: readonly string[];
  readonly provider: {
    /** Changes with the issuer and the client id. */
    readonly id: string;
    /** E-mail addresses and `*@domain`. */
    readonly people: readonly string[];
    readonly groups: readonly string[];
  } | null;
  /** Changes with the password; null: none. */
  readonly passwordId: string | null;
  /** Links that are not revoked. */
  readonly links: readonly { readonly id: string; readonly expiresAtMs: number | null }[];
  /** Every session that began before this has ended. */
  readonly validFromMs: number;
  /** Each entry ends the sessions with this subject, e-mail address or program that began by `atMs`. */
  readonly signedOut: readonly { readonly subject: string; readonly atMs: number }[];
}

export interface MachineToken {
  readonly id: string;
  readonly name: string;
  /** SHA-256, hex. */
  readonly hash: string;
  readonly expiresAtMs: number | null;
}

/** An access policy as an edge and the test of a policy need it. */
export interface VisitRules {
  readonly rules: readonly PathRule[];
  readonly grants: VisitorGrants;
  readonly tokens: readonly MachineToken[];
  /** Lower-case name of the header field that carries a token; `authorization`: as `Bearer`. */
  readonly tokenHeader: string;
}

/** Null if the policy admits the visitor now, else why it does not. */
export function refusalOf(claims: VisitorClaims, grants: VisitorGrants, nowMs: number): RefusedVisit | null {
  if (claims.expiresAtMs <= nowMs) return 'expired';
  if (claims.signedInAtMs < grants.validFromMs) return 'signed-out';
  const program = claims.programId === undefined ? null : programSubject(claims.programId);
  const isSelf = (subject: string): boolean => subject === claims.subject || subject === claims.email || subject === program;
  if (grants.signedOut.some(({ subject, atMs }) => isSelf(subject) && claims.signedInAtMs <= atMs)) return 'signed-out';
  return isAdmitted[claims.method](claims, grants, nowMs) ? null : 'not-admitted';
}

type RefusedVisit = 'expired' | 'signed-out' | 'not-admitted';

const isAdmitted: Readonly<Record<SignInMethod, (claims: VisitorClaims, grants: VisitorGrants, nowMs: number) => boolean>> = {
  member: ({ subject }, { memberIds }) => memberIds?.includes(subject) === true,
  email: ({ email }, { people }) => isListed(email, people),
  oidc: ({ source, email, groups }, { provider }) =>
    provider?.id === source && (isListed(email, provider.people) || provider.groups.some((group) => groups.includes(group))),
  password: ({ source }, { passwordId }) => passwordId !== null && passwordId === source,
  link: ({ source }, { links }, nowMs) =>
    links.some(({ id, expiresAtMs }) => id === source && (expiresAtMs === null || expiresAtMs > nowMs)),
};

/** An empty list admits nobody. */
export function isListed(email: string, people: readonly string[]): boolean {
  const at = email.lastIndexOf('@');
  return at > 0 && (people.includes(email) || people.includes(`*${email.slice(at)}`));
}
