// Opens a connection to any upstream of an http tunnel on which HTTP/1.1 is spoken. Loaded only for tunnels that need it.

import type { Duplex } from 'node:stream';
import { type Upstream, usesHttp2 } from '@underpass/rules/tunnel/upstream.ts';
import { Http2Pool } from './http2-pool.ts';
import { Http2Upstream } from './http2-upstream.ts';
import { RoutedUpstream } from './routed-upstream.ts';
import { needsRoutes, type OfferedUpstream, type ServedUpstream } from './upstream-map.ts';
import { openSocket, type UpstreamTrust } from './upstream-socket.ts';

/** Emits `connect`, or `secureConnect` if it is a socket with TLS. */
export type OpenUpstream = (to: ServedUpstream & Pick<OfferedUpstream, 'routes'>, preface: Uint8Array) => Duplex;

export function createOpenUpstream(trust: UpstreamTrust): OpenUpstream {
  const pool = new Http2Pool(trust);
  const openOne = (upstream: Upstream, preface: Uint8Array): Duplex =>
    usesHttp2(upstream) ? new Http2Upstream(pool.for(upstream, preface)) : openSocket(upstream, trust, preface);
  return (to, preface) => {
    const routes = to.routes ?? (needsRoutes(to) ? [to] : null);
    return routes === null ? openOne(to.upstream, preface) : new RoutedUpstream(routes, (upstream) => openOne(upstream, preface));
  };
}
