// The calls about the domains of a project, and DNS.

import type { Call } from './call.ts';

const read = { method: 'GET', query: 'InProject', who: 'domain.read' } as const;

export const domainCalls = {
  listDomains: { ...read, path: '/api/domains', query: 'DomainListQuery', answer: 'Domain[]', paged: true, compress: true },
  getDomain: { ...read, path: '/api/domains/:apexName', answer: 'Domain' },
  createDomain: {
    method: 'POST',
    path: '/api/domains',
    query: 'InProject',
    json: 'NewDomain',
    answer: 'Domain',
    who: 'domain.create',
  },
  deleteDomain: { method: 'DELETE', path: '/api/domains/:apexName', query: 'InProject', who: 'domain.delete' },
  verifyDomain: {
    method: 'POST',
    path: '/api/domains/:apexName/verify',
    query: 'InProject',
    answer: 'Domain',
    who: 'domain.verify',
  },
  /** Finds the provider, because each one's form takes a record in its own words. */
  getDomainDns: { ...read, path: '/api/domains/:apexName/dns', answer: 'DomainDns' },
  lookUpDns: { method: 'GET', path: '/api/dns/lookup', query: 'HostQuery', answer: 'DnsLookup', who: 'user' },
} as const satisfies Readonly<Record<string, Call>>;
