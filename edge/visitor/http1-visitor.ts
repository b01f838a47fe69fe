// One visitor's HTTP/1.1 connection behind TLS: heads are checked and rewritten, bodies pass as they come, one request at a time.

import type { Duplex } from 'node:stream';
import { BodyScan } from '@underpass/wire/http/body-scan.ts';
import { headFieldOf } from '@underpass/wire/http/head-field.ts';
import { HeldBytes } from '@underpass/wire/http/held-bytes.ts';
import { type Method, RequestHead } from '@underpass/wire/http/request-head.ts';
import type { ResponseHead } from '@underpass/wire/http/response-head.ts';
import { resetSocket } from '@underpass/wire/socket/reset-socket.ts';
import { readShared } from '@underpass/wire/socket/shared-read.ts';
import { SocketWriter } from '@underpass/wire/socket/socket-writer.ts';
import { atTurnEnd } from '@underpass/wire/socket/turn-end.ts';
import { buildRequest, buildResponse, decideUpgrade, isUntouched } from '../core/forwarded-head.ts';
import { grpcAnswer, grpcTypeOf } from '../core/grpc-answer.ts';
import { answerOfError, answerOfRefusedHead, type OwnAnswer, renderAnswer } from '../core/own-answer.ts';
import type { Endpoints } from '../core/proxy-protocol.ts';
import { errorOfFailure, retryOn, type UpstreamFailure, type VisitorError } from '../core/visitor-error.ts';
import type { Deadline } from '../limits/deadlines.ts';
import type { TunnelState, Visitor } from '../routes/tunnel-state.ts';
import type { VisitPolicy } from '../routes/visit-policy.ts';
import type { ResponseOwner, UpstreamHttp } from '../upstream/upstream-http.ts';
import { Admission } from './admission.ts';
import { httpDate } from './http-date.ts';
import { countsReading, type Http1Phase, isServing, maxQuietMs } from './http1-phase.ts';
import type { SeenRequest } from './seen-request.ts';
import type { VisitorContext } from './visitor-context.ts';

/** Time to read and drop the rest of a request after our last answer: a TCP reset would destroy the answer. */
const lingerMs = 2_000;
const lingerBytes = 1024 * 1024;

/** Bytes that a visitor may send ahead of their turn. The socket is paused at the first one, so they come in one or two reads. */
const aheadBytes = 256 * 1024;

/** Bytes that may wait for the visitor when its next request is read: an answer of our own has no stream window to bound it. */
const unreadBytes = 64 * 1024;

/** Bytes of a body that are copied after a rewritten head, so that a short response leaves in one write. */
const joinedBytes = 4_096;

export class Http1Visitor implements ResponseOwner, Deadline, Visitor {
  readonly address: string;
  readonly host: string;
  /** Follows from the phase: #enter and #renew set it. */
  deadlineMs = 0;
  readonly #context: VisitorContext;
  readonly #socket: Duplex;
  readonly #writer: SocketWriter;
  readonly #ends: Endpoints;
  /** The tunnel that the server name led to; null if the edge serves only error pages. */
  readonly #tunnel: TunnelState | null;
  readonly #admission: Admission;
  /** The head of the request that is read or served. */
  readonly #head = new RequestHead();
  readonly #body = new BodyScan();
  #phase: Http1Phase = 'head';
  /** Bytes of an incomplete head, or of the next request while this one is served. At most a head and one read. */
  #held: HeldBytes | null = null;
  #upstream: UpstreamHttp | null = null;
  /** When the head of the request was here. */
  #startMs = 0;
  /** The request that is read or served, if a log wants it. */
  #seen: SeenRequest | null = null;
  /** The protocol that the request may become. */
  #upgrade: string | null = null;
  /** The connection ends after the response to this request. */
  #isLast = false;
  #visitorEnded = false;
  #lingeredBytes = 0;

  constructor(context: VisitorContext, socket: Duplex, ends: Endpoints, host: string, tunnel: TunnelState | null) {
    this.#context = context;
    this.#socket = socket;
    this.#ends = ends;
    this.address = ends.sourceAddress;
    this.host = host;
    this.#tunnel = tunnel;
    this.#admission = new Admission(context, tunnel, this.address, '1.1');
    this.#writer = new SocketWriter(socket, (bytes) => this.#taken(bytes));
    this.#enter('head');
    context.deadlines.watch(this);
    (tunnel?.visitors ?? context.strangers).add(this);
    readShared(socket, (chunk) => this.#receive(chunk));
    socket.on('end', () => this.#visitorEnd());
    socket.on('error', () => this.#finish());
    socket.on('close', () => this.#finish());
  }

  // The phase and its time.

  #enter(phase: Http1Phase): void {
    this.#phase = phase;
    this.#renew();
  }

  /** Bytes moved, or something else that the time depends on has changed: the time of the phase starts again. */
  #renew(): void {
    const { deadlines, timeouts } = this.#context;
    const bytesWait = this.#writer.waitingBytes > 0;
    const upstreamEnded = this.#upstream?.link.remoteEnded === true;
    this.deadlineMs = deadlines.nowMs + maxQuietMs(this.#phase, timeouts, bytesWait, this.#visitorEnded, upstreamEnded);
  }

  onDeadline(): void {
    const phase = this.#phase;
    if (phase === 'head' && this.#held !== null) this.#refuse(answerOfError('UNDERPASS_SLOW_REQUEST'));
    else if (phase === 'body' || phase === 'waiting') this.#answerLate();
    else if ((phase === 'idle' || phase === 'head') && this.#writer.waitingBytes === 0) this.#hangUp();
    else this.cut();
  }

  #answerLate(): void {
    this.#upstream?.abandon('idle');
    this.#upstream = null;
    this.#isLast = true;
    // A paused socket means that the upstream takes no more of the body: then the visitor is not the slow one.
    const isVisitorLate = this.#phase === 'body' && !this.#socket.isPaused();
    this.#answer(isVisitorLate ? 'UNDERPASS_SLOW_REQUEST' : 'UNDERPASS_UPSTREAM_TIMEOUT');
  }

  // What the visitor sends.

  #receive(chunk: Buffer): void {
    const phase = this.#phase;
    if (phase === 'idle' || phase === 'head' || this.#isReadingBody) this.#take(chunk);
    else if (phase === 'upgraded') this.#pump(chunk);
    else if (phase === 'closing') this.#linger(chunk.length);
    else if (phase !== 'over') this.#holdNext(chunk, 0);
  }

  #take(chunk: Buffer): void {
    const bytes = this.#held?.add(chunk) ?? chunk;
    let at = 0;
    if (this.#phase === 'idle' || this.#phase === 'head') {
      at = this.#takeHead(bytes);
      if (at <= 0) return;
    }
    if (this.#isReadingBody) this.#takeBody(bytes, at);
    else if (at < bytes.length) this.#holdNext(bytes, at);
    if (this.#visitorEnded) this.#requestsEnded();
    if (this.#phase === 'idle' && this.#held !== null) atTurnEnd(() => this.#resumeHeld());
  }

  get #isReadingBody(): boolean {
    return this.#phase === 'body' || this.#phase === 'early answer';
  }

  /** The offset after the head; 0 while the head is incomplete, -1 if the connection ends with the answer to it. */
  #takeHead(bytes: Buffer): number {
    const head = this.#head;
    const end = head.scan(bytes, 0, bytes.length);
    if (end === 0) return this.#awaitRest(bytes);
    this.#held = null;
    if (end > 0) {
      this.#begin(bytes, end);
      return this.#phase === 'closing' || this.#phase === 'over' ? -1 : end;
    }
    this.#refuse(answerOfRefusedHead(head));
    return -1;
  }

  /** Refuses a head that never became a request: the start of the next one is unknown, so the connection ends. */
  #refuse(answer: OwnAnswer): void {
    this.#held = null;
    this.#isLast = true;
    this.#body.start('until-close');
    this.#seen = this.#context.requestLog.beginUnread(this.#admission, this.host);
    this.#answerWith(answer);
  }

  /** The first byte of a head starts its time; later bytes do not renew it. */
  #awaitRest(bytes: Buffer): 0 {
    if (this.#visitorEnded) {
      this.#hangUp();
      return 0;
    }
    if (this.#phase === 'idle') this.#enter('head');
    this.#held ??= new HeldBytes(bytes);
    return 0;
  }

  #begin(bytes: Buffer, end: number): void {
    const head = this.#head;
    this.#startMs = performance.now();
    this.#isLast = head.close || head.http10;
    this.#body.start(head.bodyKind, head.contentLength);
    this.#enter(this.#body.done ? 'waiting' : 'body');
    const own = this.#admission.decide(head, bytes, end);
    this.#seen = this.#context.requestLog.begin(this.#admission, head, bytes, end);
    if (own !== null) {
      const { start, end: stop } = headFieldOf(head, bytes, end, 'content-type');
      const grpc = grpcTypeOf(bytes.toString('latin1', start, stop));
      this.#answerWith(grpc === null ? own : grpcAnswer(own, grpc));
      return;
    }
    this.#upgrade = decideUpgrade(head, bytes);
    this.#tunnel!.requests++;
    const { identity, visitor } = this.#admission;
    const request = buildRequest(head, bytes, end, identity, this.#upgrade !== null, visitor);
    this.#forward(request, !head.hasBody && isSafe(head.method));
  }

  /** `again`: the request may be repeated on another upstream connection. */
  #forward(request: Buffer, again: boolean): void {
    if (!this.#upstreamFor(again).send(request, this.#head.method, this.#upgrade, again)) this.#socket.pause();
  }

  #upstreamFor(again: boolean): UpstreamHttp {
    const { host } = this.#admission;
    const kept = this.#upstream;
    if (kept?.reusable(again) && kept.link.request.host === host) return kept;
    this.#letGo();
    this.#upstream = this.#context.upstreams.openHttp(this.#tunnel!, host, this.#ends, this);
    return this.#upstream;
  }

  #takeBody(bytes: Buffer, from: number): void {
    const end = this.#body.take(bytes, from, bytes.length);
    if (end < 0) {
      this.#badBody();
      return;
    }
    if (this.#body.done) this.#phase = this.#phase === 'body' ? 'waiting' : 'answer';
    if (end > from) this.#forwardBody(from === 0 && end === bytes.length ? bytes : bytes.subarray(from, end));
    if (end < bytes.length) this.#holdNext(bytes, end);
  }

  #forwardBody(piece: Buffer): void {
    this.#renew();
    if (!this.#upstream!.write(piece)) this.#socket.pause();
  }

  #badBody(): void {
    this.#upstream?.abandon();
    this.#isLast = true;
    if (this.#phase === 'body') this.#answer('UNDERPASS_BAD_REQUEST');
    else this.cut();
  }

  /** The next request waits until this one is served; the socket is paused for that time. */
  #holdNext(bytes: Buffer, from: number): void {
    const rest = bytes.subarray(from);
    if (this.#held === null) this.#held = new HeldBytes(rest);
    else this.#held.add(rest);
    this.#socket.pause();
    if (this.#held.length > aheadBytes) this.cut();
  }

  #pump(chunk: Buffer): void {
    this.#renew();
    if (!this.#upstream!.write(chunk)) this.#socket.pause();
  }

  #visitorEnd(): void {
    this.#visitorEnded = true;
    if (this.#phase === 'upgraded') this.#endUpgraded();
    else this.#requestsEnded();
  }

  #endUpgraded(): void {
    this.#upstream?.link.end();
    this.#renew();
  }

  /**
   * A visitor that has ended its side may still read, or may be gone. Only a write to it would tell, and a quiet upstream
   * causes none: from here on the answer has less time. Whole requests that it sent ahead are still served.
   */
  #requestsEnded(): void {
    const phase = this.#phase;
    if (this.#isReadingBody) this.cut();
    else if (phase === 'answer') this.#renew();
    if (phase === 'waiting' || phase === 'answer') this.#isLast ||= this.#held === null;
    else if ((phase !== 'idle' && phase !== 'unread') || this.#held === null) this.#hangUp();
  }

  // What the upstream answers.

  onResponse(head: ResponseHead, bytes: Buffer, from: number, headEnd: number, bodyEnd: number): void {
    if (head.interim) {
      this.#interim(head, bytes, from, headEnd);
      return;
    }
    if (this.#head.http10 && head.chunked) {
      // HTTP/1.0 has no chunks, and the upstream has seen the visitor's version in the request line.
      this.#upstream?.abandon();
      this.onUpstreamFail('bad-response');
      return;
    }
    this.#context.counters.countResponse(head.status);
    this.#tunnel?.countUpstreamAnswer(head.status, this.#startMs, this.#upstream?.way ?? null);
    this.#seen?.arrived(head.status, this.#upstream?.way ?? null);
    if (head.status === 101) {
      this.#upgraded(head, bytes, from, headEnd);
      return;
    }
    // After an early answer the rest of the request's body may be missing, so no other request can follow.
    const isEarly = this.#phase === 'body';
    this.#phase = isEarly ? 'early answer' : 'answer';
    if (isEarly || this.#context.draining || (head.unframed && !head.bodiless(this.#head.method))) this.#isLast = true;
    this.#writeResponse(head, bytes, from, headEnd, bodyEnd);
  }

  #writeResponse(head: ResponseHead, bytes: Buffer, from: number, headEnd: number, bodyEnd: number): void {
    this.#seen?.count(bodyEnd - headEnd);
    if (isUntouched(head, this.#isLast)) {
      this.#write(bytes, from, bodyEnd);
      return;
    }
    const joined = bodyEnd - headEnd <= joinedBytes ? bodyEnd : headEnd;
    const edit = { close: this.#isLast, upgraded: false, date: httpDate() };
    const rewritten = buildResponse(head, bytes, from, headEnd, joined, edit);
    this.#settle(joined - from - rewritten.length);
    this.#write(rewritten, 0, rewritten.length);
    if (bodyEnd > joined) this.#write(bytes, joined, bodyEnd);
  }

  #interim(head: ResponseHead, bytes: Buffer, from: number, end: number): void {
    // RFC 9110 15.2: HTTP/1.0 has no interim responses.
    if (this.#head.http10) {
      this.#settle(end - from);
      return;
    }
    const rewritten = buildResponse(head, bytes, from, end, end, { close: false, upgraded: false });
    this.#settle(end - from - rewritten.length);
    this.#writer.write(rewritten);
  }

  #upgraded(head: ResponseHead, bytes: Buffer, from: number, end: number): void {
    const rewritten = buildResponse(head, bytes, from, end, end, { close: false, upgraded: true });
    this.#settle(end - from - rewritten.length);
    this.#writer.write(rewritten);
    this.#enter('upgraded');
    this.#admission.endRequests();
    this.#head.forgetHost();
    const early = this.#held;
    this.#held = null;
    if (early !== null) this.#pump(early.all);
    this.#socket.resume();
    if (this.#visitorEnded) this.#endUpgraded();
  }

  onResponseBody(bytes: Buffer, from: number, to: number): void {
    this.#seen?.count(to - from);
    this.#write(bytes, from, to);
  }

  onOpaque(chunk: Buffer): void {
    this.#seen?.count(chunk.length);
    this.#writer.write(chunk);
    this.#renew();
  }

  onOpaqueEnd(): void {
    this.#writer.end();
    this.#renew();
  }

  #write(bytes: Buffer, from: number, to: number): void {
    this.#writer.write(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to));
    this.#renew();
  }

  /** Gives credit back for bytes that were received and not written on; the writer does it for the others. */
  #settle(unwritten: number): void {
    if (unwritten > 0) this.#upstream?.link.consume(unwritten);
  }

  #taken(bytes: number): void {
    this.#upstream?.link.consume(bytes);
    if (this.#phase === 'unread') this.#awaitNext();
    else if (countsReading(this.#phase)) this.#renew();
  }

  onUpstreamDrain(): void {
    if (this.#held === null) this.#socket.resume();
  }

  onResponseDone(): void {
    this.#endSeen();
    if (this.#isLast) this.#hangUp();
    else this.#awaitNext();
  }

  onUpstreamFail(failure: UpstreamFailure): void {
    if (this.#phase !== 'body' && this.#phase !== 'waiting') {
      this.#context.counters.countBrokenOff(failure);
      this.cut();
      return;
    }
    // RFC 9110 9.2.2: a kept connection was closed while a request that may be repeated was on its way.
    const retry = retryOn.has(failure) ? this.#upstream?.retryable : null;
    this.#upstream = null;
    // The visitor's next connection may go to another edge.
    if (failure === 'hop-silent') this.#isLast = true;
    if (retry) this.#forward(retry, false);
    else this.#answer(errorOfFailure(failure));
  }

  // Answers of our own, and the end.

  #answer(code: VisitorError): void {
    this.#answerWith(answerOfError(code));
  }

  #answerWith(answer: OwnAnswer): void {
    if (answer.code !== null) this.#context.counters.countError(answer.code);
    this.#tunnel?.countAnswer(answer.status);
    if (!this.#body.done) {
      this.#isLast = true;
      this.#upstream?.abandon();
      this.#upstream = null;
    }
    const headOnly = this.#head.method === 'HEAD';
    this.#seen?.answeredByEdge(answer, headOnly);
    this.#endSeen();
    this.#writer.write(Buffer.from(renderAnswer(answer, { close: this.#isLast, headOnly, date: httpDate() })));
    if (this.#isLast) this.#hangUp();
    else this.#awaitNext();
  }

  #endSeen(): void {
    this.#seen?.end();
    this.#seen = null;
  }

  #awaitNext(): void {
    if (this.#writer.waitingBytes > unreadBytes) {
      this.#enter('unread');
      return;
    }
    this.#head.reset();
    this.#enter('idle');
    if ((this.#visitorEnded && this.#held === null) || this.#context.draining) this.#hangUp();
    // In a later turn: refused requests that were sent ahead must not pile up on the stack.
    else if (this.#held !== null) atTurnEnd(() => this.#resumeHeld());
    // It is paused if the last upstream failed, or answered early, before it took the whole request.
    else this.#socket.resume();
  }

  #resumeHeld(): void {
    if (this.#phase !== 'idle' || this.#held === null) return;
    const held = this.#held;
    this.#held = null;
    this.#enter('head');
    this.#socket.resume();
    this.#take(held.all);
  }

  /** Ends our side after what was written, and reads on for a moment. */
  #hangUp(): void {
    if (this.#phase === 'closing' || this.#phase === 'over') return;
    if (this.#isReadingBody) this.#upstream?.abandon();
    this.#letGo();
    this.#held = null;
    this.#enter('closing');
    this.#socket.once('finish', () => {
      this.deadlineMs = this.#context.deadlines.nowMs + lingerMs;
    });
    this.#writer.end();
    this.#socket.resume();
    if (this.#visitorEnded) this.#socket.once('finish', () => this.#socket.destroy());
  }

  #linger(bytes: number): void {
    this.#lingeredBytes += bytes;
    if (this.#lingeredBytes > lingerBytes) this.cut();
  }

  endOtherHosts(stays: (host: string) => boolean): void {
    if (isServing(this.#phase) && !stays(this.#admission.host)) this.cut();
  }

  endUnadmitted(policy: VisitPolicy, nowMs: number): void {
    if (!isServing(this.#phase)) return;
    const { pass } = this.#admission;
    if (!policy.admits(pass, nowMs)) this.cut();
    else if (pass?.visitor) policy.expectEnd(pass.visitor.endsAtMs);
  }

  cut(): void {
    this.#finish();
    resetSocket(this.#socket);
  }

  drain(): void {
    if ((this.#phase === 'idle' || this.#phase === 'head') && this.#held === null) this.#hangUp();
  }

  #finish(): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#held = null;
    this.#endSeen();
    this.#context.deadlines.forget(this);
    (this.#tunnel?.visitors ?? this.#context.strangers).delete(this);
    this.#letGo();
  }

  #letGo(): void {
    const upstream = this.#upstream;
    this.#upstream = null;
    if (upstream !== null) this.#context.upstreams.release(upstream);
  }
}

/** RFC 9110 9.2.1: repeating it does no harm. */
function isSafe(method: Method): boolean {
  return method !== 'other';
}
