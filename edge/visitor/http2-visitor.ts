// One visitor's HTTP/2 connection: each of its streams is one request on an HTTP/1.1 upstream connection.
// Upstream connections are kept for the same visitor's next request and for nobody else's.

import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { hostOf } from '../core/authority.ts';
import { renderIdentity } from '../core/forwarded-head.ts';
import { OverheadBucket, streamWindowBytes } from '../core/http2-overhead.ts';
import type { Endpoints } from '../core/proxy-protocol.ts';
import type { VisitorError } from '../core/visitor-error.ts';
import type { Deadline } from '../limits/deadlines.ts';
import type { TunnelState, Visitor } from '../routes/tunnel-state.ts';
import type { ResponseOwner, UpstreamHttp } from '../upstream/upstream-http.ts';
import { type ExchangeConnection, Http2Exchange } from './http2-exchange.ts';
import { UploadWindows } from './upload-windows.ts';
import type { VisitorContext } from './visitor-context.ts';

/** Upstream connections kept idle; a page rarely loads more at once. */
const maxIdle = 16;
/** After GOAWAY the visitor has this long to finish. */
const goodbyeMs = 10_000;
/** How often what came is weighed against what it was for. */
const weighEveryMs = 500;

interface Arrived {
  readonly socket: TLSSocket;
  readonly ends: Endpoints;
  readonly host: string;
  readonly tunnel: TunnelState | null;
}

interface Kept {
  readonly host: string;
  readonly upstream: UpstreamHttp;
}

export class Http2Visitor implements ExchangeConnection, Visitor, Deadline {
  readonly address: string;
  readonly host: string;
  deadlineMs: number;
  readonly context: VisitorContext;
  readonly tunnel: TunnelState | null;
  readonly uploads: UploadWindows;
  readonly #session: ServerHttp2Session;
  readonly #socket: TLSSocket;
  readonly #ends: Endpoints;
  readonly #scales: Deadline;
  bodyBytes = 0;
  sentBytes = 0;
  #requests = 0;
  #idle: Kept[] = [];
  readonly #open = new Map<ServerHttp2Stream, Http2Exchange>();
  #closing = false;
  #authority = '';
  #identity: Buffer = Buffer.alloc(0);

  constructor(context: VisitorContext, session: ServerHttp2Session, { socket, ends, host, tunnel }: Arrived) {
    this.context = context;
    this.#session = session;
    this.uploads = new UploadWindows(session, context.uploadBudget);
    this.#socket = socket;
    this.#ends = ends;
    this.address = ends.sourceAddress;
    this.host = host;
    this.tunnel = tunnel;
    this.deadlineMs = context.deadlines.nowMs + context.timeouts.keepAliveMs;
    context.deadlines.watch(this);
    this.#destroySafely();
    this.#scales = this.#weigh();
    context.deadlines.watch(this.#scales);
    tunnel?.visitors.add(this);
    session.on('stream', (stream, _headers, flags, rawHeaders) => this.#began(stream, flags, rawHeaders));
    session.on('error', () => {});
    session.on('close', () => this.#finish());
  }

  /**
   * Node (26.10) does not come back from destroying a session, not even one that the visitor's own errors end, where one
   * stream has ended its answer and not sent it and another has anything to send: the first is forgotten before it is
   * reset, and asked for its data without end. Hence the connection goes first, and all streams are reset before any is
   * forgotten. Both of Node's ways to the end of a session come through this property.
   */
  #destroySafely(): void {
    const session = this.#session;
    const destroy = session.destroy.bind(session);
    session.destroy = (error, code) => {
      if (session.destroyed) return;
      // Without streams Node sends what waits, and its goodbye.
      if (this.#open.size > 0) this.#socket.destroy();
      for (const stream of this.#open.keys()) if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
      destroy(error, code);
    };
  }

  /** Ends a visitor that sends what is of no use to anybody (core/http2-overhead.ts). */
  #weigh(): Deadline {
    const { deadlines } = this.context;
    const bucket = new OverheadBucket();
    const scales = {
      deadlineMs: deadlines.nowMs + weighEveryMs,
      onDeadline: () => {
        scales.deadlineMs = deadlines.nowMs + weighEveryMs;
        const { bodyBytes, sentBytes } = this;
        const traffic = { receivedBytes: this.#socket.bytesRead, bodyBytes, sentBytes, requests: this.#requests };
        const waitingBytes = this.#open.size * streamWindowBytes + this.uploads.mostExtraBytes;
        if (!bucket.take(traffic, weighEveryMs / 1_000, waitingBytes)) this.#end();
      },
    };
    return scales;
  }

  #end(): void {
    this.#session.destroy(new Error('more overhead than use'), constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  #began(stream: ServerHttp2Stream, flags: number, rawHeaders: readonly string[]): void {
    // END_STREAM on HEADERS: there is no body (RFC 9113 8.1).
    const bodied = (flags & 1) === 0;
    if (
      (bodied && !this.uploads.makeRoom(bodyBytesOf(rawHeaders))) ||
      (this.#open.size > 0 && !this.context.limiter.admitExtraRequest(this.address))
    ) {
      // Nothing of it was done: the visitor may ask again (RFC 9113 8.7).
      stream.on('error', () => {}).close(constants.NGHTTP2_REFUSED_STREAM);
      return;
    }
    const exchange = new Http2Exchange(this, stream);
    this.#open.set(stream, exchange);
    this.#requests++;
    this.deadlineMs = Number.POSITIVE_INFINITY;
    stream.once('close', () => this.#ended(stream));
    if (this.context.draining) this.#sayGoodbye();
    exchange.begin(rawHeaders, bodied);
  }

  #ended(stream: ServerHttp2Stream): void {
    this.#open.delete(stream);
    if (this.#open.size > 0) {
      this.context.limiter.releaseExtraRequest(this.address);
      return;
    }
    this.deadlineMs = this.context.deadlines.nowMs + (this.#closing ? goodbyeMs : this.context.timeouts.keepAliveMs);
  }

  admit(authority: string): VisitorError | null {
    return this.context.table.refusal(hostOf(authority), this.tunnel, this.address);
  }

  identityFor(authority: string): Buffer {
    if (authority !== this.#authority) {
      this.#authority = authority;
      const identity = { address: this.address, proto: 'https', authority, version: '2.0' } as const;
      this.#identity = Buffer.from(renderIdentity(identity), 'latin1');
    }
    return this.#identity;
  }

  takeUpstream(host: string, owner: ResponseOwner): UpstreamHttp {
    this.#dropUnusable();
    const kept = this.#idle.findLast((idle) => idle.host === host);
    if (kept === undefined) return this.context.upstreams.openHttp(this.tunnel as TunnelState, host, this.#ends, owner);
    this.#idle.splice(this.#idle.indexOf(kept), 1);
    kept.upstream.owner = owner;
    return kept.upstream;
  }

  #dropUnusable(): void {
    const isUsable = ({ upstream }: Kept): boolean => upstream.reusable(this.context.deadlines.nowMs);
    for (const kept of this.#idle) if (!isUsable(kept)) this.context.upstreams.release(kept.upstream);
    this.#idle = this.#idle.filter(isUsable);
  }

  giveBack(host: string, upstream: UpstreamHttp): void {
    if (upstream.reusable(this.context.deadlines.nowMs) && this.#idle.length < maxIdle && !this.#session.destroyed)
      this.#idle.push({ host, upstream });
    else this.context.upstreams.release(upstream);
  }

  #sayGoodbye(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#session.close();
  }

  onDeadline(): void {
    if (this.#closing) this.cut();
    else {
      this.#sayGoodbye();
      this.deadlineMs = this.context.deadlines.nowMs + goodbyeMs;
    }
  }

  drain(): void {
    this.#sayGoodbye();
  }

  endOtherHosts(hosts: readonly string[]): void {
    for (const exchange of this.#open.values()) exchange.endOtherHosts(hosts);
  }

  cut(): void {
    this.#session.destroy();
    this.#finish();
  }

  #finish(): void {
    this.context.deadlines.forget(this);
    this.context.deadlines.forget(this.#scales);
    this.tunnel?.visitors.delete(this);
    for (const { upstream } of this.#idle) this.context.upstreams.release(upstream);
    this.#idle = [];
  }
}

/** What a request says of its body. */
function bodyBytesOf(rawHeaders: readonly string[]): number | undefined {
  const at = rawHeaders.findIndex((text, index) => index % 2 === 0 && text === 'content-length');
  return at < 0 ? undefined : Number(rawHeaders[at + 1]);
}
