// What the commands see of the data plane: options in, a handle out, events and a snapshot for the live status.

import type { HttpUpstream, IngressUpstream } from '@underpass/rules/upstream.ts';
import type { SessionClock } from '@underpass/wire/clock.ts';
import type { Problem } from './problem.ts';

export type TunnelUpstreams =
  | { readonly type: 'http'; readonly list: readonly HttpUpstream[] }
  | { readonly type: 'ingress'; readonly list: readonly IngressUpstream[] };

export interface CarryOptions {
  /** Tunnel.url: `https://host[:port][#ca=<sha256 hex>]`. */
  readonly url: string;
  readonly token: string;
  readonly upstreams: TunnelUpstreams;
  /** PEM of the CA of https upstreams; without it the system's. */
  readonly upstreamCaPem?: string;
  /** https upstreams are not checked at all. */
  readonly upstreamInsecure: boolean;
  /** PEM of CAs that may vouch for the region besides the system's: for proxies that replace certificates. */
  readonly caPem?: string;
  /** `underpass/0.1.0`. */
  readonly software: string;
  /** Read for HTTPS_PROXY and NO_PROXY, in either case. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onEvent: (event: CarryEvent) => void;
  /** Streams that are still open this long after drain() are cut; 30 s where not given. */
  readonly drainTimeoutMs?: number;
  /** Tests pass their own. */
  readonly clock?: SessionClock;
  readonly random?: () => number;
}

export type CarryEvent =
  | { readonly kind: 'connected'; readonly edge: string; readonly address: string; readonly urls: readonly string[] }
  /** retryMs: when the next try starts; null where this was wanted (drain, close). */
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
  /** One visitor's stream could not be served. At most one a second is reported. */
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
  /** Connected: at least one carrier is. */
  readonly state: 'connecting' | 'connected' | 'draining' | 'stopped';
  readonly carriers: readonly CarrierStatus[];
  readonly upstreams: readonly UpstreamStatus[];
  readonly openStreams: number;
  /** Since the start, finished ones included. */
  readonly totalStreams: number;
  /** Payload: rx from visitors to the upstream, tx towards visitors. */
  readonly rxBytes: number;
  readonly txBytes: number;
  /** What the edges say about the tunnel, where they do; the last word stays when none is connected. */
  readonly tunnel: string | null;
  readonly urls: readonly string[];
  /** The most pressing one, null while all is well. */
  readonly problem: Problem | null;
}

export interface Carrying {
  status(): CarryStatus;
  /** Takes nothing new, lets open streams end, resolves when they have or the time is over. */
  drain(): Promise<void>;
  close(): void;
}
