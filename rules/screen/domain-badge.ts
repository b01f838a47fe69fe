// The badge of an ingress domain on its tunnel's page (spec 2, Domains list on the tunnel; spec 4).

import type { IngressDomain } from '../entity/entity.ts';
import type { DnsCheck } from '../names/dns-record.ts';

/** `unknown`: the look-up failed, which says nothing about the domain. */
export type DnsOutcome = DnsCheck | 'unknown';
export type DomainBadge = 'loading' | 'blocked' | 'unverified' | DnsOutcome;

/** null: no badge is shown. */
export const domainBadgeLabels: Readonly<Record<DomainBadge, string | null>> = {
  loading: 'Loading',
  blocked: 'Blocked',
  unverified: 'Unverified',
  no_dns: 'No DNS',
  unknown: 'Not checked',
  dns_ok: null,
};

/** `check` is undefined until the DNS check completes. A generated name has our DNS: nothing to check. */
export function decideDomainBadge(
  domain: Pick<IngressDomain, 'apexName' | 'verified' | 'blocked'>,
  check: DnsOutcome | undefined,
): DomainBadge {
  if (domain.blocked) return 'blocked';
  const dns = domain.apexName === '' ? 'dns_ok' : check;
  if (dns === undefined) return 'loading';
  return domain.verified ? dns : 'unverified';
}

export function showsConfigureDns(domain: Pick<IngressDomain, 'apexName'>): boolean {
  return domain.apexName !== '';
}
