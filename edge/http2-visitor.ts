// One visitor's HTTP/2 connection: each of its streams is one request on an HTTP/1.1 upstream connection.
// Upstream connections are kept for the same visitor's next request and for nobody else's.

import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { hostOf } from './core/authority.ts';
import { renderIdentity } from './core/forwarded-head.ts';
import type { Endpoints } from './core/proxy-protocol.ts';
import type { VisitorError } from './core/visitor-error.ts';
import type { House } from './house.ts';
import { Http2Exchange } from './http2-exchange.ts';
import type { Deadline } from './sweeper.ts';
import type { TunnelState, Visitor } from './tunnel-state.ts';
import { type ResponseOwner, UpstreamHttp } from './upstream-http.ts';

/** Upstream connections kept idle; a page rarely loads more at once. */
const maxIdle = 16;
/** After GOAWAY the visitor has this long to finish. */
const goodbyeMs = 10_000;

interface Kept {
  readonly host: string;
  readonly upstream: UpstreamHttp;
}

export class Http2Visitor implements Visitor, Deadline {
  readonly address: string;
  readonly host: string;
  deadlineMs: number;
  readonly house: House;
  readonly tunnel: TunnelState | null;
  readonly #session: ServerHttp2Session;
  readonly #ends: Endpoints;
  #idle: Kept[] = [];
  #open = 0;
  #closing = false;
  #authority = '';
  #identity: Buffer = Buffer.alloc(0);

  constructor(house: House, session: ServerHttp2Session, ends: Endpoints, host: string, tunnel: TunnelState | null) {
    this.house = house;
    this.#session = session;
    this.#ends = ends;
    this.address = ends.sourceAddress;
    this.host = host;
    this.tunnel = tunnel;
    this.deadlineMs = house.sweeper.nowMs + house.timeouts.keepAliveMs;
    house.sweeper.watch(this);
    tunnel?.visitors.add(this);
    session.on('stream', (stream, _headers, flags, rawHeaders) => this.#began(stream, flags, rawHeaders));
    session.on('error', () => {});
    session.on('close', () => this.#finish());
  }

  #began(stream: ServerHttp2Stream, flags: number, rawHeaders: readonly string[]): void {
    this.#open++;
    this.deadlineMs = Number.POSITIVE_INFINITY;
    stream.once('close', () => this.#ended());
    if (this.house.draining) this.#sayGoodbye();
    // END_STREAM on HEADERS: there is no body (RFC 9113 8.1).
    new Http2Exchange(this, stream).begin(rawHeaders, (flags & 1) === 0);
  }

  #ended(): void {
    if (--this.#open > 0) return;
    this.deadlineMs = this.house.sweeper.nowMs + (this.#closing ? goodbyeMs : this.house.timeouts.keepAliveMs);
  }

  admit(authority: string): VisitorError | null {
    return this.house.admit(hostOf(authority), this.tunnel, this.address);
  }

  identityFor(authority: string): Buffer {
    if (authority !== this.#authority) {
      this.#authority = authority;
      this.#identity = Buffer.from(renderIdentity({ address: this.address, proto: 'https', authority }), 'latin1');
    }
    return this.#identity;
  }

  takeUpstream(host: string, owner: ResponseOwner): UpstreamHttp {
    const tunnel = this.tunnel as TunnelState;
    this.#idle = this.#idle.filter(({ upstream }) => upstream.reusable);
    const kept = this.#idle.findLast((idle) => idle.host === host);
    if (kept === undefined) {
      return new UpstreamHttp((linkOwner) => this.house.openLink(tunnel, 'http', host, this.#ends, linkOwner), owner);
    }
    this.#idle.splice(this.#idle.indexOf(kept), 1);
    kept.upstream.owner = owner;
    return kept.upstream;
  }

  giveBack(host: string, upstream: UpstreamHttp): void {
    if (upstream.reusable && this.#idle.length < maxIdle && !this.#session.destroyed) this.#idle.push({ host, upstream });
    else upstream.release();
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
      this.deadlineMs = this.house.sweeper.nowMs + goodbyeMs;
    }
  }

  drain(): void {
    this.#sayGoodbye();
  }

  cut(): void {
    this.#session.destroy();
    this.#finish();
  }

  #finish(): void {
    this.house.sweeper.forget(this);
    this.tunnel?.visitors.delete(this);
    for (const { upstream } of this.#idle) upstream.release();
    this.#idle = [];
  }
}
