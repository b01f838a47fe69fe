// Opens a connection to any upstream of an http tunnel on which HTTP/1.1 is spoken. Loaded only for tunnels that need it.

import type { Duplex } from 'node:stream';
import { type Upstream, usesHttp2 } from '@underpass/rules/tunnel/upstream.ts';
import { Http2Pool } from './http2-pool.ts';
import { Http2Upstream } from './http2-upstream.ts';
import { openSocket, type UpstreamTrust } from './upstream-socket.ts';

/** Emits `connect`, or `secureConnect` if it is a socket with TLS. */
export type OpenUpstream = (upstream: Upstream, preface: Uint8Array) => Duplex;

export function createOpenUpstream(trust: UpstreamTrust): OpenUpstream {
  const pool = new Http2Pool(trust);
  return (upstream, preface) =>
    usesHttp2(upstream) ? new Http2Upstream(pool.for(upstream, preface)) : openSocket(upstream, trust, preface);
}
