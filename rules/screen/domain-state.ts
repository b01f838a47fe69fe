// What the check of a tunnel's ingress domains found, for people: the outcome, the addresses, the certificate, what to do next.

import type { IngressDomain } from '../entity/entity.ts';
import type { CheckedDomain, TunnelDomains } from '../entity/resource.ts';
import { decideDnsCheck } from '../names/dns-record.ts';
import { type DnsOutcome, type DomainBadge, decideDomainBadge } from './domain-badge.ts';

/** Why a domain has no addresses in the answer. */
const uncheckedReasons = {
  unanswered: 'The name servers did not answer.',
  limited: 'Too many DNS lookups. Please try again in a minute.',
  unverified: 'Verify the domain first.',
} as const;

type DataPlane = Pick<TunnelDomains, 'dataPlaneIps'>;

/** Answers `unknown` without the addresses of the region: there is nothing to compare with. */
export function decideDnsOutcome({ ips }: Pick<CheckedDomain, 'ips'>, { dataPlaneIps = [] }: DataPlane): DnsOutcome {
  return ips === undefined || dataPlaneIps.length === 0 ? 'unknown' : decideDnsCheck(ips, dataPlaneIps);
}

export interface DomainState {
  readonly badge: DomainBadge;
  /** One sentence or two; empty if there is nothing to say. */
  readonly detail: string;
  /** False where visitors do not reach the domain, or it is not known. */
  readonly isFine: boolean;
}

/** What is known of one domain. `domains` is undefined while the check runs, `failure` the reason why it failed. */
export function describeDomain(
  domain: IngressDomain,
  domains: TunnelDomains | undefined,
  failure: string | undefined,
  formatDay: (iso: string) => string,
): DomainState {
  const checked = domains?.domains.find(({ name }) => name === domain.name);
  const outcome = checked === undefined ? (failure === undefined ? undefined : 'unknown') : decideDnsOutcome(checked, domains!);
  const badge = decideDomainBadge(domain, outcome);
  const certificate = certificateText(checked?.certificate, formatDay);
  const detail = [dnsText(badge, domain, checked, domains, failure), badge === 'dns_ok' ? certificate : ''].join(' ').trim();
  const lacksCertificate = checked?.certificate !== undefined && checked.certificate.until === undefined;
  return { badge, detail, isFine: badge === 'dns_ok' && !lacksCertificate };
}

function dnsText(
  badge: DomainBadge,
  { apexName }: Pick<IngressDomain, 'apexName'>,
  checked: CheckedDomain | undefined,
  domains: TunnelDomains | undefined,
  failure: string | undefined,
): string {
  switch (badge) {
    case 'loading':
      return '';
    case 'dns_ok':
      return checked?.certificate === undefined && checked?.ips !== undefined ? foundText(checked.ips) : '';
    case 'blocked':
      return 'The operator of this service has blocked this name. Please write to them.';
    case 'unverified':
      return `Prove that you own ${apexName}.`;
    case 'no_dns':
      return `${foundText(checked?.ips ?? [])} Expected: ${listAddresses(domains?.dataPlaneIps ?? [])}.`;
    case 'unknown':
      return uncheckedText(checked, failure);
  }
}

function uncheckedText(checked: CheckedDomain | undefined, failure: string | undefined): string {
  if (checked === undefined) return failure ?? '';
  return checked.unchecked === undefined ? "The region's addresses are not known." : uncheckedReasons[checked.unchecked];
}

const foundText = (ips: readonly string[]): string => (ips.length === 0 ? 'No address found.' : `Found: ${listAddresses(ips)}.`);

/** A name behind a large provider can have dozens. */
const shownMost = 3;

export function listAddresses(ips: readonly string[]): string {
  const more = ips.length - shownMost;
  return more > 0 ? `${ips.slice(0, shownMost).join(', ')} and ${more} more` : ips.join(', ');
}

/** Empty for a tunnel whose TLS does not end at the edge. */
function certificateText(certificate: CheckedDomain['certificate'], formatDay: (iso: string) => string): string {
  if (certificate === undefined) return '';
  if (certificate.until !== undefined) {
    const until = `${certificate.own ? 'The project’s certificate' : 'Certificate'} until ${formatDay(certificate.until)}.`;
    return certificate.lastOrderFailed ? `${until} Its renewal failed and is tried again. ${caaHint}` : until;
  }
  return certificate.lastOrderFailed ? `The certificate order failed and is tried again. ${caaHint}` : 'No certificate yet.';
}

const caaHint = 'If the zone has CAA records, they must allow the authority.';

const ranks: Readonly<Record<DomainBadge, number>> = { blocked: 0, no_dns: 0, unverified: 1, unknown: 2, loading: 3, dns_ok: 4 };

/** The domains that need work first; otherwise in the given order. */
export function failingFirst<T extends { readonly state: DomainState }>(rows: readonly T[]): readonly T[] {
  const rank = ({ badge, isFine }: DomainState) => (badge === 'dns_ok' && !isFine ? 1 : ranks[badge]);
  return rows.toSorted((one, other) => rank(one.state) - rank(other.state));
}
