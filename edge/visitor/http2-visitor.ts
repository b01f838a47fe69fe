// One visitor's HTTP/2 connection: each of its streams is one request on an HTTP/1.1 upstream connection.
// Upstream connections are kept for later requests of this visitor alone.

import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { atTurnEnd } from '@underpass/wire/socket/turn-end.ts';
import { fieldOf } from '../core/http2-fields.ts';
import { OverheadBucket, streamWindowBytes } from '../core/http2-overhead.ts';
import type { Endpoints } from '../core/proxy-protocol.ts';
import type { Deadline } from '../limits/deadlines.ts';
import type { TunnelState, Visitor } from '../routes/tunnel-state.ts';
import type { VisitPolicy } from '../routes/visit-policy.ts';
import type { ResponseOwner, UpstreamHttp } from '../upstream/upstream-http.ts';
import { Admission } from './admission.ts';
import { type ExchangeConnection, Http2Exchange } from './http2-exchange.ts';
import { UploadWindows } from './upload-windows.ts';
import type { VisitorContext } from './visitor-context.ts';

/** Requests of one connection that may run at once, each with an upstream connection of its own. */
export const maxStreams = 100;
/** Idle upstream connections that are kept; a page rarely loads more at once. */
const maxKept = 16;
/** Time for the visitor to finish after GOAWAY. */
const goawayMs = 10_000;
/** How often the visitor's overhead is checked. */
const overheadEveryMs = 500;

interface Arrived {
  readonly socket: TLSSocket;
  readonly ends: Endpoints;
  readonly host: string;
  readonly tunnel: TunnelState | null;
}

export class Http2Visitor implements ExchangeConnection, Visitor, Deadline {
  readonly address: string;
  readonly host: string;
  deadlineMs: number;
  readonly context: VisitorContext;
  readonly tunnel: TunnelState | null;
  readonly uploads: UploadWindows;
  readonly admission: Admission;
  readonly #session: ServerHttp2Session;
  readonly #socket: TLSSocket;
  readonly #ends: Endpoints;
  readonly #overheadCheck: Deadline;
  headBytes = 0;
  bodyBytes = 0;
  sentBytes = 0;
  #requests = 0;
  #begunInTurn = 0;
  readonly #endTurn = (): void => {
    this.#begunInTurn = 0;
  };
  #kept: UpstreamHttp[] = [];
  readonly #open = new Map<ServerHttp2Stream, Http2Exchange>();
  /** GOAWAY is sent: no further request is taken. */
  #closing = false;
  /** The visitor broke a rule: the session ends with this turn. */
  #failed = false;
  readonly #destroy: ServerHttp2Session['destroy'];

  constructor(context: VisitorContext, session: ServerHttp2Session, { socket, ends, host, tunnel }: Arrived) {
    this.context = context;
    this.#session = session;
    this.uploads = new UploadWindows(session, context.uploadBudget);
    this.#socket = socket;
    this.#ends = ends;
    this.address = ends.sourceAddress;
    this.host = host;
    this.tunnel = tunnel;
    this.admission = new Admission(context, tunnel, this.address, '2.0');
    this.deadlineMs = context.deadlines.nowMs + context.timeouts.keepAliveMs;
    context.deadlines.watch(this);
    this.#destroy = this.#createDestroy();
    this.#sendGoawayOnError();
    this.#overheadCheck = this.#createOverheadCheck();
    context.deadlines.watch(this.#overheadCheck);
    (tunnel?.visitors ?? context.strangers).add(this);
    session.on('stream', (stream, _headers, flags, rawHeaders) => this.#began(stream, flags, rawHeaders));
    session.on('error', () => {});
    session.on('close', () => this.#finish());
  }

  /**
   * Node (26.10) loops for ever when it destroys a session in which one stream has ended its answer without sending it and
   * another has something to send: it forgets the first stream before it resets it, and keeps asking it for data. So the
   * connection is destroyed first, and all streams are reset before any is forgotten.
   */
  #createDestroy(): ServerHttp2Session['destroy'] {
    const session = this.#session;
    const destroy = session.destroy.bind(session);
    return (error, code) => {
      if (session.destroyed) return;
      // Without open streams Node sends what waits and its GOAWAY, so the connection stays.
      if (this.#open.size > 0) this.#socket.destroy();
      this.#resetAll();
      destroy(error, code);
    };
  }

  /**
   * Node calls `destroy` of the session when the visitor breaks a rule. RFC 9113 5.4.1: GOAWAY comes first, a turn before the
   * end. The streams live until then: Node is still reading, and aborts the process for some that are reset here
   * (http2-exchange.ts, #keepUntilReset).
   */
  #sendGoawayOnError(): void {
    const session = this.#session;
    session.destroy = (error, code) => {
      if (this.#failed) return;
      if (error === undefined || this.#open.size === 0 || this.#socket.destroyed) {
        this.#destroy(error, code);
        return;
      }
      this.#failed = true;
      session.goaway(code ?? constants.NGHTTP2_PROTOCOL_ERROR);
      setImmediate(() => this.#destroy(error, code));
    };
  }

  #resetAll(): void {
    for (const stream of this.#open.keys()) if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
  }

  /** Ends a visitor that sends more overhead than it may (core/http2-overhead.ts). */
  #createOverheadCheck(): Deadline {
    const { deadlines } = this.context;
    const bucket = new OverheadBucket();
    const check = {
      deadlineMs: deadlines.nowMs + overheadEveryMs,
      onDeadline: () => {
        check.deadlineMs = deadlines.nowMs + overheadEveryMs;
        const { headBytes, bodyBytes, sentBytes } = this;
        const traffic = { receivedBytes: this.#socket.bytesRead, headBytes, bodyBytes, sentBytes, requests: this.#requests };
        const waitingBytes = this.#open.size * streamWindowBytes + this.uploads.mostExtraBytes;
        if (!bucket.take(traffic, overheadEveryMs / 1_000, waitingBytes)) this.#endForOverhead();
      },
    };
    return check;
  }

  #endForOverhead(): void {
    this.#destroy(new Error('too much overhead'), constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  #began(stream: ServerHttp2Stream, flags: number, rawHeaders: readonly string[]): void {
    if (this.#resetsInTurn()) {
      stream.on('error', () => {});
      this.#endForOverhead();
      return;
    }
    if (this.#failed) {
      stream.on('error', () => {}).close(constants.NGHTTP2_REFUSED_STREAM);
      return;
    }
    // END_STREAM on HEADERS: there is no body (RFC 9113 8.1).
    const bodied = (flags & 1) === 0;
    const length = fieldOf(rawHeaders, 'content-length');
    if (
      (bodied && !this.uploads.makeRoom(length === undefined ? undefined : Number(length))) ||
      (this.#open.size > 0 && !this.context.limiter.admitExtraRequest(this.address))
    ) {
      // RFC 9113 8.7: nothing of the request was processed, so the visitor may repeat it.
      stream.on('error', () => {}).close(constants.NGHTTP2_REFUSED_STREAM);
      return;
    }
    const exchange = new Http2Exchange(this, stream);
    this.#open.set(stream, exchange);
    this.#requests++;
    this.deadlineMs = Number.POSITIVE_INFINITY;
    stream.once('close', () => this.#ended(stream));
    if (this.context.draining) this.#sendGoaway();
    exchange.begin(rawHeaders, bodied);
  }

  /**
   * True once more requests begin in one turn of the event loop than may run at once: the visitor resets them in the same
   * write. Node counts resets too, but stops only after it has read all that has arrived, which may be thousands of requests.
   */
  #resetsInTurn(): boolean {
    if (this.#begunInTurn === 0) atTurnEnd(this.#endTurn);
    return ++this.#begunInTurn > maxStreams;
  }

  #ended(stream: ServerHttp2Stream): void {
    this.#open.delete(stream);
    if (this.#open.size > 0) {
      this.context.limiter.releaseExtraRequest(this.address);
      return;
    }
    this.deadlineMs = this.context.deadlines.nowMs + (this.#closing ? goawayMs : this.context.timeouts.keepAliveMs);
  }

  takeUpstream(host: string, owner: ResponseOwner, again: boolean): UpstreamHttp {
    this.#dropUnusable();
    const kept = this.#kept.findLast((upstream) => upstream.link.request.host === host && upstream.reusable(again));
    if (kept === undefined) return this.openUpstream(host, owner);
    this.#kept.splice(this.#kept.indexOf(kept), 1);
    kept.owner = owner;
    return kept;
  }

  openUpstream(host: string, owner: ResponseOwner): UpstreamHttp {
    return this.context.upstreams.openHttp(this.tunnel as TunnelState, host, this.#ends, owner);
  }

  #dropUnusable(): void {
    const isUsable = (upstream: UpstreamHttp): boolean => upstream.reusable(true);
    for (const upstream of this.#kept) if (!isUsable(upstream)) this.context.upstreams.release(upstream);
    this.#kept = this.#kept.filter(isUsable);
  }

  giveBack(upstream: UpstreamHttp): void {
    if (upstream.reusable(true) && this.#kept.length < maxKept && !this.#session.destroyed) this.#kept.push(upstream);
    else this.context.upstreams.release(upstream);
  }

  #sendGoaway(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#session.close();
  }

  onDeadline(): void {
    if (this.#closing) this.cut();
    else {
      this.#sendGoaway();
      this.deadlineMs = this.context.deadlines.nowMs + goawayMs;
    }
  }

  drain(): void {
    this.#sendGoaway();
  }

  endOtherHosts(stays: (host: string) => boolean): void {
    for (const exchange of this.#open.values()) exchange.endOtherHosts(stays);
  }

  endUnadmitted(policy: VisitPolicy, nowMs: number): void {
    for (const exchange of this.#open.values()) exchange.endUnadmitted(policy, nowMs);
  }

  cut(): void {
    this.#destroy();
    this.#finish();
  }

  #finish(): void {
    this.context.deadlines.forget(this);
    this.context.deadlines.forget(this.#overheadCheck);
    (this.tunnel?.visitors ?? this.context.strangers).delete(this);
    for (const upstream of this.#kept) this.context.upstreams.release(upstream);
    this.#kept = [];
  }
}
