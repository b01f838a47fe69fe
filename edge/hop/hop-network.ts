// The way to the other workers of this edge and to the other edges of its region: the sessions with them, and the gates
// at which their streams come in.

import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import type { Session } from '@underpass/wire/api.ts';
import type { FeedPeer } from '@underpass/wire/feed/feed.ts';
import type { Logger } from 'pino';
import { isPrivate } from '../routes/reacher.ts';
import type { RouteTable } from '../routes/route-table.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import { Dialer } from '../upstream/dialer.ts';
import { HopGate } from './hop-gate.ts';
import { createHopServer, dialHop, hopKey } from './hop-tls.ts';
import { type HopState, Neighbour } from './neighbour.ts';
import { Neighbours } from './neighbours.ts';

interface HopNetworkOptions {
  readonly table: RouteTable;
  readonly edgeId: string;
  readonly software: string;
  /** Shared by the edges of the region; undefined if this edge reaches no other. */
  readonly secret: string | undefined;
  /** Sockets of the other workers of this edge, as of now. */
  readonly siblingPaths: () => readonly string[];
  /** How long a visitor waits for a client. */
  readonly clientWaitMs: number;
  /** The same, just after a restart of this edge, and always at a private tunnel. */
  readonly returnWaitMs: number;
  readonly log: Logger;
}

export interface Reach {
  /** Other edges of the region, in each process of this one, by how they answer. */
  readonly hops: Readonly<Record<HopState, number>>;
  /** Tunnels whose working clients are all at edges that do not answer this one. */
  readonly cutOff: number;
}

/** Time within which most clients are back after a restart: they dial again with growing pauses (client/carry/backoff.ts). */
const returnMs = 30_000;
/** A live neighbour answers within milliseconds; a dead one must not delay the start of a whole region. */
const meetMs = 2_000;

/** A new worker gets to know its siblings within this time, and a new edge the others. */
const meetEveryMs = 250;
const noSessions: ReadonlySet<Session> = new Set();

export class HopNetwork {
  /** Where a stream of this process's own visitor may go. */
  readonly forVisitors: Neighbours;
  readonly #options: HopNetworkOptions;
  /** Where a stream of another edge's visitor may go. */
  readonly #forPeers: Neighbours;
  readonly #siblingGate: HopGate;
  readonly #peerGate: HopGate;
  readonly #key: Buffer | null;
  /** Neighbours by unix socket or host:port. */
  readonly #neighbours = new Map<string, Neighbour>();
  #meeting: NodeJS.Timeout | undefined;
  #returnUntilMs = 0;

  constructor(options: HopNetworkOptions) {
    const { table, software, secret, clientWaitMs } = options;
    this.#options = options;
    this.#key = secret === undefined ? null : hopKey(secret);
    const brieflyMs = (isAlone: boolean): number => (isAlone ? 0 : clientWaitMs);
    this.forVisitors = new Neighbours(
      () => this.#all(),
      (isAlone, tunnel) => Math.max(brieflyMs(isAlone), this.#returnWaitMs(tunnel)),
    );
    this.#forPeers = new Neighbours(() => this.#siblings(), brieflyMs);
    this.#siblingGate = new HopGate({ table, dialer: new Dialer(null), software });
    this.#peerGate = new HopGate({
      table,
      dialer: new Dialer(this.#forPeers),
      siblingOffers: () => this.#siblings().flatMap(({ offers }) => offers),
      software,
    });
  }

  createSiblingServer(): Server {
    return createServer({ allowHalfOpen: true }, (socket) => this.#siblingGate.receive(socket));
  }

  /** Null without a secret. */
  createPeerServer(): Server | null {
    if (this.#key === null) return null;
    return createHopServer(this.#key, (socket) => {
      this.#peerGate.receive(socket);
      this.#peerArrived();
    });
  }

  /** A peer that dials this edge is alive, even if a dial to it has just failed. */
  #peerArrived(): void {
    for (const neighbour of this.#neighbours.values()) neighbour.endRest();
    this.forVisitors.clientsChanged();
  }

  /** Dials every neighbour, so that this process knows their clients before it has visitors. Waits for a dead one only briefly. */
  async meet(): Promise<void> {
    const over = new AbortController();
    const met = this.#all().map((neighbour) => neighbour.open());
    await Promise.race([Promise.all(met), wait(meetMs, undefined, { signal: over.signal })]);
    over.abort();
  }

  /** The process serves again after a restart: for a while, visitors wait for clients to come back. */
  awaitReturn(): void {
    this.#returnUntilMs = performance.now() + returnMs;
  }

  #returnWaitMs({ feed }: TunnelState): number {
    const { returnWaitMs } = this.#options;
    // Who reaches a private tunnel has shown a ticket: strangers cannot fill the edge with those who wait.
    return isPrivate(feed) ? returnWaitMs : Math.min(returnWaitMs, this.#returnUntilMs - performance.now());
  }

  /** How the other edges answer, and how many tunnels that leaves without a way to a client. */
  reach(): Reach {
    const hops = { working: 0, silent: 0, unreachable: 0 };
    const peers = this.#peers();
    for (const { state } of peers) hops[state]++;
    const away = peers.filter(({ state }) => state !== 'working').flatMap(({ lastWorking }) => lastWorking);
    const { tunnels } = this.#options.table;
    const isCutOff = (id: string): boolean => {
      const tunnel = tunnels.get(id);
      return tunnel !== undefined && !tunnel.takesStreams && this.forVisitors.working(tunnel, noSessions) === null;
    };
    return { hops, cutOff: new Set(away.filter(isCutOff)).size };
  }

  /**
   * Keeps sessions with all siblings, so that other edges hear of every client of this edge, and with all peers, so that a broken
   * way shows before a visitor needs it.
   */
  keepMeeting(): void {
    const meet = (): void => {
      for (const neighbour of this.#all()) void neighbour.open();
    };
    this.#meeting = setInterval(meet, meetEveryMs).unref();
  }

  #all(): Neighbour[] {
    return [...this.#siblings(), ...this.#peers()];
  }

  #siblings(): Neighbour[] {
    return this.#options.siblingPaths().map((path) => this.#neighbour(path, () => dialUnix(path)));
  }

  #peers(): Neighbour[] {
    const key = this.#key;
    if (key === null) return [];
    const reachable = this.otherEdges.filter(({ address }) => address !== '');
    return reachable.map(({ address }) => this.#neighbour(address, () => dialHop(key, address)));
  }

  get otherEdges(): readonly FeedPeer[] {
    return this.#options.table.peers.filter(({ edgeId }) => edgeId !== this.#options.edgeId);
  }

  #neighbour(name: string, dial: () => Promise<Duplex>): Neighbour {
    const known = this.#neighbours.get(name);
    if (known !== undefined) return known;
    const made = new Neighbour(name, dial, this.#options.software, this.#options.log);
    made.onOffers = () => this.#clientsChanged();
    this.#neighbours.set(name, made);
    return made;
  }

  /** Closes the sessions with neighbours that are gone. The path of an ended worker is never used again. */
  forgetGone(): void {
    const current = new Set(this.#all().map(({ name }) => name));
    for (const [name, neighbour] of this.#neighbours) {
      if (current.has(name)) continue;
      this.#neighbours.delete(name);
      neighbour.leave();
    }
  }

  /** A client of this process came, went or changed. */
  presenceChanged(): void {
    this.#siblingGate.presenceChanged();
    this.#clientsChanged();
  }

  #clientsChanged(): void {
    this.#peerGate.presenceChanged();
    this.forVisitors.clientsChanged();
    this.#forPeers.clientsChanged();
  }

  /** Takes no new streams from other edges. Siblings drain at the same time, so their gate stays open to the end. */
  drain(): void {
    this.#peerGate.drain();
  }

  close(): void {
    clearInterval(this.#meeting);
    this.#siblingGate.close();
    this.#peerGate.close();
    for (const neighbour of this.#neighbours.values()) neighbour.close();
  }
}

function dialUnix(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}
