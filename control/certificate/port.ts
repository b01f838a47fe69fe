// What the API needs of certificates.

export interface CertificatePort {
  /** SHA-256 of the private CA's certificate (DER), hex: clients pin it by Tunnel.url. Undefined with public CAs. */
  clientPin(): string | undefined;
}
