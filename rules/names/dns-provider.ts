// Which provider serves a DNS zone, by its NS records, and how that provider's form wants a record.

import type { DnsRecord } from './dns-record.ts';

interface DnsProvider {
  readonly label: string;
  /** Every name server of the zone matches it. */
  readonly nameServers: RegExp;
  /** What the form takes for the apex: `@`, or an empty field. */
  readonly apex: '@' | '';
  /** The form takes a host name without a final dot for a name under the zone. */
  readonly dot?: true;
  /** A record that the provider resolves itself at the apex. Standard DNS allows no CNAME there. */
  readonly apexAlias?: 'CNAME' | 'ALIAS';
  /** About records that point visitors somewhere. */
  readonly proxied?: string;
}

const cloudflareProxy =
  "Set Proxy status to 'DNS only'. Behind the proxy the name has Cloudflare's addresses: it does not count as configured, " +
  "no certificate is ordered for it, and allow-lists see Cloudflare's addresses.";

export const dnsProviders = {
  cloudflare: {
    label: 'Cloudflare',
    nameServers: /\.ns\.cloudflare\.com$/,
    apex: '@',
    apexAlias: 'CNAME',
    proxied: cloudflareProxy,
  },
  route53: { label: 'Amazon Route 53', nameServers: /\.awsdns-\d+\.(com|net|org|co\.uk)$/, apex: '' },
  google: { label: 'Google Cloud DNS', nameServers: /^ns-cloud-[a-z]\d\.googledomains\.com$/, apex: '', dot: true },
  azure: { label: 'Azure DNS', nameServers: /\.azure-dns\.(com|net|org|info)$/, apex: '@' },
  godaddy: { label: 'GoDaddy', nameServers: /\.domaincontrol\.com$/, apex: '@' },
  namecheap: { label: 'Namecheap', nameServers: /\.registrar-servers\.com$/, apex: '@', apexAlias: 'ALIAS' },
  hetzner: { label: 'Hetzner', nameServers: /\.ns\.hetzner\.(com|de)$/, apex: '@', dot: true },
  ovh: { label: 'OVHcloud', nameServers: /\.(ovh\.(net|ca)|anycast\.me)$/, apex: '', dot: true },
  gandi: { label: 'Gandi', nameServers: /\.gandi\.net$/, apex: '@', dot: true, apexAlias: 'ALIAS' },
  digitalocean: { label: 'DigitalOcean', nameServers: /^ns\d\.digitalocean\.com$/, apex: '@' },
  ionos: { label: 'IONOS', nameServers: /\.ui-dns\.(com|de|org|biz)$/, apex: '@' },
  porkbun: { label: 'Porkbun', nameServers: /\.ns\.porkbun\.com$/, apex: '', apexAlias: 'ALIAS' },
  desec: { label: 'deSEC', nameServers: /^ns\d\.desec\.(io|org)$/, apex: '@', dot: true },
} as const satisfies Readonly<Record<string, DnsProvider>>;

export type DnsProviderName = keyof typeof dnsProviders;
export const dnsProviderNames = Object.keys(dnsProviders) as DnsProviderName[];

/** Undefined if two providers share the zone: the record then belongs in both. */
export function findDnsProvider(nameServers: readonly string[]): DnsProviderName | undefined {
  const hosts = nameServers.map((host) => host.toLowerCase().replace(/\.$/, ''));
  if (hosts.length === 0) return undefined;
  return dnsProviderNames.find((name) => hosts.every((host) => dnsProviders[name].nameServers.test(host)));
}

/** The record as the provider's form takes it. Its name stays: the advice says what else the form wants. */
export function recordFor(name: DnsProviderName | undefined, record: DnsRecord): DnsRecord {
  const provider: DnsProvider | undefined = name && dnsProviders[name];
  return record.type === 'CNAME' && provider?.dot ? { ...record, value: `${record.value}.` } : record;
}

/** How to enter the record at this provider, a sentence or two each. `dataPlaneHost`: of a record that points visitors there. */
export function adviseRecord(
  name: DnsProviderName,
  record: DnsRecord,
  zone: { readonly apexName: string; readonly dataPlaneHost?: string },
): readonly string[] {
  const provider: DnsProvider = dnsProviders[name];
  const advice = [adviseName(provider, record, zone.apexName)];
  if (record.type === 'CNAME' && provider.dot) advice.push('Keep the dot at the end of the value.');
  if (record.type === 'TXT' || zone.dataPlaneHost === undefined) return advice;
  if (record.type !== 'CNAME' && provider.apexAlias) advice.push(adviseAlias(provider, zone.dataPlaneHost));
  if (provider.proxied) advice.push(provider.proxied);
  return advice;
}

function adviseName({ label, apex }: DnsProvider, { name }: DnsRecord, apexName: string): string {
  if (name !== '@') return `Enter the name without .${apexName}: ${label} adds it.`;
  return apex === '@' ? `Enter @ as the name: it stands for ${apexName}.` : `Leave the name empty: that stands for ${apexName}.`;
}

const adviseAlias = ({ label, apexAlias, dot }: DnsProvider, host: string): string =>
  `${label} also takes ${apexAlias === 'CNAME' ? 'a' : 'an'} ${apexAlias} to ${host}${dot ? '.' : ''} here, which follows when the address changes.`;
