// What a sign-in is for: a visit at an edge, or a program that asks a visitor for access. It travels in links and hidden fields,
// and every request reads it again.

import { parseHostname } from '@underpass/rules/names/hostname.ts';
import { isToken } from '../../platform/secret/token.ts';

export type SignInTarget =
  /** `state`: SHA-256, base64url, of the nonce that the edge gave the visitor's browser. */
  | { readonly kind: 'edge'; readonly host: string; readonly state: string }
  /** An authorization request of a program, which waits for its visitor: the secret of its row in `access_flows`. */
  | { readonly kind: 'program'; readonly id: string };

/** The host of an authority: the edge names its port too. */
export const hostOf = (authority: string): string | null => parseHostname(authority.replace(/:\d{1,5}$/, ''));

/** Undefined unless the fields name one target. */
export function parseTarget(fields: Readonly<Record<string, string | undefined>>): SignInTarget | undefined {
  const { host: authority, state = '', grant } = fields;
  if (grant !== undefined && grant !== '') return isToken(grant) ? { kind: 'program', id: grant } : undefined;
  const host = authority === undefined ? null : hostOf(authority);
  return host !== null && isToken(state) ? { kind: 'edge', host, state } : undefined;
}

/** What `parseTarget` reads. */
export const targetFields = (target: SignInTarget): Readonly<Record<string, string>> =>
  target.kind === 'edge' ? { host: target.host, state: target.state } : { grant: target.id };

export const targetQuery = (target: SignInTarget): string => new URLSearchParams(targetFields(target)).toString();

/** The path without a query, which a login link can keep (rules/people/return-path.ts). */
export const memberPath = (target: SignInTarget): string =>
  target.kind === 'edge' ? `/access/member/${target.host}/${target.state}` : `/access/member/grant/${target.id}`;
