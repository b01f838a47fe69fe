// Where clients come in: checks the upgrade request and its token, opens the carrier, and adds it to the client list of its tunnel.

import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { RefusalCode } from '@underpass/wire/core/code.ts';
import type { Info } from '@underpass/wire/core/hello.ts';
import {
  carrierPath,
  carrierProtocol,
  edgeHeader,
  parseClientFacts,
  reachProtocol,
  type UpgradeRequest,
} from '@underpass/wire/core/upgrade.ts';
import type { FeedTunnel } from '@underpass/wire/feed/feed.ts';
import { acceptUpgrade, HandshakeError, readUpgrade, refuseUpgrade } from '@underpass/wire/handshake.ts';
import { createSession } from '@underpass/wire/session/session.ts';
import type { Logger } from 'pino';
import type { Endpoints } from '../core/proxy-protocol.ts';
import { isPrivate } from '../routes/reacher.ts';
import type { RouteTable } from '../routes/route-table.ts';
import { TunnelClient } from '../routes/tunnel-client.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import { ProjectWindows } from './project-windows.ts';

/** The most clients of one tunnel in one process, and carriers of one client. As many more carriers may be draining. */
const maxClients = 64;
/**
 * The limit that clients are sent. Two more are accepted: a client may dial both carriers again before the edge notices that
 * the old ones are dead.
 */
const toldCarriers = 8;
const maxCarriersPerClient = toldCarriers + 2;
const upgradeMs = 10_000;
/** A refused client waits at least this long, so one that retries a wrong token in a loop costs little. */
const retryAfterSeconds = 5;
/** Reported to the project of the tunnel that the token names. An unknown token names none. */
const reportedRefusals: ReadonlySet<RefusalCode> = new Set(['token-refused', 'tunnel-suspended', 'too-many-clients']);

interface ClientGateOptions {
  readonly table: RouteTable;
  readonly edgeId: string;
  readonly region: string;
  readonly software: string;
  /** The public URL of a host, for the client's status. */
  readonly urlOf: (host: string) => string;
  /** The same of a public port. */
  readonly portUrl: (port: number) => string;
  /** The number of edges in the region now, with this one. */
  readonly countEdges: () => number;
  readonly log: Logger;
  /** Somebody who reaches a private tunnel. */
  readonly onReach: (socket: TLSSocket, request: UpgradeRequest, ends: Endpoints) => void;
  /** A client of this tunnel came, went, changed its offers, became quiet, or was proven for the first time. */
  readonly onPresence: (tunnelId: string) => void;
}

export class ClientGate {
  readonly #options: ClientGateOptions;
  readonly #sockets = new Set<Duplex>();
  readonly #windows = new ProjectWindows();
  draining = false;
  #edges: number;

  constructor(options: ClientGateOptions) {
    this.#options = options;
    this.#edges = options.countEdges();
  }

  /** Sends INFO to the clients of changed tunnels, or to all clients if the number of edges changed: they keep carriers to two. */
  changed(tunnels: readonly FeedTunnel[]): void {
    const { table, countEdges } = this.#options;
    const edges = countEdges();
    const concerned = edges === this.#edges ? tunnels.flatMap(({ id }) => table.tunnels.get(id) ?? []) : table.active;
    this.#edges = edges;
    for (const tunnel of concerned) for (const client of tunnel.clients) this.#tell(client, tunnel);
  }

  #tell(client: TunnelClient, tunnel: TunnelState): void {
    const info = this.#infoOf(tunnel);
    // A client gets no INFO before its HELLO; onReady sends it then.
    if (client.session.version === 0 || isDeepStrictEqual(info, client.sentInfo)) return;
    client.sentInfo = info;
    client.session.inform(info);
  }

  #infoOf(tunnel: TunnelState): Info {
    const { edgeId, region, software, urlOf, portUrl } = this.#options;
    const { name, type, hosts, port } = tunnel.feed;
    const urls = [...hosts.slice(0, 16).map(urlOf), ...(port === undefined ? [] : [portUrl(port)])];
    const own = isPrivate(tunnel.feed) ? { private: true } : {};
    return { software, edge: edgeId, region, edges: this.#edges, carriers: toldCarriers, tunnel: name, type, urls, ...own };
  }

  /**
   * Takes a connection to the region's host: admits a client, and refuses anything else. Resolves once the carrier takes
   * streams, or is refused or lost.
   */
  async receive(socket: TLSSocket, ends: Endpoints): Promise<void> {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    try {
      const request = await readUpgrade(socket, { timeoutMs: upgradeMs });
      if (request.protocol === reachProtocol) this.#options.onReach(socket, request, ends);
      else await this.#admit(socket, request, ends.sourceAddress);
    } catch (error) {
      if (error instanceof HandshakeError && error.code === 'bad-request') refuseUpgrade(socket, 'bad-request');
      else socket.destroy();
    }
  }

  async #admit(socket: Duplex, request: UpgradeRequest, address: string): Promise<void> {
    const facts = parseClientFacts(request);
    if (facts === null || request.path !== carrierPath || request.protocol !== carrierProtocol) {
      refuseUpgrade(socket, 'bad-request');
      return;
    }
    const tokenHash = createHash('sha256').update(request.token).digest('hex');
    const tunnel = this.#options.table.tunnelByToken(tokenHash);
    const refusal = this.#refusal(tunnel, tokenHash, facts.clientId);
    if (refusal !== null || tunnel === null) {
      this.#options.log.info({ address, tunnel: tunnel?.feed.name, refusal }, 'client refused');
      if (tunnel !== null && refusal !== null && reportedRefusals.has(refusal))
        tunnel.refuse({ code: refusal, address, atMs: Date.now() });
      refuseUpgrade(socket, refusal ?? 'token-refused', retryAfterSeconds);
      return;
    }
    acceptUpgrade(socket, request, { [edgeHeader]: this.#options.edgeId });
    await this.#join(socket, tunnel, { ...facts, tokenHash, address });
  }

  #refusal(tunnel: TunnelState | null, tokenHash: string, clientId: string): RefusalCode | null {
    if (!this.#options.table.loaded) return 'unready';
    if (this.draining) return 'draining';
    if (tunnel === null || !tunnel.holdsToken(tokenHash, Date.now())) return 'token-refused';
    if (tunnel.feed.suspended) return 'tunnel-suspended';
    const ids = new Set(tunnel.clients.map((client) => client.clientId));
    return ids.size >= maxClients && !ids.has(clientId) ? 'too-many-clients' : null;
  }

  #join(
    socket: Duplex,
    tunnel: TunnelState,
    facts: { readonly clientId: string; readonly software: string; readonly tokenHash: string; readonly address: string },
  ): Promise<void> {
    const onPresence = (): void => this.#options.onPresence(tunnel.feed.id);
    const settled = Promise.withResolvers<void>();
    const info = this.#infoOf(tunnel);
    const { projectId } = tunnel.feed;
    const session = createSession(socket, { side: 'acceptor', peerMayOpen: false, info, budget: this.#windows.take(projectId) });
    const client = new TunnelClient(session, facts, Date.now(), info);
    this.#retireOldest(tunnel, facts.clientId);
    tunnel.addClient(client);
    session.onReady = () => {
      settled.resolve();
      if (tunnel.type === 'tcp' && session.peerInfo.tcp !== true) {
        session.close('version', 'the tunnel is of type tcp, which this client is too old for');
        return;
      }
      if (isPrivate(tunnel.feed) && session.peerInfo.private !== true) {
        session.close('version', 'the tunnel is private, which this client is too old for, or was started without --private');
        return;
      }
      onPresence();
      this.#tell(client, tunnel);
    };
    session.onProof = () => {
      session.onProof = () => {};
      onPresence();
    };
    session.onQuiet = onPresence;
    client.onOffers = onPresence;
    session.onClose = ({ code, by, detail }) => {
      settled.resolve();
      this.#windows.give(projectId);
      // It has said goodbye first, and its streams are over.
      const onPurpose = code === 'closed' && !client.isSentAway;
      // The versions are in its HELLO, so this refusal comes after the upgrade.
      if (code === 'version') tunnel.refuse({ code, address: facts.address, atMs: Date.now() });
      tunnel.removeClient(client, { atMs: Date.now(), onPurpose });
      this.#options.log.info({ tunnel: tunnel.feed.name, client: facts.clientId, code, by, detail }, 'carrier closed');
      onPresence();
    };
    this.#options.log.info({ tunnel: tunnel.feed.name, client: facts.clientId, address: facts.address }, 'carrier open');
    return settled.promise;
  }

  /**
   * A client that reconnects before its dead carriers are noticed must not fill the list with them, so the oldest goes. Draining
   * carriers are counted apart: they must not push out the one that serves.
   */
  #retireOldest(tunnel: TunnelState, clientId: string): void {
    const own = Object.groupBy(
      tunnel.clients.filter((client) => client.clientId === clientId),
      ({ session }) => (session.takesStreams ? 'serving' : 'leaving'),
    );
    for (const alike of Object.values(own))
      if (alike.length >= maxCarriersPerClient) alike[0]?.session.close('duplicate', 'the client has newer carriers here');
  }

  /**
   * One of several turns in which the carriers of every client leave one after the other, so that a client always keeps one.
   * `from` is another number for each worker: the two carriers of a client may be at two of them.
   */
  leave(turn: number, turns: number, from: number): void {
    for (const tunnel of this.#options.table.active) {
      const carriersOf = Map.groupBy(tunnel.clients, ({ clientId }) => clientId);
      for (const carriers of carriersOf.values())
        for (const [at, client] of carriers.entries())
          if ((from + at) % turns === turn && client.session.canOpen) client.sendAway('another process of the edge takes over');
    }
  }

  /** Lets carriers finish while clients connect to other edges. */
  drain(): void {
    this.draining = true;
    for (const tunnel of this.#options.table.active) {
      for (const client of [...tunnel.clients]) client.sendAway('the edge is draining');
    }
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
