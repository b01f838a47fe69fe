// Opens visitors' connections to upstreams, and ends those that no visitor uses any more.

import type { StreamKind } from '@underpass/wire/core/open.ts';
import { type Endpoints, encodeProxyHeader } from '../core/proxy-protocol.ts';
import type { Deadlines } from '../limits/deadlines.ts';
import type { Timeouts } from '../limits/timeouts.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import type { Dialer } from './dialer.ts';
import { Link, type LinkOwner } from './link.ts';
import { type ResponseOwner, UpstreamHttp } from './upstream-http.ts';

export class Upstreams {
  readonly #dialer: Dialer;
  readonly #deadlines: Deadlines;
  readonly #timeouts: Timeouts;

  constructor(dialer: Dialer, deadlines: Deadlines, timeouts: Timeouts) {
    this.#dialer = dialer;
    this.#deadlines = deadlines;
    this.#timeouts = timeouts;
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
    return new Link(this.#dialer, tunnel, request, owner);
  }

  /** A connection for the requests of one visitor. */
  openHttp(tunnel: TunnelState, host: string, ends: Endpoints, owner: ResponseOwner): UpstreamHttp {
    const open = (linkOwner: LinkOwner): Link => this.openLink(tunnel, 'http', host, ends, linkOwner);
    return new UpstreamHttp(open, owner, this.#deadlines, this.#timeouts.reuseMs);
  }

  /** Ends a connection that gets no further request. Call once for each. */
  release(upstream: UpstreamHttp): void {
    upstream.release();
    this.finish(upstream.link);
  }

  /** Lets a link without an owner send what was written, then resets it unless the upstream ends it in time. */
  finish(link: Link): void {
    if (link.closed) return;
    const { halfClosedMs } = this.#timeouts;
    const deadlines = this.#deadlines;
    let { sentBytes } = link;
    const ending = {
      deadlineMs: deadlines.nowMs + halfClosedMs,
      onDeadline: () => {
        if (link.sentBytes === sentBytes) link.reset('idle');
        else ending.deadlineMs = deadlines.nowMs + halfClosedMs;
        sentBytes = link.sentBytes;
      },
    };
    link.onClosed = () => deadlines.forget(ending);
    deadlines.watch(ending);
  }
}
