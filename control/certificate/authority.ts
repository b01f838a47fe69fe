// Who makes certificates: the local authority of a laptop (local-ca.ts) or an ACME directory (acme/).

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
  readonly signal: AbortSignal;
}

export interface Authority {
  /** Names it: certificates of another authority are replaced. */
  readonly id: string;
  /** Of this machine: it counts nothing and proves nothing, so neither budgets nor look-ups stand before it. */
  readonly local: boolean;
  /** Whether it can make this one at all. */
  canIssue(name: string): boolean;
  issue(request: IssueRequest): Promise<IssuedCertificate>;
}
