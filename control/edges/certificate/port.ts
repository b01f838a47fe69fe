// What the API needs of certificates.

export interface NameCertificate {
  /** When the last valid one ends, in milliseconds. */
  readonly until: number | undefined;
  readonly lastOrderFailed: boolean;
  /** The project gave it. */
  readonly own?: true;
}

export interface CertificatePort {
  /** SHA-256 of the CA's certificate (DER), hex, if a private CA certifies the host: clients pin it by Tunnel.url. */
  clientPin(host: string): string | undefined;
  /** Certificates by name. */
  ofNames(names: readonly string[]): Promise<ReadonlyMap<string, NameCertificate>>;
  /** The zone to which users lead the proofs of their wildcards; without it, the service orders none. */
  readonly delegationZone?: string;
}
