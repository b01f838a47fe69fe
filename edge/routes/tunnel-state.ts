// One tunnel on this edge: its configuration, its clients and visitors, its counters.

import { compileAllowList } from '@underpass/rules/address/allow-list.ts';
import { coversHost } from '@underpass/rules/names/hostname.ts';
import { countFirstByte, countStatus, emptyFigures } from '@underpass/rules/tunnel/figures.ts';
import type { TunnelType } from '@underpass/rules/tunnel/tunnel-type.ts';
import type { FeedLeave, FeedRefusal, FeedTunnel } from '@underpass/wire/feed/feed.ts';
import type { VisitorError } from '../core/visitor-error.ts';
import { mayReach, type Reacher } from './reacher.ts';
import type { TunnelClient } from './tunnel-client.ts';
import { VisitPolicy } from './visit-policy.ts';

/** A visitor's connection, as a tunnel sees it when its configuration changes. */
export interface Visitor {
  readonly address: string;
  /** The host by which the connection was routed. */
  readonly host: string;
  /** Who reaches a private tunnel; missing for all other visitors. */
  readonly reacher?: Reacher | undefined;
  /** Ends at once all requests for hosts that do not stay: a connection for one host of a tunnel may ask for others. */
  endOtherHosts(stays: (host: string) => boolean): void;
  /** Ends at once what runs and the policy does not admit. Tells the policy when the visitors of the rest end. */
  endUnadmitted(policy: VisitPolicy, nowMs: number): void;
  /** Resets both sides at once. */
  cut(): void;
  /** Ends it as soon as no request runs. */
  drain(): void;
}

/** The host of a visitor of a public port, as the visitor log and the access log show it. */
export const portHost = (port: number): string => `:${port}`;

const isServed = (feed: FeedTunnel, { host, reacher }: Visitor): boolean =>
  reacher === undefined
    ? coversHost(feed.hosts, host) || (feed.port !== undefined && host === portHost(feed.port))
    : mayReach(feed, reacher, Date.now());

/** What a link tells of the way to its upstream, in milliseconds. */
export interface UpstreamWay {
  /** Time until the edge had a client; 0 for a connection that is kept. */
  readonly waitMs: number;
  /** Time of the last round trip to the client. */
  readonly roundTripMs: number | null;
}

/** Replaced tokens that still name their tunnel when they are refused. */
const mostFormerTokens = 4;

export class TunnelState {
  feed: FeedTunnel;
  /** One entry for each carrier of a client of this tunnel. */
  readonly clients: TunnelClient[] = [];
  readonly visitors: Set<Visitor> = new Set();
  rxBytes = 0;
  txBytes = 0;
  connections = 0;
  requests = 0;
  /** Null before the first answer. */
  figures: number[] | null = null;
  /** The last client that presented a token of this tunnel and was refused. */
  refused: FeedRefusal | undefined;
  /** Set while no client is here, after the first. */
  left: FeedLeave | undefined;
  /** Hashes of tokens that are no longer valid, the newest first. */
  formerTokens: readonly string[] = [];
  /** When each ticket last opened a connection here. */
  readonly ticketsUsed: Map<string, number> = new Map();
  /** Rotates the choice among equal clients. */
  dialCount = 0;
  /** Gets this tunnel at its first client or visitor. */
  readonly #active: Set<TunnelState>;
  /** Compiled for the first visitor: most of many tunnels have none for a long time. */
  #permits: ((address: string) => boolean) | null = null;
  /** Compiled for the first visitor too; null without an access policy. */
  #visit: VisitPolicy | null | undefined;

  constructor(feed: FeedTunnel, active: Set<TunnelState> = new Set()) {
    this.feed = feed;
    this.#active = active;
  }

  countConnection(): void {
    this.connections++;
    this.#active.add(this);
  }

  /** An answer begins. */
  countAnswer(status: number): void {
    this.figures ??= emptyFigures();
    countStatus(this.figures, status);
  }

  /** An answer begins that came from the upstream this way, for a request since `startMs`. */
  countUpstreamAnswer(status: number, startMs: number, way: UpstreamWay | null): void {
    this.countAnswer(status);
    const totalMs = performance.now() - startMs;
    if (way !== null) countFirstByte(this.figures!, totalMs, Math.min(way.waitMs, totalMs), way.roundTripMs);
  }

  /** Noted for control, which shows when each ticket was last used. */
  reached({ kind, id }: Reacher, atMs: number): void {
    if (kind === 'ticket') this.ticketsUsed.set(id, atMs);
  }

  addClient(client: TunnelClient): void {
    this.clients.push(client);
    this.left = undefined;
    this.#active.add(this);
  }

  removeClient(client: TunnelClient, leave: FeedLeave): void {
    this.clients.splice(this.clients.indexOf(client), 1);
    if (this.clients.length === 0) this.left = leave;
  }

  refuse(refusal: FeedRefusal): void {
    this.refused = refusal;
    this.#active.add(this);
  }

  get type(): TunnelType {
    return this.feed.type;
  }

  /** One of its clients here takes streams, now or once it is less busy. */
  get takesStreams(): boolean {
    return this.clients.some(({ session }) => session.takesStreams);
  }

  get visit(): VisitPolicy | null {
    if (this.#visit === undefined) this.#visit = visitOf(this.feed);
    return this.#visit;
  }

  permits(address: string): boolean {
    this.#permits ??= compileAllowList(allowListOf(this.feed));
    return this.#permits(address);
  }

  /** Null if a visitor of this address may reach the tunnel, else the error to answer. */
  refusal(address: string): VisitorError | null {
    if (!this.permits(address)) return 'UNDERPASS_SOURCE_DENIED';
    return this.feed.suspended ? 'UNDERPASS_SUSPENDED' : null;
  }

  /** Applies a new configuration, and ends what that no longer allows. */
  update(feed: FeedTunnel, nowMs: number): void {
    const typeChanged = feed.type !== this.feed.type;
    const valid = new Set(feed.tokens.map(({ hash }) => hash));
    const ended = [...this.feed.tokens.map(({ hash }) => hash), ...this.formerTokens].filter((hash) => !valid.has(hash));
    this.formerTokens = ended.slice(0, mostFormerTokens);
    this.feed = feed;
    this.#permits = null;
    this.#visit = undefined;
    for (const id of this.ticketsUsed.keys())
      if (!feed.reach?.tickets.some((ticket) => ticket.id === id)) this.ticketsUsed.delete(id);
    for (const visitor of this.visitors) {
      const stays = !typeChanged && !feed.suspended && isServed(feed, visitor) && this.permits(visitor.address);
      if (stays) visitor.endOtherHosts((host) => coversHost(feed.hosts, host));
      else visitor.cut();
    }
    if (this.visitors.size > 0) this.#endUnadmitted(nowMs);
    this.refuseClients(nowMs);
  }

  /** Another tunnel has got a name that only a wildcard of this one covered. */
  leaveHost(host: string): void {
    for (const visitor of this.visitors) {
      if (visitor.host === host) visitor.cut();
      else visitor.endOtherHosts((each) => each !== host);
    }
  }

  #endUnadmitted(nowMs: number): void {
    const { visit } = this;
    visit?.restartEnds();
    if (visit !== null) for (const visitor of this.visitors) visitor.endUnadmitted(visit, nowMs);
  }

  /** Sessions, tokens and links end by the clock; control sends no message for it. */
  endVisits(nowMs: number): void {
    if (this.feed.reach !== undefined)
      for (const visitor of this.visitors)
        if (visitor.reacher !== undefined && !mayReach(this.feed, visitor.reacher, nowMs)) visitor.cut();
    if (this.#visit && this.#visit.nextEndMs <= nowMs) this.#endUnadmitted(nowMs);
  }

  /** Disconnects clients whose token is no longer valid, or all of a suspended tunnel. */
  refuseClients(nowMs: number): void {
    for (const client of [...this.clients]) {
      if (this.feed.suspended) client.session.close('tunnel-suspended', 'the tunnel is suspended');
      else if (!this.holdsToken(client.tokenHash, nowMs)) client.session.close('token-refused', 'the token is no longer valid');
    }
  }

  /** Hashes of every token that names this tunnel, valid or not. */
  tokenHashes(): readonly string[] {
    return [...this.feed.tokens.map(({ hash }) => hash), ...this.formerTokens];
  }

  holdsToken(hash: string, nowMs: number): boolean {
    return this.feed.tokens.some((token) => token.hash === hash && (token.expiresAtMs === null || token.expiresAtMs > nowMs));
  }

  /** Ends everything: the tunnel was deleted. */
  remove(): void {
    for (const visitor of this.visitors) visitor.cut();
    for (const client of [...this.clients]) client.session.close('token-refused', 'the tunnel was deleted');
  }
}

/** The policy of an http tunnel. A tunnel of another type that has a policy keeps its own list, which is empty then. */
const visitOf = ({ type, visit }: FeedTunnel): VisitPolicy | null =>
  type === 'http' && visit !== undefined ? new VisitPolicy(visit) : null;

const allowListOf = ({ type, allowList, visit }: FeedTunnel): readonly string[] =>
  type === 'http' && visit !== undefined ? visit.allowList : allowList;
