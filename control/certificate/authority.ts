// Who makes certificates: the local authority of a laptop (local-ca.ts) or an ACME directory (acme/).

import type { RenewalWindow } from './core/renewal.ts';

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
  /** Failures in a row so far: another way of proving may be tried. */
  readonly failures: number;
  /** The chain that the new one takes the place of: authorities count such orders for less (RFC 9773 5). */
  readonly replaces?: string;
  readonly signal: AbortSignal;
}

/** What an error of `issue` may carry. */
export interface IssueFailure {
  /** For how long the authority wants no new order. */
  readonly retryAfterMs?: number | undefined;
}

export interface RenewalInfo {
  readonly window: RenewalWindow;
  readonly askAgainMs: number | undefined;
}

export interface Authority {
  /** Names it: certificates of another authority are replaced. */
  readonly id: string;
  /** Of this machine: it counts nothing and proves nothing, so neither budgets nor look-ups stand before it. */
  readonly local: boolean;
  /** Whether it can make this one at all. */
  canIssue(name: string): boolean;
  issue(request: IssueRequest): Promise<IssuedCertificate>;
  /** When it wants this chain renewed, and how long that holds; undefined where it says nothing. */
  renewal?(chainPem: string, signal: AbortSignal): Promise<RenewalInfo | undefined>;
}
