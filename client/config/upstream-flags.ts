// Turns `--upstream` flags into the upstreams of a tunnel, and into those that snippets and service units name.

import type { ConnectInputs } from '@underpass/rules/connect/connect-form.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { TunnelType } from '@underpass/rules/tunnel/tunnel-type.ts';
import { defaultUpstreams, formatUpstream } from '@underpass/rules/tunnel/upstream.ts';
import type { TunnelUpstreams } from '../carry/api.ts';
import { ClientError, orUsage } from '../process/error.ts';
import { parseUpstreamHosts, parseUpstreams } from './tunnel-config.ts';

type DomainUpstreams = Extract<ConnectInputs, { type: 'http' }>['upstreams'];

/** Every domain of the tunnel with its upstream: its own, else the one for all. */
export function domainUpstreams(tunnel: Pick<Tunnel, 'name' | 'ingressDomains'>, texts: readonly string[]): DomainUpstreams {
  const parsed = texts.length === 0 ? undefined : upstreamsOfFlags('http', texts);
  const list = parsed?.type === 'http' ? parsed.list : [];
  const names = tunnel.ingressDomains.map(({ name }) => name);
  const unknown = list.find(({ domain }) => domain !== null && !names.includes(domain));
  if (unknown)
    throw new ClientError(
      'usage',
      `'${unknown.domain}' is not an ingress domain of ${tunnel.name}, which has ${names.join(', ')}`,
    );
  return names.flatMap((domain) => {
    const own = list.filter((item) => item.domain === domain);
    const served = own.length > 0 ? own : list.filter((item) => item.domain === null);
    if (served.length === 0)
      throw new ClientError('usage', `no upstream for ${domain}: add --upstream ${domain}=http://HOST:PORT`);
    return served.map(({ path = '', upstream }) => ({ domain: `${domain}${path}`, upstream: formatUpstream(upstream) }));
  });
}

/** `hosts`: what `--upstream-host` gives. */
export function upstreamsOfFlags(type: TunnelType, texts: readonly string[], hosts: readonly string[] = []): TunnelUpstreams {
  const parsed = parseUpstreams(type, texts);
  if (!parsed.ok) throw new ClientError('usage', parsed.message, { fix: `Give it as --upstream ${defaultUpstreams[type]}.` });
  return orUsage(parseUpstreamHosts(parsed.value, hosts));
}
