// One tunnel as this edge holds it: its configuration, who is connected, what flows.

import { compileAllowList } from '@underpass/rules/allow-list.ts';
import type { TunnelType } from '@underpass/rules/entity.ts';
import type { FeedTunnel } from '@underpass/wire/feed.ts';
import type { VisitorError } from '../core/visitor-error.ts';
import type { TunnelClient } from './tunnel-client.ts';

/** A visitor's connection that may have to be cut when the rules change. */
export interface Visitor {
  readonly address: string;
  /** The host that it was routed by. */
  readonly host: string;
  /** Ends at once what goes on in it under other hosts: a connection for one host of a tunnel may ask for others. */
  endOtherHosts(hosts: readonly string[]): void;
  /** Ends it at once, both sides. */
  cut(): void;
  /** Ends it where nothing is under way, or as soon as that is so. */
  drain(): void;
}

export class TunnelState {
  feed: FeedTunnel;
  /** Carriers that clients of this tunnel hold here. */
  readonly clients: TunnelClient[] = [];
  readonly visitors: Set<Visitor> = new Set();
  rxBytes = 0;
  txBytes = 0;
  connections = 0;
  requests = 0;
  /** Next turn among equal clients. */
  turn = 0;
  #permits: (address: string) => boolean;

  constructor(feed: FeedTunnel) {
    this.feed = feed;
    this.#permits = compileAllowList(feed.allowList);
  }

  get type(): TunnelType {
    return this.feed.type;
  }

  /** One of its clients here is open for streams, now or when it is less busy. */
  get takesStreams(): boolean {
    return this.clients.some(({ session }) => session.takesStreams);
  }

  permits(address: string): boolean {
    return this.#permits(address);
  }

  /** Null if a visitor of this address may reach the tunnel, else the error to answer. */
  refusal(address: string): VisitorError | null {
    if (!this.permits(address)) return 'UNDERPASS_SOURCE_DENIED';
    return this.feed.suspended ? 'UNDERPASS_SUSPENDED' : null;
  }

  /** Takes a new configuration; cuts what it no longer allows. */
  update(feed: FeedTunnel, nowMs: number): void {
    const typeChanged = feed.type !== this.feed.type;
    this.feed = feed;
    this.#permits = compileAllowList(feed.allowList);
    for (const visitor of this.visitors) {
      const stays = !typeChanged && !feed.suspended && feed.hosts.includes(visitor.host) && this.#permits(visitor.address);
      if (stays) visitor.endOtherHosts(feed.hosts);
      else visitor.cut();
    }
    this.refuseClients(nowMs);
  }

  /** Sends away clients whose token is no longer good, or all of a suspended tunnel. */
  refuseClients(nowMs: number): void {
    for (const client of [...this.clients]) {
      if (this.feed.suspended) client.session.close('tunnel-suspended', 'the tunnel is suspended');
      else if (!this.holdsToken(client.tokenHash, nowMs)) client.session.close('token-refused', 'the token is no longer valid');
    }
  }

  holdsToken(hash: string, nowMs: number): boolean {
    return this.feed.tokens.some((token) => token.hash === hash && (token.expiresAtMs === null || token.expiresAtMs > nowMs));
  }

  /** The tunnel is no more. */
  remove(): void {
    for (const visitor of this.visitors) visitor.cut();
    for (const client of [...this.clients]) client.session.close('token-refused', 'the tunnel was deleted');
  }
}
