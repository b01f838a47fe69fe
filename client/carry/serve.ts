// Serves a visitor's stream: finds the upstream that the user configured for it, dials it, and joins the two.

import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { formatUpstream, type Upstream } from '@underpass/rules/upstream.ts';
import type { Stream } from '@underpass/wire/api.ts';
import type { ResetCode } from '@underpass/wire/core/code.ts';
import { relaySocket } from '@underpass/wire/relay.ts';
import { lookUpForSocket, serverNameOf } from './lookup.ts';
import type { Problem, ProblemCode } from './problem.ts';
import type { FindUpstream } from './upstream-map.ts';

export interface UpstreamTrust {
  /** PEM; undefined means the system's CAs. */
  readonly caPem: string | undefined;
  readonly insecure: boolean;
}

export interface ServeOptions {
  readonly find: FindUpstream;
  readonly trust: UpstreamTrust;
  readonly connectTimeoutMs?: number;
  /** The upstream accepted a connection. */
  readonly onServed: (upstream: Upstream) => void;
  readonly onFailed: (host: string, upstream: Upstream | null, problem: Problem) => void;
}

/** Shorter than the timeouts of gateways between a visitor and the edge. */
const connectTimeoutMs = 10_000;

export function compileServe(options: ServeOptions): (stream: Stream) => void {
  return (stream) => {
    const upstream = options.find(stream.request);
    if (upstream !== null) serveFrom(stream, upstream, options);
    else {
      const { host, kind } = stream.request;
      options.onFailed(host, null, { code: 'no-upstream', detail: kind === 'http' ? host : `${host}, ${kind}` });
      stream.reset('no-upstream');
    }
  };
}

function serveFrom(stream: Stream, upstream: Upstream, options: ServeOptions): void {
  const socket = openSocket(upstream, options.trust, stream.request.preface);
  const fail = (code: ResetCode & ProblemCode, detail: string): void => {
    if (stream.opened || stream.closed) return;
    options.onFailed(stream.request.host, upstream, { code, detail: `${formatUpstream(upstream)}${detail}` });
    stream.reset(code);
    socket.destroy();
  };
  const timer = setTimeout(() => fail('upstream-timeout', ''), options.connectTimeoutMs ?? connectTimeoutMs);
  socket.once(upstream.scheme === 'https' ? 'secureConnect' : 'connect', () => {
    clearTimeout(timer);
    if (stream.closed) return;
    stream.accept();
    options.onServed(upstream);
  });
  // Added before the relay's listener, which does not report the reason.
  socket.once('error', (error: NodeJS.ErrnoException) =>
    fail(decideFailure(error), error.code === undefined ? '' : ` (${error.code})`),
  );
  socket.once('close', () => clearTimeout(timer));
  relaySocket(stream, socket, 'upstream-reset');
}

/** The socket buffers what is written before it connects: at most one first window. */
function openSocket({ scheme, host, port }: Upstream, trust: UpstreamTrust, preface: Uint8Array): Socket {
  const tcp = connectTcp({ host, port, lookup: lookUpForSocket, allowHalfOpen: true, noDelay: true });
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

const failures: Readonly<Record<string, ResetCode & ProblemCode>> = {
  ECONNREFUSED: 'upstream-refused',
  ENOTFOUND: 'upstream-unresolved',
  EAI_AGAIN: 'upstream-unresolved',
  ETIMEDOUT: 'upstream-timeout',
};

/** Maps a system error to a protocol code. TLS errors have their own codes, and EPROTO if data was waiting to be written. */
export function decideFailure({ code = '' }: NodeJS.ErrnoException): ResetCode & ProblemCode {
  if (/^(ERR_(SSL|TLS)|EPROTO$)|CERT|ISSUER|SIGNATURE/.test(code)) return 'upstream-tls';
  return failures[code] ?? 'upstream-unreachable';
}
