// The certificate authorities that Node trusts by itself, and one more.
import { readFileSync } from 'node:fs';
import tls from 'node:tls';

export function authoritiesWith(caPem: string): string[] {
  return [...trustedByDefault(), caPem];
}

/** Node before 22.15 lists the authorities that it brings, but not those of NODE_EXTRA_CA_CERTS. */
function trustedByDefault(): readonly string[] {
  const list: typeof tls.getCACertificates | undefined = tls.getCACertificates;
  return list === undefined ? [...tls.rootCertificates, ...extraAuthorities()] : list('default');
}

function extraAuthorities(): readonly string[] {
  const path = process.env.NODE_EXTRA_CA_CERTS;
  try {
    return path ? [readFileSync(path, 'utf8')] : [];
  } catch {
    return [];
  }
}
