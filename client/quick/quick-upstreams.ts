// The upstream of a quick tunnel, from a port or an address.

import { isLoopbackHost } from '@underpass/rules/tunnel/upstream.ts';
import type { TunnelUpstreams } from '../carry/api.ts';
import { parseQuickUpstream, parseUpstreamHosts } from '../config/tunnel-config.ts';
import { ClientError } from '../process/error.ts';

/** A service of this machine is mostly a development server, which refuses a Host that it does not know. */
export function quickUpstreams(target: string, hosts?: readonly string[]): TunnelUpstreams {
  const parsed = parseQuickUpstream(target);
  if (!parsed.ok) throw new ClientError('usage', parsed.message, { fix: 'Give a port, HOST:PORT or URL.' });
  const isLocal = parsed.value.list.every(({ upstream }) => isLoopbackHost(upstream.host));
  const sent = parseUpstreamHosts(parsed.value, hosts ?? (isLocal ? ['upstream'] : []));
  if (!sent.ok) throw new ClientError('usage', sent.message);
  return sent.value;
}
