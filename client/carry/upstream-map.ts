// Which of its own upstreams a client dials for a stream. Whatever its user did not configure is not dialled. Pure.

import type { Upstream } from '@underpass/rules/upstream.ts';
import type { OpenRequest } from '@underpass/wire/core/open.ts';
import type { TunnelUpstreams } from './api.ts';

export interface OfferedUpstream {
  /** As in the protocol's OFFER: a host name, `*`, `:80`, `:443`. */
  readonly key: string;
  readonly upstream: Upstream;
}

export function listOffered(upstreams: TunnelUpstreams): OfferedUpstream[] {
  if (upstreams.type === 'http') return upstreams.list.map(({ domain, upstream }) => ({ key: domain ?? '*', upstream }));
  return upstreams.list.map(({ port, upstream }) => ({ key: `:${port}`, upstream }));
}

export type FindUpstream = (request: Pick<OpenRequest, 'kind' | 'host'>) => Upstream | null;

/** An http client takes no passthrough stream and the other way round: the bytes would mean something else. */
export function compileUpstreamMap(upstreams: TunnelUpstreams): FindUpstream {
  const byKey = new Map(listOffered(upstreams).map(({ key, upstream }) => [key, upstream]));
  if (upstreams.type === 'ingress') return ({ kind }) => byKey.get(kind === 'http' ? '' : kind.replace('ingress-', ':')) ?? null;
  return ({ kind, host }) => (kind === 'http' ? (byKey.get(host) ?? byKey.get('*') ?? null) : null);
}
