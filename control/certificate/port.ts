// What the API needs of certificates.

export interface NameCertificate {
  /** When the last valid one ends, in milliseconds. */
  readonly until: number | undefined;
  readonly lastOrderFailed: boolean;
}

export interface CertificatePort {
  /** SHA-256 of the private CA's certificate (DER), hex: clients pin it by Tunnel.url. Undefined with public CAs. */
  clientPin(): string | undefined;
  /** By name. */
  ofNames(names: readonly string[]): Promise<ReadonlyMap<string, NameCertificate>>;
}
