// Opens a socket to an upstream: TCP or a Unix socket, and TLS on it if its scheme says so.

import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type Upstream, usesHttp2, usesTls } from '@underpass/rules/tunnel/upstream.ts';
import { adaptControl, connectNear } from '@underpass/wire/path/tcp-path.ts';
import { lookUpForSocket, serverNameOf } from './lookup.ts';

export interface UpstreamTrust {
  /** PEM; undefined means the system's CAs. */
  readonly caPem: string | undefined;
  readonly insecure: boolean;
}

/** Shorter than the timeouts of gateways between a visitor and the edge. */
export const connectTimeoutMs = 10_000;

/** The code of an error: the upstream accepts connections and does not speak HTTP/2. */
export const notHttp2Code = 'ERR_UPSTREAM_NOT_HTTP2';

/** The socket buffers what is written before it connects: at most one first window. */
export function openSocket(upstream: Upstream, trust: UpstreamTrust, preface: Uint8Array): Socket {
  const { host, port, socket: path } = upstream;
  // HTTP/2 has no half-closed connections.
  const allowHalfOpen = !usesHttp2(upstream);
  const tcp =
    path === undefined
      ? connectNear({ host, port, lookup: lookUpForSocket, allowHalfOpen, noDelay: true })
      : connect({ path, allowHalfOpen });
  if (path === undefined) tcp.once('connect', () => adaptControl(tcp));
  if (preface.length > 0) tcp.write(preface);
  if (!usesTls(upstream)) return tcp;
  const tls = connectTls({
    socket: tcp,
    host,
    ...serverNameOf(host),
    ...(trust.caPem === undefined ? {} : { ca: trust.caPem }),
    rejectUnauthorized: !trust.insecure,
    ALPNProtocols: usesHttp2(upstream) ? ['h2'] : ['http/1.1'],
  });
  tls.allowHalfOpen = allowHalfOpen;
  return tls;
}
