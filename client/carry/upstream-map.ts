// Which upstream a client dials for a stream: only upstreams that its user configured. Pure.

import { servingNames } from '@underpass/rules/names/hostname.ts';
import type { Upstream } from '@underpass/rules/tunnel/upstream.ts';
import { kindsOfType, type OpenRequest, type StreamKind } from '@underpass/wire/core/open.ts';
import type { TunnelUpstreams } from './api.ts';

export interface ServedUpstream {
  readonly upstream: Upstream;
  /** See CarriedHttpUpstream. */
  readonly sentHost?: string;
  /** See HttpUpstream. */
  readonly path?: string;
}

export interface OfferedUpstream extends ServedUpstream {
  /** The key in the protocol's OFFER: a host name, `*`, `:80`, `:443`. */
  readonly key: string;
  /** All upstreams of the key, if the path of a request decides between them, or the path is rewritten. */
  readonly routes?: readonly ServedUpstream[];
}

export function listOffered(upstreams: TunnelUpstreams): OfferedUpstream[] {
  switch (upstreams.type) {
    case 'http':
      return upstreams.list.map(({ domain, ...carried }) => ({ key: domain ?? '*', ...carried }));
    case 'ingress':
      return upstreams.list.map(({ port, upstream }) => ({ key: `:${port}`, upstream }));
    case 'tcp':
      return upstreams.list.map(({ upstream }) => ({ key: '*', upstream }));
  }
}

export type FindUpstream = (request: Pick<OpenRequest, 'kind' | 'host'>) => OfferedUpstream | null;

/** Refuses streams of the other tunnel type: on an http stream the edge speaks HTTP, on an ingress stream the visitor's own protocol. */
export function compileUpstreamMap(upstreams: TunnelUpstreams): FindUpstream {
  const offered = listOffered(upstreams);
  // Not by Map.groupBy, which Node 20 lacks: the library runs there.
  const keys = new Set(offered.map(({ key }) => key));
  const byKey = new Map([...keys].map((key) => [key, routed(offered.filter((one) => one.key === key))]));
  const kinds: readonly StreamKind[] = kindsOfType[upstreams.type];
  return ({ kind, host }) => (kinds.includes(kind) ? find(kind, host) : null);

  function find(kind: StreamKind, host: string): OfferedUpstream | null {
    switch (kind) {
      case 'http':
        return byKey.get(host) ?? byKey.get(servingNames(host)[1]) ?? byKey.get('*') ?? null;
      case 'ingress-80':
        return byKey.get(':80') ?? null;
      case 'ingress-443':
        return byKey.get(':443') ?? null;
      case 'tcp':
        return byKey.get('*') ?? null;
    }
  }
}

/** True if requests are followed for their paths. */
export const needsRoutes = ({ path, upstream }: ServedUpstream): boolean => path !== undefined || upstream.base !== undefined;

function routed(list: readonly OfferedUpstream[]): OfferedUpstream {
  const [first] = list as readonly [OfferedUpstream];
  return list.some(needsRoutes) ? { ...first, routes: list } : first;
}
