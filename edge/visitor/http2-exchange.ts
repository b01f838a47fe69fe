// One request of an HTTP/2 visitor and its response.

import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { ResetCode } from '@underpass/wire/core/code.ts';
import type { BodySink } from '@underpass/wire/http/body-scan.ts';
import { frameChunk, renderLastChunk } from '@underpass/wire/http/chunk.ts';
import { RequestHead } from '@underpass/wire/http/request-head.ts';
import type { ResponseHead } from '@underpass/wire/http/response-head.ts';
import { SocketWriter } from '@underpass/wire/socket/socket-writer.ts';
import { buildRequest } from '../core/forwarded-head.ts';
import { type GrpcType, grpcAnswer, grpcTypeOf } from '../core/grpc-answer.ts';
import { fieldOf, renderHttp1Head, responseFields } from '../core/http2-fields.ts';
import { answerOfError, answerOfRefusedHead, lengthFields, type OwnAnswer } from '../core/own-answer.ts';
import { errorOfFailure, retryOn, type UpstreamFailure, type VisitorError } from '../core/visitor-error.ts';
import type { Deadline } from '../limits/deadlines.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import type { Pass, VisitPolicy } from '../routes/visit-policy.ts';
import type { ResponseOwner, UpstreamHttp } from '../upstream/upstream-http.ts';
import type { Admission } from './admission.ts';
import type { SeenRequest } from './seen-request.ts';
import type { Upload, UploadWindows } from './upload-windows.ts';
import type { VisitorContext } from './visitor-context.ts';

/** The connection of a request, and what all its requests share. */
export interface ExchangeConnection {
  readonly context: VisitorContext;
  readonly tunnel: TunnelState | null;
  readonly uploads: UploadWindows;
  /** Bytes of requests: their heads as HTTP/1.1, and their payload. */
  headBytes: number;
  bodyBytes: number;
  /** Payload of responses. */
  sentBytes: number;
  readonly admission: Admission;
  /** The host by which the connection was routed. */
  readonly host: string;
  /** A kept connection if there is one. `again`: the request may be repeated if the upstream closes at that moment. */
  takeUpstream(host: string, owner: ResponseOwner, again: boolean): UpstreamHttp;
  openUpstream(host: string, owner: ResponseOwner): UpstreamHttp;
  giveBack(upstream: UpstreamHttp): void;
  /** Takes no further requests. */
  drain(): void;
  /** Ends the connection. */
  cut(): void;
}

/**
 * body ──▶ waiting ──▶ answer ──▶ over
 *  └▶ early answer ─────┘ └▶ reset ─┘
 *
 * As for HTTP/1.1 (http1-phase.ts): `body` and `early answer` still read the request, `early answer` and `answer` have begun
 * the response. A stream that breaks off goes to `reset` from any phase, and waits there until Node has closed it. In `over` it is
 * closed.
 */
type Http2Phase = 'body' | 'waiting' | 'early answer' | 'answer' | 'reset' | 'over';

/** Time for the end of an early response to leave, if it can. */
const endMs = 20;

export class Http2Exchange implements ResponseOwner, BodySink, Deadline {
  deadlineMs: number;
  readonly #visitor: ExchangeConnection;
  readonly #stream: ServerHttp2Stream;
  readonly #writer: SocketWriter;
  #head = new RequestHead();
  /** Empty if the request was refused. */
  #host = '';
  #pass: Pass | null = null;
  /** Set if the visitor calls by gRPC. */
  #grpc: GrpcType | null = null;
  #upstream: UpstreamHttp | null = null;
  readonly #startMs: number = performance.now();
  /** Null if no log wants this request. */
  #seen: SeenRequest | null = null;
  #upload: Upload | null = null;
  #phase: Http2Phase = 'body';
  /** The deadline is that of a visitor that reads nothing, not that of an upstream that sends nothing. */
  #watchesStall = false;
  /** Payload in the last piece of the response: credit for the rest, its framing, is given back at once. */
  #payloadBytes = 0;
  #trailers: string[] = [];

  constructor(visitor: ExchangeConnection, stream: ServerHttp2Stream) {
    this.#visitor = visitor;
    this.#stream = stream;
    this.#writer = new SocketWriter(stream, (bytes) => this.#taken(bytes), { recycles: true });
    this.deadlineMs = this.#after('responseMs');
    visitor.context.deadlines.watch(this);
    stream.on('error', () => {});
    stream.once('close', () => this.#closed());
  }

  get #isRequestDone(): boolean {
    return this.#phase === 'waiting' || this.#phase === 'answer';
  }

  get #hasResponded(): boolean {
    return this.#phase === 'early answer' || this.#phase === 'answer';
  }

  #endRequest(): void {
    this.#phase = this.#hasResponded ? 'answer' : 'waiting';
  }

  #beginResponse(): void {
    this.#phase = this.#isRequestDone ? 'answer' : 'early answer';
  }

  #after(which: 'responseMs' | 'stallMs' | 'idleStreamMs'): number {
    const { deadlines, timeouts } = this.#visitor.context;
    return deadlines.nowMs + timeouts[which];
  }

  // The request.

  begin(rawHeaders: readonly string[], bodied: boolean): void {
    const text = renderHttp1Head(rawHeaders, bodied);
    if (bodied) this.#grpc = grpcTypeOf(fieldOf(rawHeaders, 'content-type') ?? '');
    if (text === null) {
      this.#seeUnread();
      this.#answer('UNDERPASS_BAD_REQUEST');
      return;
    }
    this.#visitor.headBytes += text.length;
    const bytes = Buffer.from(text, 'latin1');
    const end = this.#head.scan(bytes, 0, bytes.length);
    if (end !== bytes.length) {
      this.#seeUnread();
      this.#answerWith(answerOfRefusedHead(this.#head));
      return;
    }
    const { admission, context } = this.#visitor;
    const own = admission.decide(this.#head, bytes, end);
    this.#seen = context.requestLog.begin(admission, this.#head, bytes, end);
    if (own === null) this.#forward(bytes, end, bodied);
    else this.#answerWith(own);
  }

  #seeUnread(): void {
    const { admission, context, host } = this.#visitor;
    this.#seen = context.requestLog.beginUnread(admission, host);
  }

  #forward(bytes: Buffer, end: number, bodied: boolean): void {
    const head = this.#head;
    this.#visitor.tunnel!.requests++;
    const { host, identity, visitor, pass } = this.#visitor.admission;
    this.#host = host;
    this.#pass = pass;
    const request = buildRequest(head, bytes, end, identity, false, visitor);
    const again = !bodied && head.method !== 'other';
    this.#send(this.#visitor.takeUpstream(this.#host, this, again), request, again);
    if (bodied) this.#readBody(head.chunked);
    else this.#endRequest();
  }

  #send(upstream: UpstreamHttp, request: Buffer, again: boolean): void {
    this.#upstream = upstream;
    upstream.sink = this;
    if (!upstream.send(request, this.#head.method, null, again)) this.#stream.pause();
  }

  #readBody(chunked: boolean): void {
    const stream = this.#stream;
    const { uploads } = this.#visitor;
    const upload = uploads.begin(chunked ? undefined : this.#head.contentLength);
    this.#upload = upload;
    let trailers = {};
    stream.on('trailers', (fields) => {
      trailers = fields;
    });
    stream.on('data', (piece: Buffer) => {
      this.#visitor.bodyBytes += piece.length;
      if (this.#upstream !== null) {
        uploads.taken(upload, piece.length);
        if (this.#hasResponded) this.#touch();
        else this.deadlineMs = this.#after('responseMs');
      }
      if (!this.#write(chunked ? frameChunk(piece) : piece)) stream.pause();
    });
    stream.on('end', () => {
      uploads.end(upload);
      // Node also emits 'end' for a stream that was reset or lost: half a request must not look whole.
      if (this.#gone || stream.aborted) return;
      this.#endRequest();
      if (chunked) this.#write(renderLastChunk(Object.entries(trailers)));
    });
  }

  #write(piece: Buffer): boolean {
    return this.#upstream === null || this.#upstream.write(piece);
  }

  onUpstreamDrain(): void {
    this.#stream.resume();
  }

  // The response.

  /** Nothing can be sent any more. A visitor that resets with NO_ERROR closes the stream before its body is read. */
  get #gone(): boolean {
    return this.#phase === 'reset' || this.#stream.destroyed || this.#stream.closed;
  }

  onResponse(head: ResponseHead, bytes: Buffer, from: number, headEnd: number): void {
    this.#upstream?.link.consume(headEnd - from);
    if (this.#gone) {
      this.#stream.destroy();
      return;
    }
    const fields = responseFields(head, bytes, headEnd);
    if (head.interim) {
      // RFC 9113 8.1: interim responses come before the final one. HTTP/2 has no 101.
      this.#stream.additionalHeaders(grouped(fields));
      return;
    }
    this.#beginResponse();
    this.#visitor.context.counters.countResponse(head.status);
    this.#visitor.tunnel?.countUpstreamAnswer(head.status, this.#startMs, this.#upstream?.way ?? null);
    this.#seen?.arrived(head.status, this.#upstream?.way ?? null);
    this.#touch();
    const bodiless = head.bodiless(this.#head.method) || head.contentLength === 0;
    const waitForTrailers = head.chunked && !bodiless;
    if (waitForTrailers) this.#keepUntilReset();
    // Node adds a date if there is none.
    this.#stream.respond(fields, { endStream: bodiless, waitForTrailers });
    if (bodiless) this.#stopRequest();
    else if (head.chunked) this.#stream.once('wantTrailers', () => this.#sendTrailers());
    else if (!this.#isRequestDone) this.#stream.once('finish', () => this.#stopRequest());
  }

  #sendTrailers(): void {
    if (this.#gone) return;
    this.#stream.sendTrailers(grouped(this.#trailers));
    this.#stopRequest();
  }

  /** RFC 9113 8.1: the visitor need not send the rest of a request whose response is whole. */
  #stopRequest(): void {
    if (this.#phase !== 'early answer') return;
    // Node sends the end some turns later, if the visitor's windows have room. If not, the deadline ends the stream.
    setTimeout(() => {
      if (this.#isEndSent) this.#stream.close(constants.NGHTTP2_NO_ERROR);
    }, endMs).unref();
  }

  /** A reset before the end of a response makes it look broken off. */
  get #isEndSent(): boolean {
    return this.#stream.state.localClose === 1;
  }

  /**
   * Node (26.10) may still ask for the trailers of a stream that is destroyed while Node reads from the connection, and then
   * aborts the process. If it is destroyed in the next turn, outside that read, its reset leaves first, and nothing asks.
   */
  #keepUntilReset(): void {
    const stream = this.#stream;
    const destroy = stream.destroy.bind(stream);
    stream.destroy = (error) => {
      if (stream.session?.destroyed) destroy(error);
      else setImmediate(destroy, error);
      return stream;
    };
  }

  data(bytes: Buffer, from: number, to: number): void {
    this.#payloadBytes += to - from;
    this.#visitor.sentBytes += to - from;
    this.#seen?.count(to - from);
    this.#writer.write(bytes.subarray(from, to));
    this.#touch();
  }

  trailer(name: string, value: string): void {
    this.#trailers.push(name, value);
  }

  onResponseBody(_bytes: Buffer, from: number, to: number): void {
    this.#upstream?.link.consume(to - from - this.#payloadBytes);
    this.#payloadBytes = 0;
  }

  onResponseDone(): void {
    const upstream = this.#upstream;
    this.#upstream = null;
    this.#writer.end();
    this.#touch();
    if (upstream === null) return;
    // Give the credit for what the visitor has not read yet at once: the upstream connection may carry another response now.
    upstream.link.consume(this.#writer.waitingBytes);
    if (this.#isRequestDone) {
      this.#visitor.giveBack(upstream);
      return;
    }
    upstream.abandon();
    // The rest of the request is read and dropped.
    if (this.#upload !== null) this.#visitor.uploads.end(this.#upload);
    this.#stream.resume();
  }

  onOpaque(): void {}
  onOpaqueEnd(): void {}

  onUpstreamFail(failure: UpstreamFailure): void {
    const retry = retryOn.has(failure) ? this.#upstream?.retryable : null;
    this.#upstream = null;
    // The visitor's next connection may go to another edge.
    if (failure === 'hop-silent') this.#visitor.drain();
    // On a new connection: other kept ones may have been closed at the same moment.
    if (retry) this.#send(this.#visitor.openUpstream(this.#host, this), retry, false);
    else if (this.#hasResponded) {
      this.#visitor.context.counters.countBrokenOff(failure);
      this.#breakOff();
    } else this.#answer(errorOfFailure(failure));
  }

  #taken(bytes: number): void {
    this.#upstream?.link.consume(bytes);
    this.#touch();
  }

  /** The visitor's window has no room for all that was written. */
  get #bytesWait(): boolean {
    return this.#writer.waitingBytes > 0 || this.#stream.writableLength > 0;
  }

  #touch(): void {
    if (this.#phase === 'reset') return;
    this.#watchesStall = this.#bytesWait;
    // Without an upstream the response is whole, and the visitor has only to read.
    const visitorsTurn = this.#watchesStall || this.#upstream === null;
    this.deadlineMs = this.#after(visitorsTurn ? 'stallMs' : 'idleStreamMs');
  }

  #answer(code: VisitorError): void {
    this.#answerWith(answerOfError(code));
  }

  #answerWith(given: OwnAnswer): void {
    const answer = this.#grpc === null ? given : grpcAnswer(given, this.#grpc);
    const stream = this.#stream;
    if (this.#gone) stream.destroy();
    if (this.#gone || this.#hasResponded) return;
    this.#beginResponse();
    if (answer.code !== null) this.#visitor.context.counters.countError(answer.code);
    this.#visitor.tunnel?.countAnswer(answer.status);
    const page = Buffer.from(answer.body);
    const headOnly = this.#head.method === 'HEAD';
    this.#seen?.answeredByEdge(answer, headOnly);
    const fields = { ':status': answer.status, ...answer.fields, ...lengthFields(answer, page.length) };
    const bodiless = headOnly || page.length === 0;
    stream.respond(fields as OutgoingHttpHeaders, { endStream: bodiless });
    if (!bodiless) stream.end(page);
    // RFC 9113 8.1: after a whole response, the edge reads and drops the rest of the request, which does not renew the deadline.
    stream.resume();
    this.deadlineMs = this.#after('stallMs');
  }

  onDeadline(): void {
    if (this.#phase === 'reset') {
      // Node sends nothing more on this connection: its visitor reads nothing, or next to nothing, or broke a rule after GOAWAY.
      this.#visitor.cut();
      return;
    }
    // Node does not say when the visitor has read what waited.
    if (this.#watchesStall && !this.#bytesWait) {
      this.#touch();
      return;
    }
    if (this.#hasResponded) {
      this.#breakOff('idle');
      return;
    }
    this.#leaveUpstream('idle');
    this.#answer(this.#isRequestDone || this.#stream.isPaused() ? 'UNDERPASS_UPSTREAM_TIMEOUT' : 'UNDERPASS_SLOW_REQUEST');
  }

  #leaveUpstream(code: ResetCode): void {
    this.#upstream?.abandon(code);
    this.#upstream = null;
  }

  endOtherHosts(stays: (host: string) => boolean): void {
    if (this.#host !== '' && !stays(this.#host)) this.#breakOff();
  }

  endUnadmitted(policy: VisitPolicy, nowMs: number): void {
    if (this.#host === '') return;
    if (!policy.admits(this.#pass, nowMs)) this.#breakOff();
    else if (this.#pass?.visitor) policy.expectEnd(this.#pass.visitor.endsAtMs);
  }

  /**
   * Sends RST_STREAM, with INTERNAL_ERROR unless the response is whole. If nothing waits, close() would end the stream first,
   * and half a response would look whole. A stream that has ended is closed: Node forgets a destroyed one before it resets it
   * (http2-visitor.ts).
   */
  #breakOff(code: ResetCode = 'cancelled'): void {
    if (this.#phase === 'reset') return;
    this.#leaveUpstream(code);
    this.#phase = 'reset';
    this.deadlineMs = this.#after('stallMs');
    const { NGHTTP2_NO_ERROR, NGHTTP2_INTERNAL_ERROR } = constants;
    if (this.#stream.writableEnded) this.#stream.close(this.#isEndSent ? NGHTTP2_NO_ERROR : NGHTTP2_INTERNAL_ERROR);
    else this.#stream.destroy(new Error('the response broke off'));
  }

  #closed(): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#seen?.end();
    this.#visitor.context.deadlines.forget(this);
    if (this.#upload !== null) this.#visitor.uploads.end(this.#upload);
    this.#leaveUpstream('cancelled');
  }
}

/** Names and values for those calls of Node's http2 that take no list; a repeated name becomes an array. */
function grouped(fields: readonly string[]): Record<string, string | string[]> {
  // An object without a prototype: a trailer may be called "constructor".
  const values: Record<string, string | string[]> = Object.create(null);
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const [name, value] = [fields[i] as string, fields[i + 1] as string];
    const known = values[name];
    values[name] = known === undefined ? value : [known, value].flat();
  }
  return values;
}
