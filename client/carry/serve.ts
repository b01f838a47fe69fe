// Serves a visitor's stream: finds the upstream that the user configured for it, dials it, and joins the two.

import type { Socket } from 'node:net';
import { formatUpstream, type Upstream } from '@underpass/rules/tunnel/upstream.ts';
import type { Stream } from '@underpass/wire/api.ts';
import type { SessionClock } from '@underpass/wire/clock.ts';
import type { ResetCode } from '@underpass/wire/core/code.ts';
import { type RelayedStream, relaySocket, type TakeFirst } from '@underpass/wire/relay.ts';
import type { OnDialled, OpenInside } from './api.ts';
import type { OpenUpstream } from './open-upstream.ts';
import type { Problem, ProblemCode } from './problem.ts';
import { type OpenTap, tapStream } from './tap.ts';
import { createTlsCheck, judgeFirst, type TlsCheck } from './tls-check.ts';
import type { FindUpstream, OfferedUpstream } from './upstream-map.ts';
import { connectTimeoutMs, notHttp2Code, openSocket, type UpstreamTrust } from './upstream-socket.ts';

export interface ServeOptions {
  readonly find: FindUpstream;
  /** The stream with edited heads, for an upstream that has a Host of its own. */
  readonly edit?: (stream: Stream, upstream: OfferedUpstream) => RelayedStream;
  readonly trust: UpstreamTrust;
  /** Opens upstreams that get HTTP/2, and all others; missing if there is none of them. */
  readonly open?: OpenUpstream;
  readonly clock: Pick<SessionClock, 'now'>;
  readonly onDialled?: OnDialled | undefined;
  readonly openInside?: OpenInside | undefined;
  /** The upstream accepted a connection. */
  readonly onServed: (upstream: Upstream) => void;
  readonly onFailed: (host: string, upstream: Upstream | null, problem: Problem) => void;
  /** The upstream ended without a byte. The stream may live on while a check for TLS runs. */
  readonly onSilentEnd?: () => void;
  /** The inspector's; missing without one. */
  readonly openTap?: OpenTap | undefined;
}

const noPreface = new Uint8Array(0);

export function compileServe(options: ServeOptions): (stream: Stream) => void {
  const tlsCheck = createTlsCheck(options.clock);
  return (stream) => {
    const found = options.find(stream.request);
    if (found !== null) serveTapped(stream, found, options, tlsCheck);
    else {
      const { host, kind } = stream.request;
      options.onFailed(host, null, { code: 'no-upstream', detail: kind === 'http' ? host : `${host}, ${kind}` });
      stream.reset('no-upstream');
    }
  };
}

function serveTapped(stream: Stream, found: OfferedUpstream, options: ServeOptions, tlsCheck: TlsCheck): void {
  const tap = options.openTap?.(stream.request, found) ?? null;
  if (tap === null) {
    serveFrom(stream, found, options, tlsCheck);
    return;
  }
  const told: ServeOptions = {
    ...options,
    onServed: (to) => {
      tap.connected();
      options.onServed(to);
    },
    onFailed: (host, to, problem) => {
      tap.failed(problem);
      options.onFailed(host, to, problem);
    },
    onSilentEnd: () => tap.txEnd(),
  };
  serveFrom(stream, found, told, tlsCheck);
  tapStream(stream, tap);
}

function serveFrom(stream: Stream, found: OfferedUpstream, options: ServeOptions, tlsCheck: TlsCheck): void {
  if (options.openInside !== undefined) serveInside(stream, found, options, options.openInside);
  else serveDialled(stream, found, options, tlsCheck);
}

/** Writes no PROXY header: the upstream gets the visitor's address with the connection. */
function serveInside(stream: Stream, found: OfferedUpstream, options: ServeOptions, open: OpenInside): void {
  const inside = open(stream.request);
  stream.accept();
  options.onServed(found.upstream);
  relaySocket(options.edit?.(stream, found) ?? stream, inside);
  reportBadAnswer(stream, found.upstream, options);
}

function serveDialled(stream: Stream, found: OfferedUpstream, options: ServeOptions, tlsCheck: TlsCheck): void {
  const { upstream } = found;
  const preface = options.onDialled === undefined ? stream.request.preface : noPreface;
  const socket = options.open?.(found, preface) ?? openSocket(upstream, options.trust, preface);
  // `failed`: one of several upstreams, which the stream may ask after it was opened for another.
  const fail = (code: FailureCode, detail: string, failed?: Upstream): void => {
    if (stream.closed || (stream.opened && failed === undefined)) return;
    const named = failed ?? upstream;
    options.onFailed(stream.request.host, named, { code, detail: `${formatUpstream(named)}${detail}` });
    // The relay resets it.
    if (stream.opened) return;
    stream.reset(code === 'upstream-not-http2' ? 'protocol' : code);
    socket.destroy();
  };
  const timer = setTimeout(() => fail('upstream-timeout', ''), connectTimeoutMs);
  const routed = found.routes !== undefined;
  // One that goes by paths tells which upstream accepts; null: it refuses the request itself.
  socket.on(upstream.scheme === 'https' && !routed ? 'secureConnect' : 'connect', (served: Upstream | null = upstream) => {
    clearTimeout(timer);
    if (stream.closed) return;
    if (!stream.opened) {
      options.onDialled?.(stream.request, socket as Socket);
      stream.accept();
    }
    if (served !== null) options.onServed(served);
  });
  // Added before the relay's listener, which does not report the reason.
  socket.once('error', (error: NodeJS.ErrnoException & { readonly upstream?: Upstream }) =>
    fail(decideFailure(error), error.code === undefined ? '' : ` (${error.code})`, error.upstream),
  );
  socket.once('close', () => clearTimeout(timer));
  const relayed = routed ? stream : (options.edit?.(stream, found) ?? stream);
  relaySocket(relayed, socket, routed ? undefined : takeTlsAnswer(stream, upstream, options, tlsCheck));
  reportBadAnswer(stream, upstream, options);
}

/** The edge resets a stream with `protocol` when it cannot read the upstream's answer. */
function reportBadAnswer(stream: Stream, upstream: Upstream, options: ServeOptions): void {
  const { onReset } = stream;
  stream.onReset = (code) => {
    const problem = { code: 'upstream-not-http', detail: formatUpstream(upstream) } as const;
    if (code === 'protocol') options.onFailed(stream.request.host, upstream, problem);
    onReset(code);
  };
}

/** Takes a stream over if the first answer of its http upstream shows that the upstream speaks TLS, or may do so. */
function takeTlsAnswer(stream: Stream, upstream: Upstream, options: ServeOptions, tlsCheck: TlsCheck): TakeFirst | undefined {
  if (upstream.scheme !== 'http') return undefined;
  const { host, preface } = stream.request;
  const settle = (speaksTls: boolean, wasSilent: boolean): void => {
    const code = 'upstream-speaks-tls';
    if (speaksTls) options.onFailed(host, upstream, { code, detail: formatUpstream(upstream) });
    if (wasSilent && !stream.closed) stream.reset(speaksTls ? code : 'upstream-reset');
  };
  return (first) => {
    if (!stream.opened || stream.closed) return false;
    if (first === null) options.onSilentEnd?.();
    const judged = judgeFirst(first);
    if (judged === 'plain') tlsCheck.markPlain(upstream);
    if (judged === 'plain' || (judged === 'unclear' && tlsCheck.isPlain(upstream))) return false;
    if (judged === 'tls') settle(true, true);
    else void tlsCheck.speaksTls(upstream, preface).then((speaksTls) => settle(speaksTls, first === null));
    return judged === 'tls' || first === null;
  };
}

/** An edge knows all of these but `upstream-not-http2`, which it takes for an answer that is no HTTP. */
type FailureCode = (ResetCode & ProblemCode) | 'upstream-not-http2';

const failures: Readonly<Record<string, FailureCode>> = {
  [notHttp2Code]: 'upstream-not-http2',
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: 'upstream-not-http2',
  ECONNREFUSED: 'upstream-refused',
  // There is no such socket file.
  ENOENT: 'upstream-refused',
  ENOTFOUND: 'upstream-unresolved',
  EAI_AGAIN: 'upstream-unresolved',
  ETIMEDOUT: 'upstream-timeout',
};

/** Maps a system error to a protocol code. A TLS error has a code of its own, or EPROTO if data was waiting to be written. */
export function decideFailure({ code = '' }: NodeJS.ErrnoException): FailureCode {
  const known = failures[code];
  if (known !== undefined) return known;
  return /^(ERR_(SSL|TLS)|EPROTO$)|CERT|ISSUER|SIGNATURE/.test(code) ? 'upstream-tls' : 'upstream-unreachable';
}
