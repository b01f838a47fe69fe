// Turns the bytes of one visitor's stream into exchanges of the log: the tap beside the relay.

import type { ExchangeError } from '@underpass/rules/inspect/exchange.ts';
import { chooseUpstream } from '@underpass/rules/visit/upstream-path.ts';
import type { ResetCode } from '@underpass/wire/core/code.ts';
import type { Times } from '@underpass/wire/core/times.ts';
import { ExchangeFollower, type ExchangeObserver, type Side } from '@underpass/wire/http/exchange-follower.ts';
import type { RequestHead } from '@underpass/wire/http/request-head.ts';
import type { ResponseHead } from '@underpass/wire/http/response-head.ts';
import { type Problem, problems } from '../carry/problem.ts';
import type { Tap } from '../carry/tap.ts';
import { EventStreamReader } from './event-stream.ts';
import type { ExchangeLog, KeptExchange, Route } from './exchange-log.ts';
import { errorOfEnd, errorOfUpgradedEnd } from './inspect-error.ts';
import { FrameReader } from './websocket-frames.ts';

export interface CaptureOrigin {
  readonly tunnel: string;
  readonly route: Route;
  /** Empty for a replay. */
  readonly visitorAddress: string;
  readonly replayOf: number | null;
  /** The last round trip of the carriers. */
  readonly rttMs: () => number | null;
}

export class Capture implements Tap, ExchangeObserver {
  readonly #log: ExchangeLog;
  readonly #origin: CaptureOrigin;
  readonly #follower: ExchangeFollower;
  #isFollowing = true;
  #isConnected = false;
  #isClosed = false;
  /** The exchange that is not complete. */
  #current: KeptExchange | null = null;
  #last: KeptExchange | null = null;
  /** The exchange whose request is not complete: its answer may end first. */
  #asking: KeptExchange | null = null;
  #events: EventStreamReader | null = null;
  #frames: Readonly<Record<Side, FrameReader>> | null = null;
  /** Which side ended its direction first; a reset by the edge counts as the visitor's. */
  #endedBy: 'visitor' | 'upstream' | null = null;
  /** Null if the edge gave no reason, or only after the upstream had ended: an edge resets what it cannot complete. */
  #resetBy: ResetCode | null = null;
  #isUpgraded = false;
  #hasCloseFrame = false;

  constructor(log: ExchangeLog, origin: CaptureOrigin) {
    this.#log = log;
    this.#origin = origin;
    this.#follower = new ExchangeFollower(null, null, this);
  }

  /** The exchange that is on its way, or the last one. */
  get latest(): KeptExchange | null {
    return this.#last;
  }

  connected(): void {
    this.#isConnected = true;
    if (this.#current !== null) this.#current.connectMs = this.#log.clock.now() - this.#current.startMs;
  }

  rx(bytes: Buffer): void {
    if (this.#isFollowing) this.#isFollowing = this.#follower.takeRequest(bytes);
  }

  tx(bytes: Uint8Array): void {
    if (this.#isFollowing) this.#follower.takeResponse(bytes as Buffer);
  }

  txEnd(): void {
    if (this.#isFollowing) this.#follower.endResponse();
    this.#endedBy ??= 'upstream';
  }

  rxEnd(): void {
    if (this.#isUpgraded) this.#endedBy ??= 'visitor';
  }

  /** The edge's clock and this one differ, so the tunnel is what neither side spent: both ways, with what waits in it. */
  times({ edgeMs, totalMs }: Times): void {
    const exchange = this.#last;
    if (exchange === null) return;
    const { startMs, responseStartMs, endMs } = exchange;
    const ownMs = (exchange.state === 'open' ? responseStartMs : endMs) - startMs;
    exchange.edgeMs = edgeMs;
    exchange.tunnelMs = Math.max(0, totalMs - edgeMs - ownMs);
    this.#log.changed(exchange);
  }

  failed({ code, detail }: Problem): void {
    const { title, fix } = problems[code];
    this.failedWith({ code, title, detail, fix });
  }

  failedWith(error: ExchangeError): void {
    // A check for TLS may end after the stream.
    const exchange = this.#current ?? (this.#isClosed ? this.#last : null) ?? this.#add('');
    this.#finish(exchange, error);
  }

  reset(code: ResetCode): void {
    if (this.#endedBy !== 'upstream') this.#resetBy = code;
  }

  closed(): void {
    this.#isFollowing = false;
    this.#isClosed = true;
    const left = this.#current;
    if (left === null) return;
    this.#finish(left, this.#isUpgraded ? this.#errorOfUpgraded(left) : errorOfEnd(this.#resetBy, left.responseHead !== ''));
  }

  #errorOfUpgraded({ kind }: KeptExchange): ExchangeError | null {
    const wasCut = kind === 'websocket' && !this.#hasCloseFrame && this.#endedBy !== 'visitor';
    return errorOfUpgradedEnd(this.#resetBy, wasCut);
  }

  onRequest(_head: RequestHead, bytes: Buffer, from: number, end: number): void {
    this.#asking = this.#add(bytes.toString('latin1', from, end));
  }

  onResponse(head: ResponseHead, bytes: Buffer, from: number, end: number): void {
    const exchange = this.#current;
    if (head.interim || exchange === null) return;
    exchange.responseStartMs = this.#log.clock.now();
    exchange.responseHead = bytes.toString('latin1', from, end);
    this.#log.hold(exchange, end - from);
    this.#isUpgraded = head.status === 101;
    if (this.#isUpgraded) this.#readFrames(exchange);
    else if (isEventStream(exchange.responseHead)) this.#readEvents(exchange);
    this.#log.changed(exchange);
  }

  onBody(side: Side, bytes: Uint8Array, from: number, to: number): void {
    const exchange = side === 'request' ? this.#asking : this.#current;
    if (exchange === null) return;
    this.#log.keepBody(exchange, exchange[side], bytes, from, to);
    if (side === 'response') this.#events?.take(bytes, from, to);
  }

  onTrailer(): void {}

  onDone(side: Side): void {
    if (side === 'response') {
      if (this.#current !== null) this.#finish(this.#current, null);
      return;
    }
    if (this.#asking !== null) this.#asking.requestEndMs = this.#log.clock.now();
    this.#asking = null;
  }

  onUpgraded(side: Side, bytes: Buffer): void {
    if (this.#current !== null) this.#current.upgradedBytes[side] += bytes.length;
    this.#frames?.[side].take(bytes, 0, bytes.length);
  }

  onLost(): void {
    this.#isFollowing = false;
  }

  #add(requestHead: string): KeptExchange {
    const { tunnel, route, visitorAddress, replayOf, rttMs } = this.#origin;
    const connectMs = this.#isConnected ? 0 : Number.NaN;
    const exchange = this.#log.add({
      tunnel,
      route: routeOf(route, requestHead),
      visitorAddress,
      replayOf,
      requestHead,
      connectMs,
      tunnelMs: rttMs(),
    });
    this.#current = exchange;
    this.#last = exchange;
    return exchange;
  }

  #readEvents(exchange: KeptExchange): void {
    exchange.kind = 'events';
    this.#events = new EventStreamReader((event) =>
      this.#log.keepEvent(exchange, { ...event, atMs: this.#log.clock.now() - exchange.startMs }),
    );
  }

  #readFrames(exchange: KeptExchange): void {
    if (!/\r\nupgrade:[ \t]*websocket[ \t]*\r\n/i.test(exchange.responseHead)) return;
    exchange.kind = 'websocket';
    const agreed = /\r\nsec-websocket-extensions:([^\r]*)/i.exec(exchange.responseHead)?.[1]?.toLowerCase() ?? '';
    const { inflateBudget: budget } = this.#log;
    const reader = (from: 'visitor' | 'upstream', forgets: string) =>
      new FrameReader(
        { budget, deflate: agreed.includes('permessage-deflate'), keepsContext: !agreed.includes(forgets) },
        (frame) => {
          this.#hasCloseFrame ||= frame.kind === 'close';
          this.#log.keepFrame(exchange, { ...frame, from, atMs: this.#log.clock.now() - exchange.startMs });
        },
      );
    this.#frames = {
      request: reader('visitor', 'client_no_context_takeover'),
      response: reader('upstream', 'server_no_context_takeover'),
    };
  }

  #finish(exchange: KeptExchange, error: ExchangeError | null): void {
    this.#current = null;
    this.#events = null;
    exchange.endMs = this.#log.clock.now();
    exchange.error = error;
    exchange.state = error === null ? 'done' : 'failed';
    this.#log.changed(exchange);
  }
}

/** Events of a compressed stream are not read as they pass. */
const isEventStream = (head: string): boolean =>
  head.includes('text/event-stream') &&
  /\r\ncontent-type:[ \t]*text\/event-stream/i.test(head) &&
  !/\r\ncontent-encoding:/i.test(head);

/** The upstream that the path of the request names. A request that leads to none shows the first. */
function routeOf(route: Route, requestHead: string): Route {
  if (route.routes === undefined) return route;
  const chosen = chooseUpstream(route.routes, requestHead.split(' ', 2)[1] ?? '');
  return chosen === null || chosen === 'unclear' ? route : { ...route, upstream: chosen.upstream, sentHost: chosen.sentHost };
}
