// The calls about the domains of a project, and DNS.

import type { Call } from './call.ts';

export const domainCalls = {
  listDomains: {
    method: 'GET',
    path: '/api/domains',
    query: 'DomainListQuery',
    answer: 'Domain[]',
    who: 'domain.read',
    paged: true,
    compress: true,
  },
  getDomain: { method: 'GET', path: '/api/domains/:apexName', query: 'InProject', answer: 'Domain', who: 'domain.read' },
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
  getDomainDns: {
    method: 'GET',
    path: '/api/domains/:apexName/dns',
    query: 'InProject',
    answer: 'DomainDns',
    who: 'domain.read',
  },
  lookUpDns: { method: 'GET', path: '/api/dns/lookup', query: 'HostQuery', answer: 'DnsLookup', who: 'user' },
} as const satisfies Readonly<Record<string, Call>>;
