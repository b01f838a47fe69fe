// Why the certificate of a connection is not trusted, by the codes of OpenSSL.
import type { TLSSocket } from 'node:tls';

/** Null if it is trusted. Some runtimes give the code, others an error with it. */
export function distrustOf({ authorizationError }: TLSSocket): string | null {
  const error = authorizationError as Error | string | null | undefined;
  if (!error) return null;
  return typeof error === 'string' ? error : ((error as NodeJS.ErrnoException).code ?? error.message);
}

export function kindOfDistrust(code: string): 'expired' | 'name' | 'untrusted' {
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') return 'expired';
  return code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? 'name' : 'untrusted';
}
