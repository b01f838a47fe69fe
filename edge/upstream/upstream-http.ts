// One HTTP/1.1 connection to an upstream: takes request bytes and follows the framing of responses.
// It serves one request at a time, and is kept for the visitor's next one.

import type { ResetCode } from '@underpass/wire/core/code.ts';
import { BodyScan, type BodySink } from '@underpass/wire/http/body-scan.ts';
import { HeldBytes } from '@underpass/wire/http/held-bytes.ts';
import type { Method } from '@underpass/wire/http/request-head.ts';
import { ResponseHead, startsHttp2 } from '@underpass/wire/http/response-head.ts';
import { upgradeOf } from '../core/forwarded-head.ts';
import type { UpstreamFailure } from '../core/visitor-error.ts';
import type { Deadlines } from '../limits/deadlines.ts';
import type { UpstreamWay } from '../routes/tunnel-state.ts';
import type { Link, LinkFailure, LinkOwner } from './link.ts';

export interface ResponseOwner {
  /** A whole head, interim ones too: bytes from `from` to `headEnd`. The part of its body that came with it ends at `bodyEnd`. */
  onResponse(head: ResponseHead, bytes: Buffer, from: number, headEnd: number, bodyEnd: number): void;
  onResponseBody(bytes: Buffer, from: number, to: number): void;
  /** The response is complete. */
  onResponseDone(): void;
  /** Bytes after the connection was upgraded to another protocol. */
  onOpaque(chunk: Buffer): void;
  onOpaqueEnd(): void;
  /** The response will not be complete. */
  onUpstreamFail(failure: UpstreamFailure): void;
  onUpstreamDrain(): void;
}

/** Interim responses to one request: 100, 103 and some progress reports. */
const maxInterim = 32;

/**
 * A request that must not be repeated takes a kept connection only while its upstream surely keeps it too: for the time that
 * Keep-Alive announces, less the way there and back and a tick of the clock, and without one for the shortest time in use. An
 * upstream that closes sooner without a word still causes a 502 if such a request is on its way, as with nginx and haproxy: the
 * upstream may have taken it.
 */
const keepAliveMarginMs = 1_000;
const unannouncedKeepAliveMs = 1_000;

const phase = { idle: 0, head: 1, body: 2, opaque: 3, over: 4 };

export class UpstreamHttp implements LinkOwner {
  readonly link: Link;
  owner: ResponseOwner;
  readonly #head = new ResponseHead();
  readonly #body = new BodyScan();
  #phase = phase.idle;
  #method: Method = 'other';
  /** The protocol that the request asks for. */
  #upgrade: string | null = null;
  #interim = 0;
  #served = 0;
  #startMs: number;
  /** An incomplete head; bounded by the head limit. */
  #held: HeldBytes | null = null;
  #reusable = false;
  readonly #clock: Pick<Deadlines, 'nowMs'>;
  readonly #usableUntilMs: number;
  /** The same for a request that must not be repeated. */
  #surelyUsableUntilMs = 0;
  #retry: Buffer | null = null;
  /** The client is silent and another one works, or the client is gone. */
  #isDoubted = false;

  constructor(openLink: (owner: LinkOwner) => Link, owner: ResponseOwner, clock: Pick<Deadlines, 'nowMs'>, reuseMs: number) {
    this.owner = owner;
    this.#clock = clock;
    this.#usableUntilMs = clock.nowMs + reuseMs;
    this.link = openLink(this);
    this.#startMs = this.link.startMs;
  }

  /** Receives bodies without their framing, after onResponse. Set it before send(). */
  set sink(sink: BodySink | null) {
    this.#body.sink = sink;
  }

  /** True if it can take another request. `again`: that request may be repeated if the upstream closes at that moment. */
  reusable(again: boolean): boolean {
    const { nowMs } = this.#clock;
    const { over, remoteEnded, isQuiet } = this.link;
    if (this.#phase !== phase.idle || over || remoteEnded || isQuiet || nowMs >= this.#usableUntilMs) return false;
    return again || nowMs < this.#surelyUsableUntilMs;
  }

  /** True once any byte of the response has arrived: from then on nothing may be retried. */
  get #isAnswering(): boolean {
    return this.#phase !== phase.head || this.#interim > 0 || this.#held !== null;
  }

  /**
   * The request, if it may be sent once more on another connection: the upstream closed this kept one as the request was sent, or
   * the client is silent or gone.
   */
  get retryable(): Buffer | null {
    return (this.#served > 0 || this.#isDoubted) && !this.#isAnswering ? this.#retry : null;
  }

  /** `again`: the request has no body, and repeating it does no harm. */
  send(head: Buffer, method: Method, upgrade: string | null, again: boolean): boolean {
    this.#phase = phase.head;
    this.#method = method;
    this.#upgrade = upgrade;
    this.#interim = 0;
    this.#retry = again ? head : null;
    this.#head.reset();
    if (this.#served > 0 && this.link.asksTimes) this.#startMs = performance.now();
    return this.link.write(head);
  }

  /** How the answer whose head arrives has come. */
  get way(): UpstreamWay {
    return { waitMs: this.#served === 0 ? this.link.waitMs : 0, roundTripMs: this.link.roundTripMs };
  }

  write(chunk: Buffer): boolean {
    return this.link.write(chunk);
  }

  /** Resets the connection without a call to the owner. */
  abandon(code: ResetCode = 'cancelled'): void {
    this.#phase = phase.over;
    this.link.reset(code);
  }

  /** No further request follows: ends the connection if nothing is left to exchange, else resets it. */
  release(): void {
    const isOver = this.#phase === phase.idle || this.#phase === phase.over;
    const said = isOver || (this.#phase === phase.opaque && this.link.remoteEnded);
    if (said) this.link.end();
    else this.abandon();
    this.#phase = phase.over;
  }

  onLinkOpened(): void {}

  onLinkDrain(): void {
    this.owner.onUpstreamDrain();
  }

  onLinkQuiet(isLost: boolean): void {
    this.#isDoubted = true;
    if (this.retryable !== null) this.#fail(isLost ? 'hop-silent' : 'broke');
  }

  onLinkData(chunk: Buffer): void {
    if (this.#phase === phase.body) this.#receiveBody(chunk, 0);
    else if (this.#phase === phase.head) this.#receiveHead(chunk);
    else if (this.#phase === phase.opaque) this.owner.onOpaque(chunk);
    else this.#unasked(chunk);
  }

  /** Bytes that belong to no request: a response longer than its length, or one without a request. */
  #unasked(chunk: Buffer): void {
    this.link.consume(chunk.length);
    if (this.#phase === phase.idle) this.abandon('protocol');
  }

  #receiveHead(chunk: Buffer): void {
    const held = this.#held;
    const bytes = held?.add(chunk) ?? chunk;
    this.#held = null;
    let from = 0;
    while (this.#phase === phase.head) {
      const end = this.#head.scan(bytes, from, bytes.length);
      if (end < 0) {
        this.#fail(this.#failureOf(bytes, from));
        return;
      }
      if (end === 0) {
        this.#hold(from === 0 ? held : null, bytes, from);
        return;
      }
      if (!this.#takeHead(bytes, from, end)) return;
      from = end;
    }
  }

  /** What the upstream sent in place of a head, judged by the first bytes. */
  #failureOf(bytes: Buffer, from: number): UpstreamFailure {
    if (startsHttp2(bytes, from)) return 'speaks-http2';
    return this.#upgrade !== null ? 'bad-upgrade' : 'bad-response';
  }

  /** Scans the next head from its own start, after an interim one. */
  #hold(held: HeldBytes | null, bytes: Buffer, from: number): void {
    if (from > 0) this.#head.reset();
    this.#held = held ?? new HeldBytes(bytes.subarray(from));
  }

  /** True if this was an interim head and the next head may follow in the same bytes. */
  #takeHead(bytes: Buffer, from: number, end: number): boolean {
    const head = this.#head;
    if (head.interim) return this.#takeInterim(bytes, from, end);
    if (head.status === 101) return this.#takeUpgrade(bytes, from, end);
    const kind = head.bodyKind(this.#method);
    this.#body.start(kind, head.contentLength);
    this.#reusable = !head.close && !head.http10 && kind !== 'until-close';
    this.#phase = phase.body;
    this.#retry = null;
    if (this.#body.sink === null) this.#respondWhole(bytes, from, end);
    else this.#respondUnframed(bytes, from, end);
    return false;
  }

  /** Passes the head and the first part of the body in one call, so a short response can leave in one write. */
  #respondWhole(bytes: Buffer, from: number, end: number): void {
    const bodyEnd = this.#body.take(bytes, end, bytes.length);
    if (bodyEnd < 0) {
      this.#fail('bad-response');
      return;
    }
    this.owner.onResponse(this.#head, bytes, from, end, bodyEnd);
    this.#afterBody(bytes, bodyEnd);
  }

  #respondUnframed(bytes: Buffer, from: number, end: number): void {
    this.owner.onResponse(this.#head, bytes, from, end, end);
    if (this.#body.done) this.#afterBody(bytes, end);
    else if (end < bytes.length) this.#receiveBody(bytes, end);
  }

  #takeInterim(bytes: Buffer, from: number, end: number): boolean {
    if (++this.#interim > maxInterim) {
      this.#fail('bad-response');
      return false;
    }
    this.owner.onResponse(this.#head, bytes, from, end, end);
    this.#head.reset();
    return end < bytes.length;
  }

  #takeUpgrade(bytes: Buffer, from: number, end: number): false {
    if (!this.#agrees(bytes)) {
      this.#fail('bad-response');
      return false;
    }
    this.#phase = phase.opaque;
    this.#retry = null;
    this.#tellTimes();
    this.owner.onResponse(this.#head, bytes, from, end, end);
    if (end < bytes.length) this.owner.onOpaque(bytes.subarray(end));
    return false;
  }

  /** RFC 9110 7.8: a server switches only to a protocol that the request named. */
  #agrees(bytes: Buffer): boolean {
    const head = this.#head;
    const offers = head.upgrade && head.upgradeStart >= 0;
    return offers && upgradeOf(head, bytes).toLowerCase() === this.#upgrade?.toLowerCase();
  }

  #receiveBody(bytes: Buffer, from: number): void {
    const end = this.#body.take(bytes, from, bytes.length);
    if (end < 0) {
      this.#fail('bad-response');
      return;
    }
    this.owner.onResponseBody(bytes, from, end);
    this.#afterBody(bytes, end);
  }

  #afterBody(bytes: Buffer, end: number): void {
    if (!this.#body.done || this.#phase !== phase.body) return;
    this.#served++;
    this.#phase = phase.idle;
    const { keepAliveSeconds } = this.#head;
    const surelyMs = keepAliveSeconds < 0 ? unannouncedKeepAliveMs : keepAliveSeconds * 1_000 - keepAliveMarginMs;
    this.#surelyUsableUntilMs = this.#clock.nowMs + surelyMs;
    this.#tellTimes();
    if (end < bytes.length) this.#unasked(bytes.subarray(end));
    else if (!this.#reusable) this.link.end();
    if (!this.#reusable) this.#phase = phase.over;
    this.owner.onResponseDone();
  }

  onLinkEnd(): void {
    if (this.#phase === phase.opaque) this.owner.onOpaqueEnd();
    else if (this.#phase === phase.body && this.#body.kind === 'until-close') this.#endsByClose();
    else if (this.#phase === phase.idle) this.release();
    else if (this.#phase !== phase.over) this.#fail('broke');
  }

  #endsByClose(): void {
    this.#phase = phase.over;
    this.#tellTimes();
    this.link.end();
    this.owner.onResponseDone();
  }

  /** Call it before the link ends: afterwards TIMES cannot be sent. */
  #tellTimes(): void {
    if (this.link.asksTimes) this.link.tellTimes({ edgeMs: 0, totalMs: performance.now() - this.#startMs });
  }

  onLinkFail(code: LinkFailure): void {
    if (code === 'carrier-lost') this.#isDoubted = true;
    if (this.#phase === phase.over || this.#phase === phase.idle) this.#phase = phase.over;
    else this.#fail(code);
  }

  #fail(failure: UpstreamFailure): void {
    // The owner reads `retryable`, which depends on the phase, so the phase changes after the call.
    const { owner } = this;
    this.link.reset(isNoHttp(failure) ? 'protocol' : 'cancelled');
    owner.onUpstreamFail(failure);
    this.#phase = phase.over;
  }
}

/** The upstream answered, but not with HTTP/1.1: its client tells the user. */
const isNoHttp = (failure: UpstreamFailure): boolean =>
  failure === 'bad-response' || failure === 'speaks-http2' || failure === 'bad-upgrade';
