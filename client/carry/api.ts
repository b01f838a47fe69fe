// The types that commands use to carry a tunnel: options, a handle, events, and a snapshot for the live status.

import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { HttpUpstream, IngressUpstream, Upstream } from '@underpass/rules/tunnel/upstream.ts';
import type { Closings } from '@underpass/runtime/memory-reclaim.ts';
import type { SessionClock } from '@underpass/wire/clock.ts';
import type { OpenRequest } from '@underpass/wire/core/open.ts';
import type { Problem } from './problem.ts';
import type { OpenTap } from './tap.ts';

/** `sentHost`: the Host that the upstream gets. Without it, the one that the visitor sent. */
export interface CarriedHttpUpstream extends HttpUpstream {
  readonly sentHost?: string;
}

export type TunnelUpstreams =
  | { readonly type: 'http'; readonly list: readonly CarriedHttpUpstream[] }
  | { readonly type: 'ingress'; readonly list: readonly IngressUpstream[] }
  /** One upstream, for all visitors of the port. */
  | { readonly type: 'tcp'; readonly list: readonly { readonly upstream: Upstream }[] };

export interface CarryOptions {
  /** Tunnel.url: `https://host[:port][#ca=<sha256 hex>]`. */
  readonly url: string;
  readonly token: string;
  readonly upstreams: TunnelUpstreams;
  /** PEM of CAs to trust for https upstreams; if missing, the system's CAs. */
  readonly upstreamCaPem?: string;
  /** Accepts any certificate of https upstreams. */
  readonly upstreamInsecure: boolean;
  /** PEM of CAs to trust for the region, besides the system's: for proxies that replace certificates. */
  readonly caPem?: string;
  /** `underpass/0.1.0`. */
  readonly software: string;
  /** Read for HTTPS_PROXY and NO_PROXY, in either case. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onEvent: (event: CarryEvent) => void;
  /** Tells an upstream in this process for which visitor a connection is, so it gets no PROXY header. */
  readonly onDialled?: OnDialled;
  /** Starts what takes every stream of a private tunnel in place of the upstreams, which are still probed. */
  readonly gateway?: (() => Promise<CarryGateway>) | undefined;
  /** Connects a visitor to an upstream inside this process, in place of a socket to the one that `upstreams` names. */
  readonly openInside?: OpenInside;
  /** The inspector's. */
  readonly openTap?: OpenTap;
  /** Streams that are still open this long after drain() are cut; 30 s if missing. */
  readonly drainTimeoutMs?: number;
  /** Tests pass their own. */
  readonly clock?: SessionClock;
  readonly random?: () => number;
}

/** The connection to the upstream is open; none of the visitor's bytes has arrived there yet. */
export type OnDialled = (request: OpenRequest, socket: Socket) => void;

/** A part of this process that ends TLS for visitors, and dials the upstream itself. */
export interface CarryGateway {
  readonly upstream: Upstream;
  readonly onDialled: OnDialled;
  close(): void;
}

/** Returns the visitor's end of a connection that is open. It allows a half-close. */
export type OpenInside = (request: OpenRequest) => Duplex;

export type CarryEvent =
  | { readonly kind: 'connected'; readonly edge: string; readonly address: string; readonly urls: readonly string[] }
  /** `problem` is null if the client or the edge ended the carrier on purpose (drain, close). */
  | { readonly kind: 'disconnected'; readonly edge: string; readonly problem: Problem | null }
  | { readonly kind: 'failed'; readonly problem: Problem; readonly retryMs: number }
  | {
      readonly kind: 'upstream';
      readonly key: string;
      readonly upstream: string;
      readonly healthy: boolean;
      readonly problem: Problem | null;
    }
  /** The tunnel runs, but probably not as its user means it to. */
  | { readonly kind: 'doubt'; readonly problem: Problem }
  /** A visitor's stream failed. Reported at most once a second. */
  | { readonly kind: 'stream-failed'; readonly host: string; readonly problem: Problem };

export interface CarrierStatus {
  readonly edge: string;
  readonly region: string;
  readonly address: string;
  readonly rttMs: number | null;
  readonly sinceMs: number;
  readonly streams: number;
}

export interface UpstreamStatus {
  /** Host name, `*`, `:80` or `:443`. */
  readonly key: string;
  readonly upstream: string;
  readonly healthy: boolean;
}

export interface CarryStatus {
  /** 'connected' if at least one carrier is. */
  readonly state: 'connecting' | 'connected' | 'draining' | 'stopped';
  readonly carriers: readonly CarrierStatus[];
  readonly upstreams: readonly UpstreamStatus[];
  readonly openStreams: number;
  /** Streams since the start, finished ones included. */
  readonly totalStreams: number;
  /** Payload bytes: rx from visitors to the upstream, tx towards visitors. */
  readonly rxBytes: number;
  readonly txBytes: number;
  /** The tunnel's name, as an edge sent it; null if none has. Kept while no edge is connected. */
  readonly tunnel: string | null;
  readonly urls: readonly string[];
  /** The most important problem; null if there is none. */
  readonly problem: Problem | null;
}

export interface Carrying {
  status(): CarryStatus;
  /** Cheaper than the status, for a timer. */
  streams(): Closings;
  /** Accepts no new streams. Resolves when the open ones have ended or the drain timeout is over. */
  drain(): Promise<void>;
  close(): void;
}
