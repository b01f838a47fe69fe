// What the feed sent, indexed for lookups: hosts, tokens, certificates, challenges, peers, blocks.

import { createSecureContext, type SecureContext } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { NetworkSet } from '@underpass/rules/address/network-set.ts';
import { isCanonicalHostname, servingNames } from '@underpass/rules/names/hostname.ts';
import type {
  FeedBlock,
  FeedCertificate,
  FeedChallenge,
  FeedPeer,
  FeedState,
  FeedTunnel,
  ToEdge,
} from '@underpass/wire/feed/feed.ts';
import type { Logger } from 'pino';
import type { VisitorError } from '../core/visitor-error.ts';
import { atOnce, inTurns } from '../limits/in-turns.ts';
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
  /** Tunnels that have had a client or a visitor: what is looked at again and again must not grow with all the others. */
  readonly active: Set<TunnelState> = new Set();
  /** Counters of deleted tunnels, so that totals never fall. */
  readonly retired = { rxBytes: 0, txBytes: 0, connections: 0, requests: 0 };
  readonly certificates: Certificates;
  /** Addresses and networks that reach nothing here. */
  readonly blocked = new NetworkSet();
  readonly #blocks = new Map<string, FeedBlock>();
  readonly #feedCertificates = new Map<string, FeedCertificate>();
  readonly #challenges = new Map<string, FeedChallenge>();
  readonly #peers = new Map<string, FeedPeer>();
  /** Tunnels that claim a host, the latest last: a name that moves to another tunnel is in both for a moment. */
  readonly #claims = new Map<string, TunnelState[]>();
  readonly #tokens = new Map<string, TunnelState>();

  constructor(log: Logger) {
    this.certificates = new Certificates(log);
  }

  /** A tunnel with the host itself comes before one with a wildcard for it. */
  tunnelOf(host: string): TunnelState | null {
    return (this.#claims.get(host) ?? this.#wildcardClaims(host))?.at(-1) ?? null;
  }

  /** Visitors may send any text as the name: a wildcard stands only for names. */
  #wildcardClaims(host: string): readonly TunnelState[] | undefined {
    const claims = this.#claims.get(servingNames(host)[1]);
    return claims !== undefined && isCanonicalHostname(host) ? claims : undefined;
  }

  /** Null if a request for `host` may go to `routedTo`, the tunnel that its connection was routed to; else the error to answer. */
  refusal(host: string, routedTo: TunnelState | null, address: string): VisitorError | null {
    const tunnel = this.tunnelOf(host);
    if (tunnel === null && routedTo === null) return 'UNDERPASS_NO_SUCH_HOST';
    if (tunnel === null || tunnel !== routedTo) return 'UNDERPASS_MISDIRECTED';
    return tunnel.refusal(address);
  }

  /** Finds a tunnel also by a token that was valid before: the caller checks that (TunnelState.holdsToken). */
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
      blocks: [...this.#blocks.values()],
    };
  }

  applySnapshot(snapshot: Snapshot): void {
    atOnce(this.#steps(snapshot));
  }

  /**
   * Applies a change over several turns of the event loop if it is large. Resolves with what it changes here: of a snapshot, the
   * entries that differ, if there was a state before. One call at a time.
   */
  apply(change: Snapshot | Delta): Promise<Snapshot | Delta> {
    return inTurns(this.#steps(change));
  }

  *#steps(change: Snapshot | Delta): Generator<void, Snapshot | Delta> {
    if (change.type === 'delta') {
      yield* this.#put(change);
      return change;
    }
    const wasLoaded = this.loaded;
    const different = yield* this.#differences(change.state);
    yield* this.#put(different);
    this.loaded = true;
    return wasLoaded ? { type: 'delta', seq: change.seq, ...different } : change;
  }

  *#differences(state: FeedState): Generator<void, Pick<Delta, 'put' | 'drop'>> {
    const tunnelOf = (id: string): FeedTunnel | undefined => this.tunnels.get(id)?.feed;
    const parts = {
      tunnels: yield* different(this.tunnels.keys(), tunnelOf, state.tunnels, ({ id }) => id),
      certificates: yield* differentIn(this.#feedCertificates, state.certificates),
      challenges: yield* differentIn(this.#challenges, state.challenges),
      peers: yield* different(
        this.#peers.keys(),
        (id) => this.#peers.get(id),
        state.peers,
        ({ edgeId }) => edgeId,
      ),
      blocks: yield* differentIn(this.#blocks, state.blocks ?? [...this.#blocks.values()]),
    } satisfies Record<keyof FeedState, unknown>;
    const pick = <Key extends 'put' | 'drop'>(key: Key): Delta[Key] =>
      Object.fromEntries(Object.entries(parts).flatMap(([part, each]) => (each[key].length > 0 ? [[part, each[key]]] : [])));
    return { put: pick('put'), drop: pick('drop') };
  }

  /**
   * Blocks before all. New certificates first and old ones last: an edge serves a route as soon as it knows it. New tunnels before
   * old ones go: a host that moves is never without one.
   */
  *#put({ put, drop }: Pick<Delta, 'put' | 'drop'>): Generator<void, void> {
    for (const block of put.blocks ?? []) yield this.#putBlock(block);
    for (const id of drop.blocks ?? []) yield this.#dropBlock(id);
    for (const certificate of put.certificates ?? []) yield this.#putCertificate(certificate);
    for (const tunnel of put.tunnels ?? []) yield this.#putTunnel(tunnel);
    for (const id of drop.tunnels ?? []) yield this.#dropTunnel(id);
    for (const id of drop.certificates ?? []) yield this.#dropCertificate(id);
    for (const id of drop.challenges ?? []) this.#challenges.delete(id);
    for (const challenge of put.challenges ?? []) this.#challenges.set(challenge.id, challenge);
    for (const id of drop.peers ?? []) this.#peers.delete(id);
    for (const peer of put.peers ?? []) this.#peers.set(peer.edgeId, peer);
    this.version++;
  }

  #putBlock(block: FeedBlock): void {
    this.#blocks.set(block.id, block);
    this.blocked.add(block.id);
  }

  #dropBlock(id: string): void {
    this.#blocks.delete(id);
    this.blocked.delete(id);
  }

  #putCertificate(certificate: FeedCertificate): void {
    this.#feedCertificates.set(certificate.id, certificate);
    this.certificates.put(certificate);
  }

  #dropCertificate(id: string): void {
    this.#feedCertificates.delete(id);
    this.certificates.drop(id);
  }

  #dropTunnel(id: string): void {
    const tunnel = this.tunnels.get(id);
    if (tunnel === undefined) return;
    this.tunnels.delete(id);
    this.active.delete(tunnel);
    this.#unindex(tunnel);
    this.version++;
    tunnel.remove();
    this.retired.rxBytes += tunnel.rxBytes;
    this.retired.txBytes += tunnel.txBytes;
    this.retired.connections += tunnel.connections;
    this.retired.requests += tunnel.requests;
  }

  #putTunnel(feed: FeedTunnel): void {
    this.version++;
    const known = this.tunnels.get(feed.id);
    if (known === undefined) {
      const tunnel = new TunnelState(feed, this.active);
      this.tunnels.set(feed.id, tunnel);
      this.#index(tunnel);
      this.#takeOver(feed.hosts);
      return;
    }
    const before = new Set(known.feed.hosts);
    this.#unindex(known);
    known.update(feed, Date.now());
    this.#index(known);
    this.#takeOver(feed.hosts.filter((host) => !before.has(host)));
  }

  /** Visitors of these names whose tunnel had no more than a wildcard for them belong to another tunnel now. */
  #takeOver(hosts: readonly string[]): void {
    for (const host of hosts)
      for (const tunnel of this.#claims.get(servingNames(host)[1]) ?? [])
        if (this.tunnelOf(host) !== tunnel) tunnel.leaveHost(host);
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

  /** Rotated tokens expire by the clock, as visits do; control sends no message for it. */
  expire(nowMs: number): void {
    for (const tunnel of this.active) {
      tunnel.endVisits(nowMs);
      if (tunnel.clients.length > 0 && tunnel.feed.tokens.some(({ expiresAtMs }) => expiresAtMs !== null))
        tunnel.refuseClients(nowMs);
    }
  }
}

/** What a list of entries changes in those that are held. */
function* different<Entry>(
  heldIds: Iterable<string>,
  held: (id: string) => Entry | undefined,
  given: readonly Entry[],
  idOf: (entry: Entry) => string,
): Generator<void, { readonly put: readonly Entry[]; readonly drop: readonly string[] }> {
  const ids = new Set<string>();
  const put: Entry[] = [];
  for (const entry of given) {
    const id = idOf(entry);
    ids.add(id);
    if (!isDeepStrictEqual(held(id), entry)) put.push(entry);
    yield;
  }
  const drop: string[] = [];
  for (const id of heldIds) {
    if (!ids.has(id)) drop.push(id);
    yield;
  }
  return { put, drop };
}

const differentIn = <Entry extends { readonly id: string }>(held: ReadonlyMap<string, Entry>, given: readonly Entry[]) =>
  different(
    held.keys(),
    (id) => held.get(id),
    given,
    ({ id }) => id,
  );

/** A delta without content, as a snapshot gives that equals the state. */
export const changesNothing = (change: Snapshot | Delta): boolean =>
  change.type === 'delta' && [change.put, change.drop].every((parts) => Object.keys(parts).length === 0);
