// How a tunnel reads in a terminal: a row of the list, and the page of one.

import type { IngressDomain, Tunnel } from '@underpass/rules/entity/entity.ts';
import { renderTunnelMetrics } from '@underpass/rules/screen/metrics.ts';
import { portProblems } from '@underpass/rules/tunnel/port-range.ts';
import { isPrivateTunnel, tcpAddress, tcpHostPort } from '@underpass/rules/tunnel/tcp-address.ts';
import { expiryText } from '@underpass/rules/tunnel/tunnel-expiry.ts';
import {
  decideDisplayStatus,
  isWaitingForVerification,
  waitingText,
  withPendingDefaults,
} from '@underpass/rules/tunnel/tunnel-status.ts';
import { tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import { defaultUpstreams } from '@underpass/rules/tunnel/upstream.ts';
import { visitorLogLabels } from '@underpass/rules/tunnel/visitor-log.ts';
import { renderFields } from '../terminal/output.ts';

export function tunnelRow(tunnel: Tunnel): readonly string[] {
  const domains = tunnel.ingressDomains.map(({ name }) => name);
  const status = `${decideDisplayStatus(tunnel)}${tunnel.expiresAt === undefined ? '' : ' (temporary)'}`;
  return [tunnel.name, tunnel.type, tunnel.region, status, tcpHostPort(tunnel) ?? shortList(domains)];
}

/** A wide cell would break the table: more than two names become a count. */
function shortList(names: readonly string[]): string {
  return names.length <= 2 ? names.join(', ') : `${names.slice(0, 2).join(', ')} and ${names.length - 2} more`;
}

export function renderTunnel(fetched: Tunnel): string {
  const tunnel = withPendingDefaults(fetched);
  const fields = renderFields([
    ['Name', tunnel.name],
    ['Type', tunnel.type],
    ['Region', `${tunnel.region} (${tunnel.regionDescription})`],
    ['Status', decideDisplayStatus(tunnel)],
    ...(tunnel.expiresAt === undefined ? [] : [['Temporary', expiryText(tunnel.endsAt)] as const]),
    tunnelTypes[tunnel.type].foundBy === 'port' ? ['Address', portText(tunnel)] : ['Domains', domainsText(tunnel)],
    ['Security group', tunnel.securityGroup],
    ...(tunnel.accessPolicy === undefined ? [] : [['Access policy', tunnel.accessPolicy] as const]),
    ...(tunnel.visitorLog === undefined ? [] : [['Visitor log', visitorLogLabels[tunnel.visitorLog]] as const]),
    ...(tunnel.beginsTraces ? [['Traces', 'begun for requests without one'] as const] : []),
    ['PROXY protocol', tunnel.proxyProtocol || 'off'],
    ['Data plane', tunnel.dataPlaneHost],
    ...renderTunnelMetrics(tunnel).map(({ label, value }) => [label, value] as const),
  ]);
  return `${fields}\n\n${nextStep(tunnel)}`;
}

const domainsText = ({ ingressDomains }: Tunnel): string => ingressDomains.map(domainLine).join('\n') || 'No ingress domains';

function portText(tunnel: Tunnel): string {
  const address = tcpAddress(tunnel) ?? `private: underpass reach ${tunnel.name}`;
  return tunnel.portProblem === undefined ? address : `${address}\n${portProblems[tunnel.portProblem]}`;
}

/** Why visitors do not reach it, if there is a reason. */
export function domainNote({ blocked, verified }: Pick<IngressDomain, 'blocked' | 'verified'>): string {
  if (blocked) return '  (blocked by the operator)';
  return verified ? '' : '  (unverified)';
}

function domainLine(domain: IngressDomain): string {
  return `${domain.url}${domainNote(domain)}`;
}

function nextStep(tunnel: Tunnel): string {
  const apex = tunnel.ingressDomains.find(({ verified }) => !verified)?.apexName;
  if (isWaitingForVerification(tunnel.status)) {
    return apex ? `${waitingText}\nNext: underpass domains verify ${apex}` : waitingText;
  }
  const flags = isPrivateTunnel(tunnel) ? ' --private' : '';
  return `Next: underpass connect ${tunnel.name} --upstream ${defaultUpstreams[tunnel.type]}${flags}`;
}
