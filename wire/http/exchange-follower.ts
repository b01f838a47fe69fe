// Follows the HTTP/1.1 exchanges between an edge and one upstream connection: where each head and body begins and ends, in both
// directions. It may put another head in a head's place; everything else passes as it came. Pure: bytes in, bytes out.
//
// An edge sends one request at a time, and it reads requests and answers with the parsers of this folder. So both agree on every
// boundary. If a request does not fit, the connection must end. If an answer does not fit, it passes unchanged: the edge judges it.

import { BodyScan, type BodySink } from './body-scan.ts';
import { HeldBytes } from './held-bytes.ts';
import { type Method, RequestHead } from './request-head.ts';
import { ResponseHead } from './response-head.ts';

/** Where the bytes go. A buffer is lent: it is valid during the call. */
interface FollowedBytes {
  toUpstream(bytes: Buffer): void;
  toVisitor(bytes: Buffer): void;
}

/** Each call gets a whole head, which is `bytes` from `from` to `end`, and returns the head to send instead, or null. */
export interface HeadEditor {
  editRequest(head: RequestHead, bytes: Buffer, from: number, end: number): Buffer | null;
  /** Interim responses and 101 too. */
  editResponse(head: ResponseHead, bytes: Buffer, from: number, end: number): Buffer | null;
}

export type Side = 'request' | 'response';

/** Sees the exchanges and changes nothing. Buffers are lent, and the heads are used again. */
export interface ExchangeObserver {
  /** The head as it came, before an editor. */
  onRequest(head: RequestHead, bytes: Buffer, from: number, end: number): void;
  /** Interim responses come first. After 101 only onUpgraded follows. */
  onResponse(head: ResponseHead, bytes: Buffer, from: number, end: number): void;
  /** A part of the body without its framing. */
  onBody(side: Side, bytes: Uint8Array, from: number, to: number): void;
  onTrailer(side: Side, name: string, value: string): void;
  /** The message is complete. A response may be complete before its request. */
  onDone(side: Side): void;
  /** Bytes of the protocol to which the connection was upgraded. */
  onUpgraded(side: Side, bytes: Buffer): void;
  /** The upstream's bytes are no answer to a request: no call about this connection follows. */
  onLost(): void;
}

/** An edge adds its identity fields, some 600 bytes in 8 lines, to a head that kept its limits: twice these is room enough. */
const forwardedLimits = { headBytes: 64 * 1024, startLineBytes: 16 * 1024, fieldLines: 256 };

/** The edge before this has counted how often a request passed by, and adds one to that number. */
class ForwardedHead extends RequestHead {
  constructor() {
    super(forwardedLimits);
  }

  protected override viaField(): true {
    return true;
  }
}

export class ExchangeFollower {
  readonly #out: FollowedBytes | null;
  readonly #editor: HeadEditor | null;
  readonly #observer: ExchangeObserver | null;
  readonly #requestHead = new ForwardedHead();
  readonly #requestBody = new BodyScan();
  readonly #responseHead = new ResponseHead();
  readonly #responseBody = new BodyScan();
  #request: 'head' | 'body' | 'sent' = 'head';
  #response: 'idle' | 'head' | 'body' | 'done' | 'lost' = 'idle';
  #method: Method = 'other';
  #upgraded = false;
  /** An incomplete head; bounded by its limit. */
  #heldRequest: HeldBytes | null = null;
  #heldResponse: HeldBytes | null = null;

  /** Follows only, without an editor, if `out` is null. */
  constructor(out: FollowedBytes | null, editor: HeadEditor | null, observer: ExchangeObserver | null) {
    this.#out = out;
    this.#editor = editor;
    this.#observer = observer;
    if (observer === null) return;
    this.#requestBody.sink = sinkOf('request', observer);
    this.#responseBody.sink = sinkOf('response', observer);
  }

  /** Bytes from the edge. False if they are not one well-formed request at a time: the connection must end. */
  takeRequest(chunk: Buffer): boolean {
    if (chunk.length === 0) return true;
    if (this.#upgraded) return this.#passRequest(chunk);
    if (this.#request === 'head') return this.#response === 'idle' && this.#takeRequestHead(chunk);
    return this.#request === 'body' && this.#takeRequestBody(chunk, 0);
  }

  #passRequest(chunk: Buffer): true {
    this.#observer?.onUpgraded('request', chunk);
    this.#out?.toUpstream(chunk);
    return true;
  }

  #takeRequestHead(chunk: Buffer): boolean {
    const bytes = this.#heldRequest?.add(chunk) ?? chunk;
    const head = this.#requestHead;
    const end = head.scan(bytes, 0, bytes.length);
    if (end < 0) return false;
    if (end === 0) {
      this.#heldRequest ??= new HeldBytes(bytes, forwardedLimits.headBytes);
      return true;
    }
    this.#heldRequest = null;
    this.#beginExchange(bytes, end);
    return this.#requestBody.done ? this.#requestDone(bytes.length - end) : this.#takeRequestBody(bytes, end);
  }

  #beginExchange(bytes: Buffer, end: number): void {
    const head = this.#requestHead;
    this.#method = head.method;
    this.#requestBody.start(head.bodyKind, head.contentLength);
    this.#request = 'body';
    this.#response = 'head';
    this.#responseHead.reset();
    const { lineStart } = head;
    this.#observer?.onRequest(head, bytes, lineStart, end);
    const sent = this.#editor?.editRequest(head, bytes, lineStart, end) ?? null;
    this.#out?.toUpstream(sent ?? bytes.subarray(lineStart, end));
  }

  #takeRequestBody(bytes: Buffer, from: number): boolean {
    if (from === bytes.length) return true;
    const end = this.#requestBody.take(bytes, from, bytes.length);
    if (end < 0) return false;
    this.#out?.toUpstream(bytes.subarray(from, end));
    return !this.#requestBody.done || this.#requestDone(bytes.length - end);
  }

  /** No byte may follow before the answer is complete. */
  #requestDone(restBytes: number): boolean {
    this.#request = 'sent';
    this.#observer?.onDone('request');
    this.#endExchange();
    return restBytes === 0;
  }

  /** Bytes from the upstream. */
  takeResponse(chunk: Buffer): void {
    if (chunk.length === 0) return;
    if (this.#upgraded) this.#passResponse(chunk);
    else if (this.#response === 'head') this.#takeResponseHead(chunk);
    else if (this.#response === 'body') this.#takeResponseBody(chunk, 0);
    else this.#lose(chunk);
  }

  /** The upstream has ended its direction. */
  endResponse(): void {
    const held = this.#heldResponse;
    if (held !== null) this.#lose(held.all);
    else if (this.#response === 'body' && this.#responseBody.kind === 'until-close') this.#responseDone();
  }

  #passResponse(chunk: Buffer): void {
    this.#observer?.onUpgraded('response', chunk);
    this.#out?.toVisitor(chunk);
  }

  /** The edge gets what is left as it came, and ends the connection; a further request is refused here. */
  #lose(rest: Buffer): void {
    if (this.#response !== 'lost') this.#observer?.onLost();
    this.#response = 'lost';
    this.#heldResponse = null;
    this.#out?.toVisitor(rest);
  }

  #takeResponseHead(chunk: Buffer): void {
    const held = this.#heldResponse;
    const bytes = held?.add(chunk) ?? chunk;
    this.#heldResponse = null;
    let from = 0;
    while (from < bytes.length && this.#response === 'head' && !this.#upgraded) {
      const end = this.#responseHead.scan(bytes, from, bytes.length);
      if (end === 0) {
        this.#holdResponse(from === 0 ? held : null, bytes, from);
        return;
      }
      if (end < 0 || !this.#agreesToUpgrade()) {
        this.#lose(bytes.subarray(from));
        return;
      }
      this.#beginResponse(bytes, from, end);
      from = end;
    }
    if (from === bytes.length) return;
    if (this.#response === 'body' && !this.#upgraded) this.#takeResponseBody(bytes, from);
    else this.takeResponse(bytes.subarray(from));
  }

  /** Scans the next head from its own start, after an interim one. */
  #holdResponse(held: HeldBytes | null, bytes: Buffer, from: number): void {
    if (from > 0) this.#responseHead.reset();
    this.#heldResponse = held ?? new HeldBytes(bytes.subarray(from));
  }

  #agreesToUpgrade(): boolean {
    const head = this.#responseHead;
    return head.status !== 101 || (this.#requestHead.wantsUpgrade && head.upgrade && head.upgradeStart >= 0);
  }

  #beginResponse(bytes: Buffer, from: number, end: number): void {
    const head = this.#responseHead;
    this.#observer?.onResponse(head, bytes, from, end);
    const sent = this.#editor?.editResponse(head, bytes, from, end) ?? null;
    this.#out?.toVisitor(sent ?? bytes.subarray(from, end));
    if (head.status === 101) this.#upgraded = true;
    else if (head.interim) head.reset();
    else {
      this.#responseBody.start(head.bodyKind(this.#method), head.contentLength);
      this.#response = 'body';
      if (this.#responseBody.done) this.#responseDone();
    }
  }

  #takeResponseBody(bytes: Buffer, from: number): void {
    const end = this.#responseBody.take(bytes, from, bytes.length);
    if (end < 0) {
      this.#lose(bytes.subarray(from));
      return;
    }
    this.#out?.toVisitor(bytes.subarray(from, end));
    if (this.#responseBody.done) this.#responseDone();
    if (end < bytes.length) this.takeResponse(bytes.subarray(end));
  }

  #responseDone(): void {
    this.#response = 'done';
    this.#observer?.onDone('response');
    this.#endExchange();
  }

  #endExchange(): void {
    if (this.#request !== 'sent' || this.#response !== 'done') return;
    this.#request = 'head';
    this.#response = 'idle';
    this.#requestHead.reset();
  }
}

function sinkOf(side: Side, observer: ExchangeObserver): BodySink {
  return {
    data: (bytes, from, to) => observer.onBody(side, bytes, from, to),
    trailer: (name, value) => observer.onTrailer(side, name, value),
  };
}
