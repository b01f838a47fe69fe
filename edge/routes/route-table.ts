// What the feed sent, indexed for lookups: hosts, tokens, certificates, challenges, peers.

import { createSecureContext, type SecureContext } from 'node:tls';
import type { FeedChallenge, FeedPeer, FeedState, FeedTunnel, ToEdge } from '@underpass/wire/feed.ts';
import type { Logger } from 'pino';
import type { VisitorError } from '../core/visitor-error.ts';
import { Certificates } from './certificates.ts';
import { TunnelState } from './tunnel-state.ts';

type Snapshot = Extract<ToEdge, { type: 'snapshot' }>;
type Delta = Extract<ToEdge, { type: 'delta' }>;

export class RouteTable {
  /** Increases with every change, so a connection can tell whether a remembered lookup still holds. */
  version = 0;
  /** False until the first snapshot, from disk or from control. */
  loaded = false;
  readonly tunnels: Map<string, TunnelState> = new Map();
  /** Counters of deleted tunnels, so that totals never fall. */
  readonly retired = { rxBytes: 0, txBytes: 0, connections: 0, requests: 0 };
  readonly certificates: Certificates;
  readonly #feedCertificates = new Map<string, FeedState['certificates'][number]>();
  readonly #challenges = new Map<string, FeedChallenge>();
  readonly #peers = new Map<string, FeedPeer>();
  /** Tunnels that claim a host, the latest last: a name that moves to another tunnel is in both for a moment. */
  readonly #claims = new Map<string, TunnelState[]>();
  readonly #tokens = new Map<string, TunnelState>();

  constructor(log: Logger) {
    this.certificates = new Certificates(log);
  }

  tunnelOf(host: string): TunnelState | null {
    return this.#claims.get(host)?.at(-1) ?? null;
  }

  /** Null if a request for `host` may go to `routedTo`, the tunnel that its connection was routed to; else the error to answer. */
  refusal(host: string, routedTo: TunnelState | null, address: string): VisitorError | null {
    const tunnel = this.tunnelOf(host);
    if (tunnel === null && routedTo === null) return 'UNDERPASS_NO_SUCH_HOST';
    if (tunnel === null || tunnel !== routedTo) return 'UNDERPASS_MISDIRECTED';
    return tunnel.refusal(address);
  }

  /** Also by a token that was valid before: the caller checks that (TunnelState.holdsToken). */
  tunnelByToken(hash: string): TunnelState | null {
    return this.#tokens.get(hash) ?? null;
  }

  hasCertificate(host: string): boolean {
    return this.certificates.contextOf(host) !== null;
  }

  /** RFC 8555 8.3: the answer at the well-known path, or null. */
  httpChallenge(host: string, token: string): string | null {
    for (const challenge of this.#challenges.values()) {
      if (challenge.kind === 'http-01' && challenge.host === host && challenge.token === token) return challenge.keyAuthorization;
    }
    return null;
  }

  hasTlsChallenge(host: string): boolean {
    return this.#tlsChallenge(host) !== undefined;
  }

  challengeContext(host: string): SecureContext | null {
    const challenge = this.#tlsChallenge(host);
    if (challenge === undefined) return null;
    return createSecureContext({ cert: challenge.certificatePem, key: challenge.privateKeyPem });
  }

  #tlsChallenge(host: string): Extract<FeedChallenge, { kind: 'tls-alpn-01' }> | undefined {
    for (const challenge of this.#challenges.values()) {
      if (challenge.kind === 'tls-alpn-01' && challenge.host === host) return challenge;
    }
    return undefined;
  }

  get peers(): readonly FeedPeer[] {
    return [...this.#peers.values()];
  }

  /** Everything in the form of the feed, for the copy on disk. */
  state(): FeedState {
    return {
      tunnels: [...this.tunnels.values()].map(({ feed }) => feed),
      certificates: [...this.#feedCertificates.values()],
      challenges: [...this.#challenges.values()],
      peers: this.peers,
    };
  }

  applySnapshot({ state }: Snapshot): void {
    const drop = {
      tunnels: goneIds(this.tunnels, state.tunnels),
      certificates: goneIds(this.#feedCertificates, state.certificates),
      challenges: goneIds(this.#challenges, state.challenges),
      peers: goneIds(
        this.#peers,
        state.peers.map(({ edgeId }) => ({ id: edgeId })),
      ),
    };
    this.#apply({ put: state, drop });
    this.loaded = true;
  }

  applyDelta(delta: Delta): void {
    this.#apply(delta);
  }

  #apply({ put, drop }: Pick<Delta, 'put' | 'drop'>): void {
    for (const id of drop.tunnels ?? []) this.#dropTunnel(id);
    for (const tunnel of put.tunnels ?? []) this.#putTunnel(tunnel);
    this.#applyCertificates(put.certificates ?? [], drop.certificates ?? []);
    for (const id of drop.challenges ?? []) this.#challenges.delete(id);
    for (const challenge of put.challenges ?? []) this.#challenges.set(challenge.id, challenge);
    for (const id of drop.peers ?? []) this.#peers.delete(id);
    for (const peer of put.peers ?? []) this.#peers.set(peer.edgeId, peer);
    this.version++;
  }

  #applyCertificates(put: FeedState['certificates'], drop: readonly string[]): void {
    if (put.length === 0 && drop.length === 0) return;
    for (const id of drop) {
      this.#feedCertificates.delete(id);
      this.certificates.drop(id);
    }
    for (const certificate of put) {
      this.#feedCertificates.set(certificate.id, certificate);
      this.certificates.put(certificate);
    }
    this.certificates.reindex();
  }

  #dropTunnel(id: string): void {
    const tunnel = this.tunnels.get(id);
    if (tunnel === undefined) return;
    this.tunnels.delete(id);
    this.#unindex(tunnel);
    tunnel.remove();
    this.retired.rxBytes += tunnel.rxBytes;
    this.retired.txBytes += tunnel.txBytes;
    this.retired.connections += tunnel.connections;
    this.retired.requests += tunnel.requests;
  }

  #putTunnel(feed: FeedTunnel): void {
    const known = this.tunnels.get(feed.id);
    if (known === undefined) {
      const tunnel = new TunnelState(feed);
      this.tunnels.set(feed.id, tunnel);
      this.#index(tunnel);
      return;
    }
    this.#unindex(known);
    known.update(feed, Date.now());
    this.#index(known);
  }

  #index(tunnel: TunnelState): void {
    for (const host of tunnel.feed.hosts) this.#claims.set(host, [...(this.#claims.get(host) ?? []), tunnel]);
    for (const hash of tunnel.tokenHashes()) this.#tokens.set(hash, tunnel);
  }

  #unindex(tunnel: TunnelState): void {
    for (const host of tunnel.feed.hosts) {
      const others = (this.#claims.get(host) ?? []).filter((claimant) => claimant !== tunnel);
      if (others.length === 0) this.#claims.delete(host);
      else this.#claims.set(host, others);
    }
    for (const hash of tunnel.tokenHashes()) {
      if (this.#tokens.get(hash) === tunnel) this.#tokens.delete(hash);
    }
  }

  /** Rotated tokens expire by the clock; control sends no message for it. */
  expireTokens(nowMs: number): void {
    for (const tunnel of this.tunnels.values()) {
      if (tunnel.clients.length > 0 && tunnel.feed.tokens.some(({ expiresAtMs }) => expiresAtMs !== null))
        tunnel.refuseClients(nowMs);
    }
  }
}

function goneIds(held: ReadonlyMap<string, unknown>, kept: readonly { readonly id: string }[]): string[] {
  const ids = new Set(kept.map(({ id }) => id));
  return [...held.keys()].filter((id) => !ids.has(id));
}
