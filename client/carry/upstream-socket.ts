// Opens a socket to an upstream: TCP, and TLS on it for https.

import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Upstream } from '@underpass/rules/tunnel/upstream.ts';
import { adaptControl, connectNear } from '@underpass/wire/tcp-path.ts';
import { lookUpForSocket, serverNameOf } from './lookup.ts';

export interface UpstreamTrust {
  /** PEM; undefined means the system's CAs. */
  readonly caPem: string | undefined;
  readonly insecure: boolean;
}

/** The socket buffers what is written before it connects: at most one first window. */
export function openSocket({ scheme, host, port }: Upstream, trust: UpstreamTrust, preface: Uint8Array): Socket {
  const tcp = connectNear({ host, port, lookup: lookUpForSocket, allowHalfOpen: true, noDelay: true });
  tcp.once('connect', () => adaptControl(tcp));
  if (preface.length > 0) tcp.write(preface);
  if (scheme !== 'https') return tcp;
  const tls = connectTls({
    socket: tcp,
    host,
    ...serverNameOf(host),
    ...(trust.caPem === undefined ? {} : { ca: trust.caPem }),
    rejectUnauthorized: !trust.insecure,
    ALPNProtocols: ['http/1.1'],
  });
  tls.allowHalfOpen = true;
  return tls;
}
