// One process of an edge, whole: doors, gate, routes, hops, feed. An edge with several workers has one of these in each.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { compileAllowList } from '@underpass/rules/allow-list.ts';
import type { FeedPeer } from '@underpass/wire/feed.ts';
import { collectHeap } from '@underpass/wire/heap.ts';
import type { Logger } from 'pino';
import { ClientGate } from '../client/client-gate.ts';
import { type ConnectionLimits, decideConnectionLimits } from '../core/connection-limits.ts';
import type { VisitorError } from '../core/visitor-error.ts';
import { HttpDoor } from '../door/http-door.ts';
import { HttpsDoor } from '../door/https-door.ts';
import { FeedLink } from '../feed/feed-link.ts';
import { Reporter, renderReport } from '../feed/reporter.ts';
import type { SnapshotFile } from '../feed/snapshot-file.ts';
import { HopGate } from '../hop/hop-gate.ts';
import { createHopServer, dialHop, hopKey } from '../hop/hop-tls.ts';
import { Neighbour } from '../hop/neighbour.ts';
import { Neighbours } from '../hop/neighbours.ts';
import { ConnectionLimiter } from '../limits/connection-limiter.ts';
import { Deadlines } from '../limits/deadlines.ts';
import { trimMemory } from '../limits/libc.ts';
import { MemoryReclaim } from '../limits/memory-reclaim.ts';
import { readProcessLimits } from '../limits/process-limits.ts';
import { defaultTimeouts, type Timeouts } from '../limits/timeouts.ts';
import type { EdgeStats } from '../metrics/stats.ts';
import { RouteTable } from '../routes/route-table.ts';
import { Dialer } from '../upstream/dialer.ts';
import { Upstreams } from '../upstream/upstreams.ts';
import { DashboardHost, type DashboardHostOptions } from '../visitor/dashboard-host.ts';
import { Http1Visitor } from '../visitor/http1-visitor.ts';
import { Http2Server } from '../visitor/http2-server.ts';
import { createUploadBudget } from '../visitor/upload-windows.ts';
import type { VisitorContext } from '../visitor/visitor-context.ts';
import { VisitorCounters } from '../visitor/visitor-counters.ts';

export interface Listen {
  /** All addresses of both families where it is missing. */
  readonly host?: string | undefined;
  readonly port: number;
}

export interface EdgePorts {
  readonly https: number;
  readonly http: number;
  /** Null where other edges cannot dial in. */
  readonly hop: number | null;
}

/** How edges of one region reach each other. */
export interface HopOptions {
  readonly listen: Listen;
  /** host:port that the other edges dial. */
  readonly address: string;
  /** What every edge of the region has and nobody else. */
  readonly secret: string;
}

/** How workers of one edge reach each other: unix sockets in a folder of the edge's own user. */
export interface SiblingOptions {
  readonly socketPath: string;
  readonly siblingPaths: () => readonly string[];
}

export interface EdgeProcessOptions {
  readonly region: string;
  readonly edgeId: string;
  /** The name on the feed; the edge's id where it is missing. */
  readonly reportAs?: string;
  /** Name and version, `underpass/0.1.0`. */
  readonly software: string;
  /** Hosts on which clients dial in. */
  readonly regionHosts: readonly string[];
  readonly https: Listen;
  readonly http: Listen;
  readonly publicHttpsPort: number;
  /** Addresses and ranges of load balancers that put a PROXY header in front. */
  readonly balancers: readonly string[];
  readonly timeouts?: Partial<Timeouts> | undefined;
  /** Instead of what the process's own limits allow. */
  readonly connectionLimits?: Partial<ConnectionLimits> | undefined;
  /** Processes that share the machine's memory with this one, itself included. */
  readonly workers: number;
  readonly hop?: HopOptions | undefined;
  /** The dashboard on this machine; nowhere if missing. */
  readonly dashboard?: DashboardHostOptions | undefined;
  readonly siblings?: SiblingOptions | undefined;
  /** 48 bytes; equal in all workers, so that a session begun at one is resumed at another. */
  readonly ticketKeys: Buffer;
  /** Dials control; called again, with back-off, whenever the feed is lost. */
  readonly feed: () => Promise<Duplex>;
  readonly snapshot: SnapshotFile | null;
  readonly log: Logger;
}

/** Kernel queue of connections that are not accepted yet: a burst of a few thousand visitors. */
const backlog = 4_096;
const tendMs = 1_000;
/** At the end the kernel's queue is emptied first; one that fills again and again is closed all the same. */
const lastArrivalsMs = 1_000;
/** A larger heap would stand still for too long, and has V8's own attention sooner. */
const mostCollectedBytes = 134_217_728;
/** A worker that came anew is known to its siblings after this long. */
const acquaintMs = 250;
/** As OpenSSL wants it: name, HMAC key and AES key of 16 bytes each. */
export const ticketKeyBytes = 48;
/** Ticket keys live this long; sessions begun under older ones shake hands anew. */
export const ticketKeysMs: number = 12 * 3_600_000;

export class EdgeProcess {
  readonly #options: EdgeProcessOptions;
  readonly #table: RouteTable;
  readonly #context: VisitorContext;
  readonly #gate: ClientGate;
  readonly #httpsDoor: HttpsDoor;
  readonly #httpDoor: HttpDoor;
  /** The places that a visitor of this process may be led to, and those for one who came over a hop. */
  readonly #everywhere: Neighbours;
  readonly #onMachine: Neighbours;
  readonly #siblingGate: HopGate;
  readonly #peerGate: HopGate;
  readonly #hopServers: Server[] = [];
  readonly #neighbours = new Map<string, Neighbour>();
  readonly #hopKey: Buffer | null;
  readonly #sockets = new Set<Socket>();
  /** From other workers: they stay until the end, and no drain waits for them. */
  readonly #siblingSockets = new Set<Socket>();
  #arrived = 0;
  #feedLink: FeedLink | null = null;
  #tending: NodeJS.Timeout | undefined;
  #rotation: NodeJS.Timeout | undefined;
  #acquaint: NodeJS.Timeout | undefined;
  #hopPort: number | null = null;

  private constructor(options: EdgeProcessOptions) {
    const { log, software } = options;
    this.#options = options;
    this.#hopKey = options.hop === undefined ? null : hopKey(options.hop.secret);
    const table = new RouteTable(log);
    this.#table = table;
    const timeouts = { ...defaultTimeouts, ...options.timeouts };
    this.#everywhere = new Neighbours(() => [...this.#siblings(), ...this.#peers()], timeouts.clientWaitMs);
    this.#onMachine = new Neighbours(() => this.#siblings(), timeouts.clientWaitMs);
    const limiter = new ConnectionLimiter(
      decideConnectionLimits(readProcessLimits(options.workers), options.connectionLimits ?? {}),
      log,
    );
    const deadlines = new Deadlines();
    this.#context = {
      table,
      upstreams: new Upstreams(new Dialer(this.#everywhere), deadlines, timeouts),
      deadlines,
      timeouts,
      counters: new VisitorCounters(),
      limiter,
      uploadBudget: createUploadBudget(),
      draining: false,
    };
    this.#siblingGate = new HopGate({ table, dialer: new Dialer(null), software });
    this.#peerGate = new HopGate({
      table,
      dialer: new Dialer(this.#onMachine),
      beyond: () => this.#siblings().flatMap(({ offers }) => offers),
      software,
    });
    this.#gate = this.#createGate();
    [this.#httpsDoor, this.#httpDoor] = this.#createDoors();
    this.#track(this.#sockets, this.#httpsDoor.server, this.#httpDoor.server);
  }

  static async start(options: EdgeProcessOptions): Promise<EdgeProcess> {
    const edge = new EdgeProcess(options);
    try {
      await edge.#open();
    } catch (error) {
      await edge.close();
      throw error;
    }
    return edge;
  }

  async #open(): Promise<void> {
    const { snapshot, https, http, siblings, hop } = this.#options;
    const held = await snapshot?.load();
    if (held) this.#table.applySnapshot({ type: 'snapshot', seq: held.position.seq, state: held.state });
    this.#gate.changed([]);
    if (siblings !== undefined)
      await this.#openHop(
        createServer({ allowHalfOpen: true }, (socket) => this.#siblingGate.receive(socket)),
        { path: siblings.socketPath },
        this.#siblingSockets,
      );
    if (hop !== undefined && this.#hopKey !== null) {
      const server = createHopServer(this.#hopKey, (socket) => this.#peerGate.receive(socket));
      await this.#openHop(server, this.#shared(hop.listen));
      this.#hopPort = portOf(server);
    }
    this.#feedLink = this.#createFeedLink(held?.position ?? null);
    // The kernel gives a worker its share of visitors as soon as it listens.
    if (siblings !== undefined) await this.#feedLink.synced;
    await listen(this.#httpsDoor.server, this.#shared(https));
    await listen(this.#httpDoor.server, this.#shared(http));
    if (siblings === undefined)
      this.#rotation = setInterval(() => this.setTicketKeys(randomBytes(ticketKeyBytes)), ticketKeysMs).unref();
    const memoryReclaim = new MemoryReclaim(
      this.#context.limiter,
      () => collectHeap(mostCollectedBytes),
      () => trimMemory?.(0n),
    );
    this.#tending = setInterval(() => {
      this.#table.expireTokens(Date.now());
      memoryReclaim.check();
    }, tendMs).unref();
    // Other edges are told what any worker of this one has clients of.
    if (hop !== undefined) this.#acquaint = setInterval(() => this.#meetSiblings(), acquaintMs).unref();
  }

  /** Workers listen on the same ports side by side: the kernel spreads connections over them. */
  #shared({ host, port }: Listen): object {
    return { port, backlog, reusePort: this.#options.siblings !== undefined, ...(host === undefined ? {} : { host }) };
  }

  async #openHop(server: Server, where: object, sockets = this.#sockets): Promise<void> {
    this.#hopServers.push(server);
    this.#track(sockets, server);
    await listen(server, where);
  }

  #createGate(): ClientGate {
    const { edgeId, region, software, publicHttpsPort, log } = this.#options;
    const port = publicHttpsPort === 443 ? '' : `:${publicHttpsPort}`;
    const onPresence = (): void => {
      this.#feedLink?.presenceChanged();
      this.#siblingGate.presenceChanged();
      this.#clientsChanged();
    };
    const countEdges = (): number => 1 + this.#otherEdges().length;
    return new ClientGate({
      table: this.#table,
      edgeId,
      region,
      software,
      urlOf: (host) => `https://${host}${port}`,
      countEdges,
      log,
      onPresence,
    });
  }

  #createDoors(): [HttpsDoor, HttpDoor] {
    const context = this.#context;
    const { balancers, regionHosts, ticketKeys, publicHttpsPort, dashboard } = this.#options;
    const hosts = new Set(regionHosts);
    const shared = {
      context,
      isBalancer: compileAllowList(balancers),
      isRegionHost: (host: string) => hosts.has(host),
      dashboard: dashboard === undefined ? undefined : new DashboardHost(dashboard),
    };
    const http2 = new Http2Server(context);
    const httpsDoor = new HttpsDoor({
      ...shared,
      ticketKeys,
      onClient: (socket, ends) => this.#gate.receive(socket, ends.sourceAddress),
      onHttp1: (socket, { ends, host, tunnel }) => new Http1Visitor(context, socket, ends, host, tunnel),
      onHttp2: (socket, { ends, host, tunnel }) => http2.receive(socket, ends, host, tunnel),
    });
    return [httpsDoor, new HttpDoor({ ...shared, publicHttpsPort })];
  }

  #createFeedLink(position: FeedLink['position']): FeedLink {
    const { feed, edgeId, reportAs, region, software, hop, snapshot, siblings, log } = this.#options;
    const reporter = new Reporter(() => this.#table.tunnels.values().map(renderReport));
    return new FeedLink({
      dial: feed,
      edgeId: reportAs ?? edgeId,
      region,
      software,
      ...(hop === undefined ? {} : { hopAddress: hop.address }),
      startedAtMs: Date.now(),
      position,
      pace: siblings === undefined ? 'control' : 'primary',
      apply: (change, at) => {
        if (change.type === 'snapshot') this.#table.applySnapshot(change);
        else this.#table.applyDelta(change);
        snapshot?.save(() => ({ position: at, state: this.#table.state() }));
        this.#gate.changed((change.type === 'snapshot' ? change.state : change.put).tunnels ?? []);
        this.forgetNeighbours();
      },
      report: (all) => reporter.report(all),
      log,
      random: Math.random,
    });
  }

  // Places beyond this process.

  #siblings(): Neighbour[] {
    return (this.#options.siblings?.siblingPaths() ?? []).map((path) => this.#neighbour(path, () => dialUnix(path)));
  }

  #meetSiblings(): void {
    for (const sibling of this.#siblings()) void sibling.open();
  }

  #peers(): Neighbour[] {
    const key = this.#hopKey;
    if (key === null) return [];
    const reachable = this.#otherEdges().filter(({ address }) => address !== '');
    return reachable.map(({ address }) => this.#neighbour(address, () => dialHop(key, address)));
  }

  #otherEdges(): readonly FeedPeer[] {
    return this.#table.peers.filter(({ edgeId }) => edgeId !== this.#options.edgeId);
  }

  #neighbour(name: string, dial: () => Promise<Duplex>): Neighbour {
    const known = this.#neighbours.get(name);
    if (known !== undefined) return known;
    const made = new Neighbour(name, dial, this.#options.software, this.#options.log);
    made.onOffers = () => this.#clientsChanged();
    this.#neighbours.set(name, made);
    return made;
  }

  /** Workers that have died have left paths that nobody has again, and edges may have left the region. */
  forgetNeighbours(): void {
    const known = new Set([...this.#siblings(), ...this.#peers()].map(({ name }) => name));
    for (const [name, neighbour] of this.#neighbours) {
      if (known.has(name)) continue;
      this.#neighbours.delete(name);
      neighbour.leave();
    }
  }

  /** Somebody came or went at some neighbour. */
  #clientsChanged(): void {
    this.#peerGate.presenceChanged();
    this.#everywhere.clientsChanged();
    this.#onMachine.clientsChanged();
  }

  // What others may know and do.

  get ports(): EdgePorts {
    return { https: portOf(this.#httpsDoor.server), http: portOf(this.#httpDoor.server), hop: this.#hopPort };
  }

  get ready(): boolean {
    return this.#table.loaded;
  }

  get feedConnected(): boolean {
    return this.#feedLink?.connected ?? false;
  }

  stats(): EdgeStats {
    const { deadlines, limiter, counters } = this.#context;
    const { unrouted, responses, errors } = counters;
    const tunnels = [...this.#table.tunnels.values()];
    const clients = tunnels.flatMap((tunnel) => tunnel.clients);
    const sum = (key: 'rxBytes' | 'txBytes' | 'connections' | 'requests'): number =>
      tunnels.reduce((total, tunnel) => total + tunnel[key], this.#table.retired[key]);
    return {
      sockets: this.#sockets.size,
      deadlines: deadlines.watched,
      open: limiter.open,
      openLimit: limiter.limits.total,
      addresses: limiter.addresses,
      refused: { ...limiter.refused },
      clients: clients.length,
      streams: clients.reduce((total, { session }) => total + session.openStreams, 0),
      rxBytes: sum('rxBytes'),
      txBytes: sum('txBytes'),
      connections: sum('connections'),
      requests: sum('requests'),
      unrouted,
      responses: [...responses],
      errors: Object.fromEntries(errors) as Partial<Record<VisitorError, number>>,
    };
  }

  setTicketKeys(keys: Buffer): void {
    this.#httpsDoor.ticketKeys = keys;
  }

  /** Takes nothing new and lets what is open finish; gives up after `graceMs`. */
  async drain(graceMs: number): Promise<void> {
    this.#context.draining = true;
    const endsAtMs = performance.now() + graceMs;
    await this.#takeArrived();
    this.#httpsDoor.server.close();
    this.#httpDoor.server.close();
    this.#gate.drain();
    this.#peerGate.drain();
    for (const tunnel of this.#table.tunnels.values()) for (const visitor of tunnel.visitors) visitor.drain();
    while (this.#sockets.size > 0 && performance.now() < endsAtMs) await new Promise((resolve) => setTimeout(resolve, 50));
  }

  /** To a visitor who is connected and not taken yet, a closed listener is a reset. A turn takes one of them for each port. */
  async #takeArrived(): Promise<void> {
    const endsAtMs = performance.now() + lastArrivalsMs;
    await turn();
    for (let before = -1; before !== this.#arrived && performance.now() < endsAtMs; ) {
      before = this.#arrived;
      await turn();
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#tending);
    clearInterval(this.#rotation);
    clearInterval(this.#acquaint);
    this.#feedLink?.close();
    this.#httpsDoor.close();
    this.#httpDoor.close();
    this.#gate.close();
    this.#siblingGate.close();
    this.#peerGate.close();
    for (const server of this.#hopServers) server.close();
    for (const session of this.#neighbours.values()) session.close();
    for (const socket of [...this.#sockets, ...this.#siblingSockets]) socket.destroy();
    this.#context.deadlines.close();
    await this.#options.snapshot?.flush();
  }

  #track(sockets: Set<Socket>, ...servers: readonly Server[]): void {
    for (const server of servers) {
      server.on('connection', (socket) => {
        this.#arrived++;
        sockets.add(socket);
        socket.on('close', () => sockets.delete(socket));
      });
    }
  }
}

async function listen(server: Server, where: object): Promise<void> {
  server.listen(where);
  await once(server, 'listening');
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function dialUnix(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}
