// What makes certificates: the local authority of a laptop (local-ca.ts) or an ACME directory (acme/).

import { isWildcardName } from '@underpass/rules/names/hostname.ts';
import type { RenewalWindow } from './core/renewal.ts';
import type { WantedName } from './core/wanted.ts';

export interface IssuedCertificate {
  /** Leaf first; a private root last, so that clients can pin it. */
  readonly chainPem: string;
  /** PKCS#8. */
  readonly privateKeyPem: string;
}

export interface IssueRequest {
  /** A host, or a wildcard. */
  readonly name: string;
  /** Region whose edges answer challenges for it. */
  readonly region: string;
  /** Failures in a row so far: the authority may choose another kind of proof. */
  readonly failures: number;
  /** Where the proof by DNS is shown, if the user's record leads there. */
  readonly proofName?: string;
  /** The chain that the new one replaces: authorities may exempt such orders from rate limits (RFC 9773 5). */
  readonly replaces?: string;
  readonly signal: AbortSignal;
}

/** What an error of `issue` may carry. */
export interface IssueFailure {
  /** How long the authority wants no new order. */
  readonly retryAfterMs?: number | undefined;
}

export interface RenewalInfo {
  readonly window: RenewalWindow;
  readonly askAgainMs: number | undefined;
}

export interface Authority {
  /** The authority's name: certificates of another authority are replaced. */
  readonly id: string;
  /** True for an authority on this machine: it needs no proof and has no limits, so budgets and look-ups are skipped. */
  readonly local: boolean;
  /** The zone to which users lead the proofs of their wildcards; without it there is none for these. */
  readonly delegationZone?: string;
  /** Whether the authority can make a certificate for this name of ours. */
  canIssue(name: string): boolean;
  issue(request: IssueRequest): Promise<IssuedCertificate>;
  /** When it wants this chain renewed, and when to ask again; undefined if the authority gives no advice. */
  renewal?(chainPem: string, signal: AbortSignal): Promise<RenewalInfo | undefined>;
}

/** Whether the authority can make a certificate for a wanted name: wildcards of users need a way for their proofs. */
export function mayIssue(authority: Authority, { name, projectId }: Pick<WantedName, 'name' | 'projectId'>): boolean {
  if (projectId === '') return authority.canIssue(name);
  return !isWildcardName(name) || authority.local || authority.delegationZone !== undefined;
}
