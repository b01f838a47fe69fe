// One visitor's HTTP/1.1 connection behind TLS: heads checked and rewritten, bodies passed as they come, one request at a time.

import type { Duplex } from 'node:stream';
import { resetSocket } from '@underpass/wire/socket/reset-socket.ts';
import { readShared } from '@underpass/wire/socket/shared-read.ts';
import { SocketWriter } from '@underpass/wire/socket/socket-writer.ts';
import { atTurnEnd } from '@underpass/wire/socket/turn-end.ts';
import { hostOf } from '../core/authority.ts';
import { BodyScan } from '../core/body-scan.ts';
import { buildRequest, buildResponse, decideUpgrade, isUntouched, renderIdentity } from '../core/forwarded-head.ts';
import { HeldBytes } from '../core/held-bytes.ts';
import type { Endpoints } from '../core/proxy-protocol.ts';
import { type Method, RequestHead } from '../core/request-head.ts';
import type { ResponseHead } from '../core/response-head.ts';
import { errorOfReset, errorOfStatus, renderErrorResponse, type VisitorError } from '../core/visitor-error.ts';
import type { Deadline } from '../limits/deadlines.ts';
import type { TunnelState, Visitor } from '../routes/tunnel-state.ts';
import type { ResponseOwner, UpstreamFailure, UpstreamHttp } from '../upstream/upstream-http.ts';
import { httpDate } from './http-date.ts';
import type { VisitorContext } from './visitor-context.ts';

/** After an early answer the rest of a request is read and dropped, so that the answer is not lost to a TCP reset. */
const lingerMs = 2_000;
const lingerBytes = 1024 * 1024;

/** What may be sent ahead of its turn; the socket is paused at the first byte, so that one or two reads are all there is. */
const aheadBytes = 256 * 1024;

/** What may wait for the visitor when its next request is read: an answer of our own has no window behind it. */
const untakenBytes = 64 * 1024;

/** Of a body, copied behind a head that is written anew: a short response leaves in one write. */
const joinedBytes = 4_096;

const phase = { head: 0, untaken: 1, request: 2, answered: 3, opaque: 4, lingering: 5, over: 6 };

export class Http1Visitor implements ResponseOwner, Deadline, Visitor {
  readonly address: string;
  readonly host: string;
  deadlineMs: number;
  readonly #context: VisitorContext;
  readonly #socket: Duplex;
  readonly #writer: SocketWriter;
  readonly #ends: Endpoints;
  /** The tunnel that the server name led to; null where only error pages are served. */
  readonly #tunnel: TunnelState | null;
  readonly #head = new RequestHead();
  readonly #body = new BodyScan();
  #phase = phase.head;
  /** Bytes of an incomplete head, or of the next request while this one is served. At most a head and one read. */
  #held: HeldBytes | null = null;
  #upstream: UpstreamHttp | null = null;
  #upstreamHost = '';
  #identity: Buffer = Buffer.alloc(0);
  #authority = '';
  #admission: VisitorError | null = null;
  #admittedVersion = -1;
  #method: Method = 'other';
  #upgrading = false;
  #close = false;
  #http10 = false;
  /** A response head has gone out: from here on trouble can only break the connection off. */
  #answering = false;
  #visitorEnded = false;
  /** Between requests, with nothing of the next one. */
  #idle = false;
  #lingered = 0;

  constructor(context: VisitorContext, socket: Duplex, ends: Endpoints, host: string, tunnel: TunnelState | null) {
    this.#context = context;
    this.#socket = socket;
    this.#ends = ends;
    this.address = ends.sourceAddress;
    this.host = host;
    this.#tunnel = tunnel;
    this.#writer = new SocketWriter(socket, (bytes) => this.#taken(bytes));
    this.deadlineMs = context.deadlines.nowMs + context.timeouts.headMs;
    context.deadlines.watch(this);
    tunnel?.visitors.add(this);
    readShared(socket, (chunk) => this.#receive(chunk));
    socket.on('end', () => this.#visitorEnd());
    socket.on('error', () => this.#finish());
    socket.on('close', () => this.#finish());
  }

  // What the visitor sends.

  #receive(chunk: Buffer): void {
    if (this.#phase === phase.head || this.#phase === phase.request) this.#take(chunk);
    else if (this.#phase === phase.opaque) this.#pump(chunk);
    else if (this.#phase === phase.answered || this.#phase === phase.untaken) this.#holdNext(chunk, 0);
    else if (this.#phase === phase.lingering) this.#linger(chunk.length);
  }

  #take(chunk: Buffer): void {
    const bytes = this.#held?.add(chunk) ?? chunk;
    let at = 0;
    if (this.#phase === phase.head) {
      at = this.#takeHead(bytes);
      if (at <= 0) return;
    }
    if (this.#phase === phase.request) this.#takeBody(bytes, at);
    else if (at < bytes.length) this.#holdNext(bytes, at);
    if (this.#phase === phase.head && this.#held !== null) atTurnEnd(() => this.#resumeHeld());
  }

  /** Gives the offset behind the head; 0 while it is incomplete, -1 where the request was answered for good. */
  #takeHead(bytes: Buffer): number {
    const head = this.#head;
    const end = head.scan(bytes, 0, bytes.length);
    if (end === 0) return this.#awaitRest(bytes);
    this.#held = null;
    if (end > 0) {
      this.#begin(bytes, end);
      return this.#phase === phase.lingering || this.#phase === phase.over ? -1 : end;
    }
    this.#refuse(errorOfStatus(head.refusedStatus));
    return -1;
  }

  /** The head never became a request: where the next one would start, nobody knows. */
  #refuse(code: VisitorError): void {
    this.#method = this.#head.method;
    this.#close = true;
    this.#body.start('until-close');
    this.#answer(code);
  }

  #awaitRest(bytes: Buffer): 0 {
    // The first byte of a head starts its time; later ones do not renew it.
    if (this.#held === null && this.#idle) this.deadlineMs = this.#context.deadlines.nowMs + this.#context.timeouts.headMs;
    this.#idle = false;
    this.#held ??= new HeldBytes(bytes);
    return 0;
  }

  #begin(bytes: Buffer, end: number): void {
    const head = this.#head;
    this.#method = head.method;
    this.#close = head.close || head.http10;
    this.#http10 = head.http10;
    this.#answering = false;
    this.#body.start(head.chunked ? 'chunked' : head.contentLength > 0 ? 'length' : 'none', head.contentLength);
    this.#phase = this.#body.done ? phase.answered : phase.request;
    const refusal = this.#admit(head.authority);
    if (refusal !== null) {
      this.#answer(refusal);
      return;
    }
    this.#upgrading = decideUpgrade(head, bytes);
    this.#forward(buildRequest(head, bytes, end, this.#identity, this.#upgrading), !head.hasBody && isSafe(head.method));
  }

  /** Remembered until the routes change or the visitor asks for another host. */
  #admit(authority: string): VisitorError | null {
    const { table } = this.#context;
    if (authority === this.#authority && table.version === this.#admittedVersion) return this.#admission;
    this.#authority = authority;
    this.#admittedVersion = table.version;
    const identity = { address: this.address, proto: 'https', authority, version: '1.1' } as const;
    this.#identity = Buffer.from(renderIdentity(identity), 'latin1');
    this.#admission = this.#context.table.refusal(hostOf(authority), this.#tunnel, this.address);
    return this.#admission;
  }

  #forward(request: Buffer, again: boolean): void {
    this.#tunnel!.requests++;
    this.#head.reset();
    this.deadlineMs = this.#context.deadlines.nowMs + this.#context.timeouts.responseMs;
    if (!this.#reusableUpstream().send(request, this.#method, this.#upgrading, again)) this.#socket.pause();
  }

  #reusableUpstream(): UpstreamHttp {
    const host = hostOf(this.#authority);
    const kept = this.#upstream;
    if (kept?.reusable(this.#context.deadlines.nowMs) && this.#upstreamHost === host) return kept;
    this.#letGo();
    this.#upstreamHost = host;
    this.#upstream = this.#context.upstreams.openHttp(this.#tunnel!, host, this.#ends, this);
    return this.#upstream;
  }

  #takeBody(bytes: Buffer, from: number): void {
    const end = this.#body.take(bytes, from, bytes.length);
    if (end < 0) {
      this.#badBody();
      return;
    }
    if (this.#body.done) this.#phase = phase.answered;
    if (end > from) this.#forwardBody(from === 0 && end === bytes.length ? bytes : bytes.subarray(from, end));
    if (end < bytes.length) this.#holdNext(bytes, end);
  }

  #forwardBody(piece: Buffer): void {
    this.deadlineMs = this.#context.deadlines.nowMs + this.#context.timeouts.responseMs;
    if (!this.#upstream!.write(piece)) this.#socket.pause();
  }

  #badBody(): void {
    this.#upstream?.abandon();
    this.#close = true;
    if (this.#answering) this.cut();
    else this.#answer('UNDERPASS_BAD_REQUEST');
  }

  /** The next request waits, and with it the socket, until this one is served. */
  #holdNext(bytes: Buffer, from: number): void {
    const rest = bytes.subarray(from);
    if (this.#held === null) this.#held = new HeldBytes(rest);
    else this.#held.add(rest);
    this.#socket.pause();
    if (this.#held.length > aheadBytes) this.cut();
  }

  #pump(chunk: Buffer): void {
    this.#touch();
    if (!this.#upstream!.write(chunk)) this.#socket.pause();
  }

  #visitorEnd(): void {
    this.#visitorEnded = true;
    if (this.#phase === phase.opaque) this.#endOpaque();
    else if (this.#phase === phase.answered) this.#heardAll();
    else if (this.#phase === phase.request) this.cut();
    else this.#hangUp();
  }

  #endOpaque(): void {
    this.#upstream?.link.end();
    this.#touch();
  }

  /** Only a write would tell a visitor that reads on from one that has gone, and a quiet upstream causes none. */
  #heardAll(): void {
    this.#close = true;
    if (this.#answering) this.#touch();
  }

  // What the upstream answers.

  onResponse(head: ResponseHead, bytes: Buffer, from: number, headEnd: number, bodyEnd: number): void {
    if (head.interim) {
      this.#interim(head, bytes, from, headEnd);
      return;
    }
    this.#answering = true;
    this.#context.counters.countResponse(head.status);
    if (head.status === 101) {
      this.#upgraded(head, bytes, from, headEnd);
      return;
    }
    if (this.#http10 && head.chunked) {
      this.#unreadable();
      return;
    }
    // A request that is still being sent cannot be followed by another one in good order.
    const last = this.#phase === phase.request || this.#context.draining;
    if (last || (head.unframed && !head.bodiless(this.#method))) this.#close = true;
    if (isUntouched(head, this.#close)) {
      this.#write(bytes, from, bodyEnd);
      return;
    }
    const joined = bodyEnd - headEnd <= joinedBytes ? bodyEnd : headEnd;
    const edit = { close: this.#close, upgraded: false, date: httpDate() };
    const rewritten = buildResponse(head, bytes, from, headEnd, joined, edit);
    this.#settle(joined - from - rewritten.length);
    this.#write(rewritten, 0, rewritten.length);
    if (bodyEnd > joined) this.#write(bytes, joined, bodyEnd);
  }

  /** A visitor of HTTP/1.0 cannot be given chunks, and the upstream was told so. */
  #unreadable(): void {
    this.#answering = false;
    this.#upstream?.abandon();
    this.onUpstreamFail('bad-response');
  }

  #interim(head: ResponseHead, bytes: Buffer, from: number, end: number): void {
    // RFC 9110 15.2: HTTP/1.0 knows no interim responses.
    if (this.#http10) {
      this.#settle(end - from);
      return;
    }
    const rewritten = buildResponse(head, bytes, from, end, end, { close: false, upgraded: false });
    this.#settle(end - from - rewritten.length);
    this.#writer.write(rewritten);
  }

  #upgraded(head: ResponseHead, bytes: Buffer, from: number, end: number): void {
    this.#phase = phase.opaque;
    const rewritten = buildResponse(head, bytes, from, end, end, { close: false, upgraded: true });
    this.#settle(end - from - rewritten.length);
    this.#writer.write(rewritten);
    this.#touch();
    const early = this.#held;
    this.#held = null;
    if (early !== null) this.#pump(early.all);
    this.#socket.resume();
    if (this.#visitorEnded) this.#endOpaque();
  }

  onResponseBody(bytes: Buffer, from: number, to: number): void {
    this.#write(bytes, from, to);
  }

  onOpaque(chunk: Buffer): void {
    this.#writer.write(chunk);
    this.#touch();
  }

  /** Bytes moved. A visitor that takes nothing has less time than a connection on which nobody speaks. */
  #touch(): void {
    const { deadlines, timeouts } = this.#context;
    this.deadlineMs = deadlines.nowMs + (this.#writer.waitingBytes > 0 ? timeouts.stallMs : this.#quietMs);
  }

  get #quietMs(): number {
    const { idleStreamMs, visitorEndedMs, halfClosedMs, stallMs } = this.#context.timeouts;
    const opaque = this.#phase === phase.opaque;
    if (this.#visitorEnded) return opaque ? halfClosedMs : visitorEndedMs;
    // All is written: only the end of it is still to be taken.
    if (this.#phase === phase.lingering) return stallMs;
    return opaque && this.#upstream?.link.remoteEnded ? halfClosedMs : idleStreamMs;
  }

  onOpaqueEnd(): void {
    this.#writer.end();
    this.#touch();
  }

  #write(bytes: Buffer, from: number, to: number): void {
    this.#writer.write(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to));
    this.#touch();
  }

  /** Bytes received and not written on need their credit given back here; the outlet gives it for the rest. */
  #settle(unwritten: number): void {
    if (unwritten > 0) this.#upstream?.link.consume(unwritten);
  }

  #taken(bytes: number): void {
    this.#upstream?.link.consume(bytes);
    if (this.#answering || this.#phase === phase.opaque || this.#phase === phase.untaken) this.#touch();
    if (this.#phase === phase.untaken) this.#awaitNext();
  }

  onUpstreamDrain(): void {
    if (this.#held === null) this.#socket.resume();
  }

  onResponseDone(): void {
    if (this.#close || this.#phase === phase.request) {
      this.#hangUp();
      return;
    }
    this.#awaitNext();
  }

  onUpstreamFail(failure: UpstreamFailure): void {
    if (this.#phase === phase.opaque || this.#answering) {
      this.cut();
      return;
    }
    const retry = failure === 'broke' || failure === 'upstream-reset' ? this.#upstream?.retryable : null;
    this.#upstream = null;
    if (retry) {
      this.#forwardAgain(retry);
      return;
    }
    if (failure === 'bad-response') this.#answer('UNDERPASS_BAD_RESPONSE');
    else this.#answer(failure === 'broke' ? 'UNDERPASS_UPSTREAM_BROKE' : errorOfReset(failure));
  }

  /** RFC 9110 9.2.2: the upstream closed a kept connection while a harmless request was on its way. */
  #forwardAgain(request: Buffer): void {
    if (!this.#reusableUpstream().send(request, this.#method, this.#upgrading, false)) this.#socket.pause();
  }

  // Answers of our own, and the end.

  #answer(code: VisitorError): void {
    this.#context.counters.countError(code);
    this.#head.reset();
    const bodyPending = !this.#body.done;
    if (bodyPending) {
      this.#close = true;
      this.#upstream?.abandon();
      this.#upstream = null;
    }
    const page = renderErrorResponse(code, { close: this.#close, headOnly: this.#method === 'HEAD', date: httpDate() });
    this.#writer.write(Buffer.from(page));
    if (this.#close) this.#hangUp();
    else this.#awaitNext();
  }

  #awaitNext(): void {
    if (this.#writer.waitingBytes > untakenBytes) {
      this.#phase = phase.untaken;
      this.#touch();
      return;
    }
    this.#phase = phase.head;
    this.#idle = true;
    this.deadlineMs = this.#context.deadlines.nowMs + this.#context.timeouts.keepAliveMs;
    if (this.#visitorEnded || this.#context.draining) {
      this.#hangUp();
      return;
    }
    // In a later turn: requests that were sent ahead and are refused at once must not pile up on the stack.
    if (this.#held !== null) atTurnEnd(() => this.#resumeHeld());
  }

  #resumeHeld(): void {
    if (this.#phase !== phase.head || this.#held === null) return;
    const held = this.#held;
    this.#held = null;
    this.#idle = false;
    this.deadlineMs = this.#context.deadlines.nowMs + this.#context.timeouts.headMs;
    this.#socket.resume();
    this.#take(held.all);
  }

  /** Ends our direction behind what was written, and reads on for a moment. */
  #hangUp(): void {
    if (this.#phase >= phase.lingering) return;
    if (this.#phase === phase.request) this.#upstream?.abandon();
    this.#letGo();
    this.#phase = phase.lingering;
    this.#held = null;
    this.deadlineMs = this.#context.deadlines.nowMs + this.#context.timeouts.stallMs;
    this.#socket.once('finish', () => {
      this.deadlineMs = this.#context.deadlines.nowMs + lingerMs;
    });
    this.#writer.end();
    this.#socket.resume();
    if (this.#visitorEnded) this.#socket.once('finish', () => this.#socket.destroy());
  }

  #linger(bytes: number): void {
    this.#lingered += bytes;
    if (this.#lingered > lingerBytes) this.cut();
  }

  endOtherHosts(hosts: readonly string[]): void {
    const idle = this.#phase < phase.request || this.#phase >= phase.lingering;
    if (!idle && !hosts.includes(this.#upstreamHost)) this.cut();
  }

  cut(): void {
    this.#finish();
    resetSocket(this.#socket);
  }

  onDeadline(): void {
    if (this.#phase === phase.head && this.#held !== null) {
      this.#held = null;
      this.#refuse('UNDERPASS_SLOW_REQUEST');
    } else if (this.#isWaiting) this.#answerLate();
    else if (this.#phase === phase.head) this.#hangUp();
    else this.cut();
  }

  drain(): void {
    if (this.#phase === phase.head && this.#held === null) this.#hangUp();
  }

  get #isWaiting(): boolean {
    return (this.#phase === phase.request || this.#phase === phase.answered) && !this.#answering && this.#upstream !== null;
  }

  #answerLate(): void {
    this.#upstream?.abandon('idle');
    this.#upstream = null;
    this.#close = true;
    // A visitor whose body waits for the upstream is not the one who is late.
    const isVisitorLate = this.#phase === phase.request && !this.#socket.isPaused();
    this.#answer(isVisitorLate ? 'UNDERPASS_SLOW_REQUEST' : 'UNDERPASS_UPSTREAM_TIMEOUT');
  }

  #finish(): void {
    if (this.#phase === phase.over) return;
    this.#phase = phase.over;
    this.#held = null;
    this.#context.deadlines.forget(this);
    this.#tunnel?.visitors.delete(this);
    this.#letGo();
  }

  #letGo(): void {
    const upstream = this.#upstream;
    this.#upstream = null;
    if (upstream !== null) this.#context.upstreams.release(upstream);
  }
}

/** Repeating it does no harm (RFC 9110 9.2.1). */
function isSafe(method: Method): boolean {
  return method !== 'other';
}
