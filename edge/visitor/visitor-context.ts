// What every visitor's connection needs of this edge: routes, a way to upstreams, time, counters.

import type { WindowBudget } from '@underpass/wire/core/credit.ts';
import type { StreamKind } from '@underpass/wire/core/open.ts';
import type { Logger } from 'pino';
import { type Endpoints, encodeProxyHeader } from '../core/proxy-protocol.ts';
import type { VisitorError } from '../core/visitor-error.ts';
import type { Doorman } from '../limits/connection-limiter.ts';
import type { Sweeper } from '../limits/deadlines.ts';
import type { RouteTable } from '../routes/route-table.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import type { Dialer } from '../upstream/dialer.ts';
import { Link, type LinkOwner } from '../upstream/link.ts';
import { type ResponseOwner, UpstreamHttp } from '../upstream/upstream-http.ts';
import { createUploadBudget } from './upload-windows.ts';

export interface Timeouts {
  /** From the first byte of a connection or head to its last. */
  readonly headMs: number;
  /** A kept visitor connection without a request. */
  readonly keepAliveMs: number;
  /** From the last byte of a request to the head of its response, and between bytes of a request's body. */
  readonly responseMs: number;
  /** Bytes wait for a visitor that takes none. */
  readonly stallMs: number;
  /** Neither direction moves. */
  readonly idleStreamMs: number;
  /** The same while a response is on its way to a visitor that ended its side: it only said all, or it has gone. */
  readonly endedMs: number;
  /** One direction of a passed or upgraded connection has ended, and the other one does not move. */
  readonly halfClosedMs: number;
  /** Nobody has a client: one may have come a moment ago, and word of it be on its way. */
  readonly newsMs: number;
  /**
   * From the opening of a kept upstream connection to its last new request. Its client may be draining, here or behind a
   * hop: a visitor that asks on and on has left it by then, with two thirds of the drain to spare (client/carry/start.ts).
   * It also finds the clients that came later.
   */
  readonly keptMs: number;
}

export const defaultTimeouts: Timeouts = {
  headMs: 15_000,
  keepAliveMs: 75_000,
  responseMs: 120_000,
  stallMs: 120_000,
  idleStreamMs: 3_600_000,
  endedMs: 15_000,
  halfClosedMs: 300_000,
  newsMs: 250,
  keptMs: 10_000,
};

export class House {
  readonly table: RouteTable;
  readonly sweeper: Sweeper;
  readonly doorman: Doorman;
  readonly dialer: Dialer;
  readonly timeouts: Timeouts;
  readonly log: Logger;
  /** Of all HTTP/2 visitors together. */
  readonly uploadBudget: WindowBudget = createUploadBudget();
  /** Kept connections are ended at their next response. */
  draining = false;
  readonly errors: Map<VisitorError, number> = new Map();
  /** Responses by hundreds of their status; index 0 is unused. */
  readonly responses: number[] = [0, 0, 0, 0, 0, 0];
  /** Connections that ended before they could be routed. */
  unrouted = 0;

  constructor(parts: Pick<House, 'table' | 'sweeper' | 'doorman' | 'dialer' | 'timeouts' | 'log'>) {
    this.table = parts.table;
    this.sweeper = parts.sweeper;
    this.doorman = parts.doorman;
    this.dialer = parts.dialer;
    this.timeouts = parts.timeouts;
    this.log = parts.log;
  }

  /** Null where a request for `host` may go to `tunnel`, which its connection was routed to; else what to answer. */
  admit(host: string, tunnel: TunnelState | null, address: string): VisitorError | null {
    const found = this.table.tunnelOf(host);
    if (found === null && tunnel === null) return 'UNDERPASS_NO_SUCH_HOST';
    if (found === null || found !== tunnel) return 'UNDERPASS_MISDIRECTED';
    return this.admitTo(found, address);
  }

  admitTo(tunnel: TunnelState, address: string): VisitorError | null {
    if (!tunnel.permits(address)) return 'UNDERPASS_SOURCE_DENIED';
    return tunnel.feed.suspended ? 'UNDERPASS_SUSPENDED' : null;
  }

  openLink(tunnel: TunnelState, kind: StreamKind, host: string, ends: Endpoints, owner: LinkOwner): Link {
    const request = {
      kind,
      host,
      visitorAddress: ends.sourceAddress,
      visitorPort: ends.sourcePort,
      preface: encodeProxyHeader(tunnel.feed.proxyProtocol, ends),
      tunnelId: '',
      clientId: '',
    };
    return new Link(this.dialer, tunnel, request, owner);
  }

  /** A connection for the requests of one visitor. */
  openUpstream(tunnel: TunnelState, host: string, ends: Endpoints, owner: ResponseOwner): UpstreamHttp {
    const usableUntilMs = this.sweeper.nowMs + this.timeouts.keptMs;
    return new UpstreamHttp((linkOwner) => this.openLink(tunnel, 'http', host, ends, linkOwner), owner, usableUntilMs);
  }

  /** No further request goes there. Once for each. */
  letGo(upstream: UpstreamHttp): void {
    upstream.release();
    this.seeOff(upstream.link);
  }

  /** Nobody hears it any more. What was written still leaves; an upstream that does not end then is not waited for. */
  seeOff(link: Link): void {
    if (link.closed) return;
    const { sweeper, timeouts } = this;
    let { sentBytes } = link;
    const parting = {
      deadlineMs: sweeper.nowMs + timeouts.halfClosedMs,
      onDeadline: () => {
        if (link.sentBytes === sentBytes) link.reset('idle');
        else parting.deadlineMs = sweeper.nowMs + timeouts.halfClosedMs;
        sentBytes = link.sentBytes;
      },
    };
    link.onClosed = () => sweeper.forget(parting);
    sweeper.watch(parting);
  }

  countResponse(status: number): void {
    const hundreds = (status / 100) | 0;
    this.responses[hundreds] = (this.responses[hundreds] ?? 0) + 1;
  }

  countError(code: VisitorError): void {
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
  }
}
