// The messages between control and an edge: snapshot, numbered deltas, acknowledgements, reports.
// Plain data; the framing is in feed-stream.ts. docs/protocol.md 10, The feed.

import type { ProxyProtocol } from '@underpass/rules/entity/entity.ts';
import type { PortProblem } from '@underpass/rules/tunnel/port-range.ts';
import type { TunnelType } from '@underpass/rules/tunnel/tunnel-type.ts';
import type { VisitRules } from '@underpass/rules/visit/grants.ts';
import type { PathRule } from '@underpass/rules/visit/path-rule.ts';

export const feedVersion = 1;
export const mostPortProblems = 100;

/** One tunnel as an edge needs it. Ids are never reused; names may be. */
export interface FeedTunnel {
  readonly id: string;
  readonly projectId: string;
  readonly name: string;
  readonly type: TunnelType;
  /** Verified ingress domains only: lower-case A-labels, no trailing dot. */
  readonly hosts: readonly string[];
  /** SHA-256 of each live token, hex. Rotation keeps the old one until expiresAtMs. */
  readonly tokens: readonly { readonly hash: string; readonly expiresAtMs: number | null }[];
  /** An empty list denies every visitor. */
  readonly allowList: readonly string[];
  readonly proxyProtocol: ProxyProtocol;
  /** A suspended tunnel refuses clients and visitors, and says so. */
  readonly suspended: boolean;
  /** The access policy of an http tunnel; absent: none. */
  readonly visit?: FeedVisit;
  /** The edge begins a trace for each request without one. An earlier edge begins none. */
  readonly beginsTraces?: true;
  /** Absent: the visitor log is off. */
  readonly visitorLog?: FeedVisitorLog;
  /** The public port of a tcp tunnel. Absent: it has none. An edge of an earlier version listens on no such port. */
  readonly port?: number;
  /** Who reaches a private tunnel: a tcp tunnel without a port. An edge of an earlier version lets nobody reach it. */
  readonly reach?: FeedReach;
}

export interface FeedReach {
  /** Any of them may have signed the pass of a member. */
  readonly keys: readonly string[];
  /**
   * What members' passes may name: an id for each sign-in or token that got one. Who reaches the tunnel by an id that is not in the
   * list any more is cut.
   */
  readonly passes: readonly { readonly id: string; readonly expiresAtMs: number | null }[];
  readonly tickets: readonly { readonly id: string; readonly hash: string; readonly expiresAtMs: number | null }[];
}

/** What the visitor log of a tunnel keeps. */
export interface FeedVisitorLog {
  readonly address: 'truncated' | 'full';
  readonly query: boolean;
}

/** A visit of a tunnel whose visitor log is on. Its texts are printable ASCII. */
export interface FeedLogEntry {
  readonly atMs: number;
  readonly address: string;
  readonly who: string;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly status: number;
  readonly bytes: number;
  readonly edgeMs: number | null;
  readonly tunnelMs: number | null;
  readonly upstreamMs: number | null;
  readonly totalMs: number;
  readonly code: string;
  /** The path rule that refused; absent without one. */
  readonly rule?: string;
  /** The trace id that the upstream got; absent without one. */
  readonly trace?: string;
}

export interface FeedTunnelLog {
  readonly tunnelId: string;
  readonly entries: readonly FeedLogEntry[];
  /** Visits that were not noted. */
  readonly missed: number;
}

/** An access policy as an edge needs it, with the secrets that vouch for visitors. */
export interface FeedVisit extends VisitRules {
  readonly policyId: string;
  /** The security group's rules. The tunnel's own `allowList` is empty, so an edge that knows no policies denies everybody. */
  readonly allowList: readonly string[];
  /** 32 bytes, base64url: signs tickets, sessions and programs' tokens (signed-visit.ts). The code calls it the visit key. */
  readonly sealKey: string;
  /** ES256, private: signs the assertion for the upstream. PKCS #8, PEM. */
  readonly assertionKeyPem: string;
  /** `kid` of its public half, which control publishes. */
  readonly assertionKeyId: string;
  /** Control's public address without a trailing slash: the issuer of assertions, and where visitors sign in. */
  readonly origin: string;
  /** The rules where some are about MCP calls. `rules` then denies what these match, for edges that know no calls. */
  readonly callRules?: readonly PathRule[];
  /** Other origins whose pages may write and open WebSockets with a visitor's session. Absent from an older control: none. */
  readonly origins?: readonly string[];
}

/** A host may begin with one wildcard label (`*.example.com`). Of two certificates for a host a valid one of its project wins, then the later notAfterMs. */
export interface FeedCertificate {
  readonly id: string;
  readonly hosts: readonly string[];
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  readonly notAfterMs: number;
  /** A project gave it: edges prefer it until it ends. Older edges take the certificate that ends last. */
  readonly own?: true;
}

export type FeedChallenge =
  | {
      readonly id: string;
      readonly kind: 'http-01';
      readonly host: string;
      readonly token: string;
      readonly keyAuthorization: string;
    }
  | {
      readonly id: string;
      readonly kind: 'tls-alpn-01';
      readonly host: string;
      readonly certificatePem: string;
      readonly privateKeyPem: string;
    };

/** Another edge of the region, to which this edge may hand a visitor's stream: one hop at most. */
export interface FeedPeer {
  readonly edgeId: string;
  /** host:port of its hop listener. Empty if it has none: it then only counts as a second edge for clients. */
  readonly address: string;
}

/** An address or network that reaches nothing on this edge. */
export interface FeedBlock {
  /** The canonical text of the address or range. */
  readonly id: string;
}

export interface FeedState {
  readonly tunnels: readonly FeedTunnel[];
  readonly certificates: readonly FeedCertificate[];
  readonly challenges: readonly FeedChallenge[];
  readonly peers: readonly FeedPeer[];
  /** Missing from an older control: the edge keeps those that it holds. */
  readonly blocks?: readonly FeedBlock[];
}

export type ToEdge =
  | {
      readonly type: 'welcome';
      readonly version: number;
      readonly epoch: string;
      readonly region: string;
      /** True if control reads `partial` in a report. One that does not takes the tunnels that a report leaves out for empty. */
      readonly takesPartial?: boolean;
      /** True if control reads `visitor-log`. One that does not ends a feed that sends it. */
      readonly takesVisitorLog?: boolean;
    }
  | {
      readonly type: 'snapshot';
      readonly seq: number;
      readonly state: FeedState;
      /** Deltas complete this snapshot; the last of them does not say `more`. The edge applies the state only then. */
      readonly more?: boolean;
    }
  | {
      readonly type: 'delta';
      readonly seq: number;
      readonly more?: boolean;
      readonly put: Partial<FeedState>;
      /** Ids (edgeId for peers) to forget. */
      readonly drop: {
        readonly tunnels?: readonly string[];
        readonly certificates?: readonly string[];
        readonly challenges?: readonly string[];
        readonly peers?: readonly string[];
        readonly blocks?: readonly string[];
      };
    }
  | { readonly type: 'ping'; readonly id: number };

export interface FeedCopy {
  /** When it was written; null if there is none. */
  readonly writtenAtMs: number | null;
  /** The error of the last write; null once one succeeds. */
  readonly error: string | null;
}

/** Why the edge does not listen on the public ports of these tunnels, by their ids. */
export type FeedPortProblems = Readonly<Record<string, PortProblem>>;

export interface FeedClient {
  readonly id: string;
  readonly address: string;
  readonly version: string;
  readonly sinceMs: number;
  /** Last round trip over the data path; null before the first. */
  readonly rttMs: number | null;
  /** When that round trip ended. A client counts as connected for 15 s after it. */
  readonly provenAtMs: number | null;
  /** False while its upstream probe fails. */
  readonly healthy: boolean;
}

/** A client that presented a token of the tunnel, now or before a rotation, and was refused. Nothing in it is the client's text. */
export interface FeedRefusal {
  readonly code: string;
  readonly address: string;
  readonly atMs: number;
}

/** When the last client of a tunnel left this edge, and whether it said goodbye, as a client does that somebody stops. */
export interface FeedLeave {
  readonly atMs: number;
  readonly onPurpose: boolean;
}

/** Counters only grow from the start of the edge; control derives rates and history from them. */
export interface FeedTunnelReport {
  readonly tunnelId: string;
  readonly rxBytes: number;
  readonly txBytes: number;
  readonly connections: number;
  readonly requests: number;
  /** Answers by status and time (rules/tunnel/figures.ts). Absent: as in the report before. An earlier edge never says them. */
  readonly figures?: readonly number[];
  readonly clients: readonly FeedClient[];
  /** The last one. */
  readonly refused?: FeedRefusal;
  /** Absent while a client is there, and before the first. An earlier edge never says it. */
  readonly left?: FeedLeave;
  /** When tickets of a private tunnel last opened a connection here. */
  readonly ticketsUsed?: readonly { readonly id: string; readonly atMs: number }[];
}

export type FromEdge =
  | {
      readonly type: 'hello';
      readonly version: number;
      readonly edgeId: string;
      readonly region: string;
      readonly software: string;
      /** The address of its hop listener, if it has one. */
      readonly hopAddress?: string;
      /** When its counters were zero. A new value tells control that they start again. */
      readonly startedAtMs?: number;
      /** The state that the edge already holds, so that control can send only deltas. */
      readonly epoch?: string;
      readonly seq?: number;
    }
  | { readonly type: 'ack'; readonly seq: number }
  | {
      readonly type: 'report';
      readonly atMs: number;
      /**
       * The tunnels that have clients, or whose counters moved since the last report. The first report of a connection
       * holds every tunnel whose counters are above zero.
       */
      readonly tunnels: readonly FeedTunnelReport[];
      /** Only the tunnels whose clients changed since the last report: nothing is new about the others. */
      readonly partial?: boolean;
    }
  /** Visits of tunnels whose visitor log is on, at most once a second. */
  | { readonly type: 'visitor-log'; readonly tunnels: readonly FeedTunnelLog[] }
  | {
      readonly type: 'pong';
      readonly id: number;
      /** How the copy on the edge's disk stands. An earlier edge says nothing. */
      readonly copy?: FeedCopy;
      /** Absent: none. An edge tells of `mostPortProblems` at most. */
      readonly portProblems?: FeedPortProblems;
    };
