// The upstream of a quick tunnel, from a port or an address.

import { isLoopbackHost } from '@underpass/rules/tunnel/upstream.ts';
import type { TunnelUpstreams } from '../carry/api.ts';
import { parseQuickTcp, parseQuickUpstream, parseUpstreamHosts } from '../config/tunnel-config.ts';
import { ClientError, orUsage } from '../process/error.ts';

/** A service of this machine is mostly a development server, which refuses a Host that it does not know. */
export function quickUpstreams(type: 'http' | 'tcp', target: string, hosts?: readonly string[]): TunnelUpstreams {
  const parsed = type === 'http' ? parseQuickUpstream(target) : parseQuickTcp(target);
  if (!parsed.ok)
    throw new ClientError('usage', parsed.message, {
      fix: `Give a port${type === 'http' ? ', HOST:PORT or URL' : ' or HOST:PORT'}.`,
    });
  const isLocal = parsed.value.list.every(({ upstream }) => isLoopbackHost(upstream.host));
  return orUsage(parseUpstreamHosts(parsed.value, hosts ?? (isLocal && type === 'http' ? ['upstream'] : [])));
}
