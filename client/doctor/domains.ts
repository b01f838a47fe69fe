// What the server's check of a tunnel's domains means: which of them visitors cannot reach, and what to do.

import type { IngressDomain, Tunnel } from '@underpass/rules/entity/entity.ts';
import type { TunnelDomains } from '@underpass/rules/entity/resource.ts';
import { ingressRecord } from '@underpass/rules/names/dns-record.ts';
import { type DomainState, describeDomain } from '@underpass/rules/screen/domain-state.ts';
import { type Finding, ok, problem, skipped, warning } from './finding.ts';

const check = 'domains';
/** A tunnel may have a hundred domains without DNS; a terminal has few lines. */
const shownMost = 10;

export function judgeDomains({ ingressDomains }: Pick<Tunnel, 'ingressDomains'>, answer: TunnelDomains): readonly Finding[] {
  const judged = ingressDomains.flatMap((domain) => judge(domain, answer) ?? []);
  const fine = ingressDomains.length - judged.length;
  const found = fine === 0 ? [] : [ok(check, fine === 1 ? '1 leads to the region' : `${fine} lead to the region`)];
  const sorted = judged.toSorted((one, other) => ranks[one.state] - ranks[other.state]);
  return [...found, ...sorted.slice(0, shownMost), ...summary(sorted.slice(shownMost))];
}

const ranks: Readonly<Record<Finding['state'], number>> = { problem: 0, warning: 1, skipped: 2, ok: 3 };

function summary([first, ...others]: readonly Finding[]): readonly Finding[] {
  if (first === undefined) return [];
  const detail = `${others.length + 1} more, not shown`;
  return [
    first.state === 'problem' ? problem(check, detail, 'Mend these first, then run the doctor again.') : skipped(check, detail),
  ];
}

function judge(domain: IngressDomain, answer: TunnelDomains): Finding | undefined {
  const state = describeDomain(domain, answer, undefined, (iso) => iso.slice(0, 10));
  const detail = `${domain.name}: ${state.detail}`;
  switch (state.badge) {
    case 'no_dns':
      return problem(check, detail, adviseRecord(domain, answer));
    case 'blocked':
      return problem(check, detail, 'Use another name until then.');
    case 'unverified':
      return problem(check, detail, `Run "underpass domains verify ${domain.apexName}"; it shows the record to set.`);
    case 'unknown':
    case 'loading':
      return skipped(check, detail);
    case 'dns_ok':
      return judgeCertificate(state, detail);
  }
}

const judgeCertificate = ({ isFine }: DomainState, detail: string): Finding | undefined =>
  isFine ? undefined : warning(check, detail, 'Try again in a few minutes. Visitors get a TLS error until then.');

function adviseRecord(domain: IngressDomain, { dataPlaneHost, dataPlaneIps = [] }: TunnelDomains): string {
  const record = ingressRecord(domain, { host: dataPlaneHost, ips: dataPlaneIps });
  if (record === null) return 'Point it at the region.';
  return `Set this record in the DNS zone of ${domain.apexName}: ${record.name} ${record.type} ${record.value}`;
}
