// The DNS records that a user must set, and whether they took effect (spec 7, DNS record rules; spec 3).

import { canonicalAddress, parseIpv4 } from '../address/address.ts';
import { isWildcardName } from './hostname.ts';

export type DnsCheck = 'dns_ok' | 'no_dns';

export interface DnsRecord {
  readonly type: 'TXT' | 'A' | 'AAAA' | 'CNAME';
  /** Relative to the apex; `@` for the apex itself. */
  readonly name: string;
  readonly value: string;
}

const verificationPrefix = 'underpass-domain-verify=';
/** Accepted beside the apex, for zones whose apex cannot hold the record. */
export const verificationSubdomain = '_underpass-challenge';
export const propagationNote = 'DNS propagation can take from 60 seconds to 48 hours.';

export function verificationRecord(challenge: string): DnsRecord {
  return { type: 'TXT', name: '@', value: `${verificationPrefix}${challenge}` };
}

/** The record that leads the proof of a wildcard to the service. */
export const delegationRecord = (record: { readonly name: string; readonly value: string }, apexName: string): DnsRecord => ({
  ...{ type: 'CNAME', name: recordName(record.name, apexName), value: record.value },
});

/** The record that points an ingress domain at the data plane; null while its addresses are not known. */
export function ingressRecord(
  domain: { readonly name: string; readonly apexName: string },
  dataPlane: { readonly host: string; readonly ips: readonly string[] },
): DnsRecord | null {
  if (domain.name !== domain.apexName) {
    return { type: 'CNAME', name: recordName(domain.name, domain.apexName), value: dataPlane.host };
  }
  const ipv4 = dataPlane.ips.find((ip) => parseIpv4(ip) >= 0);
  if (ipv4 !== undefined) return { type: 'A', name: '@', value: ipv4 };
  const first = dataPlane.ips[0];
  return first === undefined ? null : { type: 'AAAA', name: '@', value: first };
}

/** The name to look up for an ingress domain: of a wildcard, one that it covers. */
export const lookedUpName = (name: string): string => (isWildcardName(name) ? `underpass-check.${name.slice(2)}` : name);

export function recordName(host: string, apexName: string): string {
  if (host === apexName) return '@';
  return host.endsWith(`.${apexName}`) ? host.slice(0, -apexName.length - 1) : host;
}

/** dns_ok when one resolved address is one of the data plane's (spec 4, Tunnel domain DNS). */
export function decideDnsCheck(resolved: readonly string[], dataPlane: readonly string[]): DnsCheck {
  const ours = new Set(dataPlane.map(canonicalAddress).filter((ip) => ip !== null));
  return resolved.some((ip) => ours.has(canonicalAddress(ip) ?? '')) ? 'dns_ok' : 'no_dns';
}

/** Exact match of one TXT record's joined strings; a prefix, suffix or neighbour proves nothing. */
export function provesOwnership(records: readonly (readonly string[])[], challenge: string): boolean {
  const wanted = `${verificationPrefix}${challenge}`;
  return challenge !== '' && records.some((strings) => strings.join('') === wanted);
}
