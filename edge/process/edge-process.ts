// One complete edge process: doors, client gate, routes, hops and feed. In an edge with several workers, each worker runs one.

import { closeSync } from 'node:fs';
import type { ListenOptions, Server, Socket } from 'node:net';
import { dirname } from 'node:path';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { compileAllowList } from '@underpass/rules/address/allow-list.ts';
import { MemoryReclaim } from '@underpass/runtime/memory-reclaim.ts';
import { ClientGate } from '../client/client-gate.ts';
import { createAccessRenderer } from '../core/access-line.ts';
import { decideConnectionLimits } from '../core/connection-limits.ts';
import { VisitorLogQueue } from '../core/visitor-log-queue.ts';
import { HttpDoor } from '../door/http-door.ts';
import { HttpsDoor } from '../door/https-door.ts';
import { handleOf, type Listen, listen, type NamedSocket, portOf } from '../door/listen.ts';
import { TcpDoor } from '../door/tcp-door.ts';
import { createTicketKeys, ticketKeysMs } from '../door/ticket-keys.ts';
import { FeedLink, type FeedStanding, feedSilentMs } from '../feed/feed-link.ts';
import { Reporter, renderFigures, renderReport } from '../feed/reporter.ts';
import { HopNetwork } from '../hop/hop-network.ts';
import { ConnectionLimiter } from '../limits/connection-limiter.ts';
import { Deadlines } from '../limits/deadlines.ts';
import { readProcessLimits } from '../limits/process-limits.ts';
import { defaultTimeouts } from '../limits/timeouts.ts';
import { OtlpExport } from '../metrics/otlp-export.ts';
import type { EdgeStats } from '../metrics/stats.ts';
import { changesNothing, RouteTable } from '../routes/route-table.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import { Dialer } from '../upstream/dialer.ts';
import { Upstreams } from '../upstream/upstreams.ts';
import { DashboardHost } from '../visitor/dashboard-host.ts';
import { EnteredVisits } from '../visitor/entered-visits.ts';
import { Http1Visitor } from '../visitor/http1-visitor.ts';
import { Http2Server } from '../visitor/http2-server.ts';
import { ReachGate } from '../visitor/reach-gate.ts';
import { RequestLog, type TakeRequest } from '../visitor/request-log.ts';
import { createUploadBudget } from '../visitor/upload-windows.ts';
import { VisitCheck } from '../visitor/visit-check.ts';
import type { VisitorContext } from '../visitor/visitor-context.ts';
import { VisitorCounters } from '../visitor/visitor-counters.ts';
import { VisitorLog } from '../visitor/visitor-log.ts';
import type { EdgePorts, EdgeProcessOptions } from './edge-options.ts';
import { LineFile } from './line-file.ts';
import { readStats } from './process-stats.ts';

/** The kernel's queue of connections to accept: enough for a burst of a few thousand visitors. */
const backlog = 4_096;
const tendMs = 1_000;
/** A drain first accepts what waits in the kernel's queue, for at most this long if the queue keeps filling. */
const lastArrivalsMs = 1_000;
/** A client that leaves one carrier has another within about a second (client/carry/backoff.ts). */
const leaveTurnMs = 1_500;
const mostLeaveTurns = 8;
/** A successor waits for control's latest state for this long; control sends a ping every 5 s. */
export const firstStateMs = 10_000;

export class EdgeProcess {
  readonly #options: EdgeProcessOptions;
  readonly #table: RouteTable;
  readonly #context: VisitorContext;
  readonly #entered: EnteredVisits;
  readonly #visitorLog: VisitorLogQueue;
  /** The operator's access log; null: none. */
  readonly #accessLines: LineFile | null;
  readonly #otlp: OtlpExport | null;
  readonly #clientGate: ClientGate;
  readonly #httpsDoor: HttpsDoor;
  readonly #httpDoor: HttpDoor;
  readonly #tcpDoor: TcpDoor;
  readonly #hops: HopNetwork;
  readonly #hopServers: Server[] = [];
  /** Accepted at the public ports. */
  readonly #publicSockets = new Set<Socket>();
  /** Accepted from other edges. */
  readonly #hopSockets = new Set<Socket>();
  /** Sockets from other workers. They stay open until close(), so a drain does not wait for them. */
  readonly #siblingSockets = new Set<Socket>();
  #elderPaths: readonly string[];
  #peerServer: Server | null = null;
  #arrived = 0;
  #feedLink: FeedLink | null = null;
  #tending: NodeJS.Timeout | undefined;
  #rotation: NodeJS.Timeout | undefined;
  #hopPort: number | null = null;
  /** True once this process knows which clients its neighbours have. */
  #hasMet = false;
  /** What the primary says; an edge of one process sees it itself. */
  hasControl = true;

  private constructor(options: EdgeProcessOptions, accessLines: LineFile | null) {
    this.#accessLines = accessLines;
    const { edgeId, software, hop, siblings, log, elderPaths = [] } = options;
    this.#options = options;
    this.#elderPaths = elderPaths;
    const table = new RouteTable(log);
    this.#table = table;
    this.#visitorLog = new VisitorLogQueue((id) => table.tunnels.get(id)?.feed.projectId ?? '');
    this.#otlp = this.#createOtlp();
    const timeouts = { ...defaultTimeouts, ...options.timeouts };
    this.#hops = new HopNetwork({
      table,
      edgeId,
      software,
      secret: hop?.secret,
      siblingPaths: () => [...(siblings?.siblingPaths() ?? []), ...this.#elderPaths],
      clientWaitMs: timeouts.clientWaitMs,
      returnWaitMs: timeouts.returnWaitMs,
      log,
    });
    const limiter = new ConnectionLimiter(
      decideConnectionLimits(readProcessLimits(options.workers), options.connectionLimits ?? {}),
      log,
      table.blocked,
    );
    const deadlines = new Deadlines();
    this.#entered = new EnteredVisits(siblings === undefined ? null : dirname(siblings.socketPath), log);
    this.#context = {
      table,
      visits: new VisitCheck(() => (options.siblings === undefined ? this.#seesControl : this.hasControl), this.#entered),
      upstreams: new Upstreams(new Dialer(this.#hops.forVisitors), deadlines, timeouts),
      deadlines,
      timeouts,
      counters: new VisitorCounters(),
      requestLog: this.#createRequestLog(),
      limiter,
      uploadBudget: createUploadBudget(),
      strangers: new Set(),
      draining: false,
    };
    this.#clientGate = this.#createClientGate();
    [this.#httpsDoor, this.#httpDoor, this.#tcpDoor] = this.#createDoors();
    this.#track(this.#publicSockets, this.#httpsDoor.server, this.#httpDoor.server);
  }

  static async start(options: EdgeProcessOptions): Promise<EdgeProcess> {
    const { accessLog, log } = options;
    const accessLines = accessLog === undefined ? null : await LineFile.open(accessLog.path, log);
    const edge = new EdgeProcess(options, accessLines);
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
    this.#clientGate.changed([]);
    if (siblings !== undefined) await this.openSiblingDoor(siblings.socketPath);
    this.#peerServer = this.#hops.createPeerServer();
    if (hop !== undefined && this.#peerServer !== null) {
      await this.#openHop(this.#peerServer, this.#shared(hop.listen));
      this.#hopPort = portOf(this.#peerServer);
    }
    this.#feedLink = this.#createFeedLink(held?.position ?? null);
    // A worker gets visitors from the kernel as soon as it listens, so it must have its routes first.
    if (siblings !== undefined) await this.#feedLink.synced;
    else if (this.#elderPaths.length > 0) await this.#feedLink.syncedWithin(firstStateMs);
    // Visitors of tunnels whose clients are elsewhere come with the first ones.
    if (this.#table.loaded) await this.#meet();
    if (siblings === undefined ? held : siblings.isRestart) this.#hops.awaitReturn();
    await this.#tcpDoor.changed(this.#table.tunnels.keys());
    this.#tcpDoor.closeInherited();
    await listen(this.#httpsDoor.server, this.#shared(https));
    await listen(this.#httpDoor.server, this.#shared(http));
    if (siblings === undefined) this.#rotation = setInterval(() => this.setTicketKeys(createTicketKeys()), ticketKeysMs).unref();
    const memoryReclaim = new MemoryReclaim(() => this.#context.limiter);
    this.#tending = setInterval(() => {
      this.#table.expire(Date.now());
      this.#entered.expire(Date.now());
      memoryReclaim.check();
    }, tendMs).unref();
    if (hop !== undefined) this.#hops.keepMeeting();
  }

  async #meet(): Promise<void> {
    await this.#hops.meet();
    this.#hasMet = true;
  }

  /** Where other processes of this machine reach the clients of this one. */
  openSiblingDoor(path: string): Promise<void> {
    return this.#openHop(this.#hops.createSiblingServer(), { path }, this.#siblingSockets);
  }

  /** All workers listen on the same ports, and the kernel spreads connections over them. */
  #shared(where: Listen): ListenOptions {
    return { ...where, backlog, reusePort: this.#options.siblings !== undefined };
  }

  async #openHop(server: Server, where: ListenOptions, sockets = this.#hopSockets): Promise<void> {
    this.#hopServers.push(server);
    this.#track(sockets, server);
    await listen(server, where);
  }

  #createRequestLog(): RequestLog {
    const { accessLog, otlp, publicHttpsPort } = this.#options;
    const lines = this.#accessLines;
    const takers: TakeRequest[] = [];
    if (accessLog !== undefined && lines !== null) {
      const render = createAccessRenderer(accessLog.format, publicHttpsPort);
      takers.push((seen) => lines.write(render(seen)));
    }
    if (otlp?.requests && this.#otlp !== null) takers.push(this.#otlp.take);
    return new RequestLog(takers, new VisitorLog(this.#visitorLog));
  }

  #createOtlp(): OtlpExport | null {
    const { otlp: options, region, edgeId, reportAs, software, log } = this.#options;
    if (options === undefined) return null;
    const source = { region, instance: reportAs ?? edgeId, software, startedAtMs: Date.now() };
    const busy = () => Iterator.from(this.#table.active).filter(({ connections }) => connections > 0);
    return new OtlpExport({ options, source, tunnels: () => busy().map(renderFigures), log });
  }

  #createClientGate(): ClientGate {
    const { edgeId, region, regionHosts, software, publicHttpsPort, log } = this.#options;
    const port = publicHttpsPort === 443 ? '' : `:${publicHttpsPort}`;
    const onPresence = (tunnelId: string): void => {
      this.#feedLink?.presenceChanged([tunnelId]);
      this.#hops.presenceChanged();
    };
    const reachGate = new ReachGate({ context: this.#context, edgeId, isDraining: () => this.#clientGate.draining, log });
    return new ClientGate({
      table: this.#table,
      edgeId,
      region,
      software,
      urlOf: (host) => `https://${host}${port}`,
      portUrl: (tcpPort) => `tcp://${regionHosts[0]}:${tcpPort}`,
      countEdges: () => 1 + this.#hops.otherEdges.length,
      log,
      onReach: (socket, request, ends) => reachGate.receive(socket, request, ends),
      onPresence,
    });
  }

  #createDoors(): [HttpsDoor, HttpDoor, TcpDoor] {
    const context = this.#context;
    const { balancers, regionHosts, ticketKeys, publicHttpsPort, dashboard, https, log } = this.#options;
    const { tcpPorts, inheritedPorts = {}, onSocket = () => {} } = this.#options;
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
      onClient: (socket, ends) => this.#clientGate.receive(socket, ends),
      onHttp1: (socket, { ends, host, tunnel }) => new Http1Visitor(context, socket, ends, host, tunnel),
      onHttp2: (socket, { ends, host, tunnel }) => http2.receive(socket, ends, host, tunnel),
    });
    const tcpDoor = new TcpDoor({
      ...shared,
      range: tcpPorts,
      host: https.host,
      hasElder: () => this.#elderPaths.length > 0,
      listenOptions: (where) => this.#shared(where),
      inherited: new Map(Object.entries(inheritedPorts)),
      closeFd: closeSync,
      log,
      onServer: (server) => this.#track(this.#publicSockets, server),
      onSocket,
    });
    return [httpsDoor, new HttpDoor({ ...shared, publicHttpsPort }), tcpDoor];
  }

  #createFeedLink(position: FeedLink['position']): FeedLink {
    const { feed, edgeId, reportAs, region, software, hop, snapshot, siblings, log } = this.#options;
    const { tunnels, active } = this.#table;
    const named = (id: string): readonly TunnelState[] => [tunnels.get(id) ?? []].flat();
    const reporter = new Reporter((id) => Iterator.from(id === undefined ? active : named(id)).map(renderReport));
    return new FeedLink({
      dial: feed,
      edgeId: reportAs ?? edgeId,
      region,
      software,
      ...(hop === undefined ? {} : { hopAddress: hop.address }),
      startedAtMs: Date.now(),
      position,
      pace: siblings === undefined ? 'control' : 'primary',
      apply: async (given, at) => {
        const change = await this.#table.apply(given);
        if (!this.#hasMet) void this.#meet();
        if (changesNothing(change)) return;
        snapshot?.save(() => ({ position: at, state: this.#table.state() }));
        const put = change.type === 'snapshot' ? change.state : change.put;
        const dropped = change.type === 'snapshot' ? [] : (change.drop.tunnels ?? []);
        if (put.blocks !== undefined) this.#context.limiter.endBlocked(this.#publicSockets);
        this.#clientGate.changed(put.tunnels ?? []);
        await this.#tcpDoor.changed([...(put.tunnels ?? []).map(({ id }) => id), ...dropped]);
        this.#hops.forgetGone();
      },
      report: (which) => reporter.report(which),
      visitorLog: () => this.#visitorLog.take(),
      copy: () => snapshot?.state,
      portProblems: () => this.#tcpDoor.problems,
      log,
      random: Math.random,
    });
  }

  /** Call it when siblingPaths() gives other paths than before. */
  siblingsChanged(): void {
    this.#hops.forgetGone();
  }

  /** The process before this one has ended. */
  elderLeft(): void {
    this.#elderPaths = [];
    this.#hops.forgetGone();
  }

  /** See FeedLink.hold. */
  holdFeed(held: boolean): void {
    this.#feedLink?.hold(held);
  }

  /** The sockets that a successor can go on listening on. */
  sockets(): NamedSocket[] {
    const servers = { https: this.#httpsDoor.server, http: this.#httpDoor.server, hop: this.#peerServer };
    const named = Object.entries(servers).flatMap(([name, server]) => {
      const handle = server === null ? null : handleOf(server);
      return handle === null ? [] : [{ name, handle }];
    });
    return [...named, ...this.#tcpDoor.sockets()];
  }

  get ports(): EdgePorts {
    return { https: portOf(this.#httpsDoor.server), http: portOf(this.#httpDoor.server), hop: this.#hopPort };
  }

  get ready(): boolean {
    return this.#table.loaded && this.#hasMet;
  }

  get #seesControl(): boolean {
    return this.#feedLink !== null && this.#feedLink.awayMs < feedSilentMs;
  }

  get feed(): FeedStanding {
    return this.#feedLink?.standing ?? { connected: false, sinceMs: null, lastError: null, losses: 0 };
  }

  stats(): EdgeStats {
    const dropped = this.#accessLines?.dropped ?? 0;
    const { listening: tcpPorts, problems: portProblems } = this.#tcpDoor;
    const own = { accessLinesDropped: dropped, otlpDropped: this.#otlp?.dropped ?? 0, tcpPorts, portProblems };
    return { ...readStats(this.#context, this.#hops.reach(), this.#openSockets), ...own };
  }

  setTicketKeys(keys: Buffer): void {
    this.#httpsDoor.ticketKeys = keys;
  }

  /** Stops accepting and lets open connections finish, for at most `graceMs`. */
  async drain(graceMs: number): Promise<void> {
    this.#context.draining = true;
    const endsAtMs = performance.now() + graceMs;
    await this.#takeArrived();
    this.#httpsDoor.server.close();
    this.#httpDoor.server.close();
    this.#tcpDoor.close();
    this.#clientGate.drain();
    this.#drainVisitors();
    await this.#emptied(endsAtMs);
  }

  /**
   * A successor accepts on the same sockets. Visitors finish here, for at most `graceMs`; clients move there in turns, and until
   * they have moved its visitors reach them through the sibling door. `worker` is this worker's number.
   */
  async leave(graceMs: number, worker = 0): Promise<void> {
    this.#context.draining = true;
    const endsAtMs = performance.now() + graceMs;
    this.#httpsDoor.server.close();
    this.#httpDoor.server.close();
    this.#tcpDoor.close();
    this.#peerServer?.close();
    this.#drainVisitors();
    const turns = Math.min(Math.max(2, this.#options.workers), mostLeaveTurns);
    for (let at = 0; at < turns - 1 && performance.now() < endsAtMs; at++) {
      this.#clientGate.leave(at, turns, worker);
      await wait(Math.min(leaveTurnMs, endsAtMs - performance.now()));
    }
    this.#clientGate.drain();
    await this.#emptied(endsAtMs);
  }

  #drainVisitors(): void {
    this.#hops.drain();
    for (const visitor of this.#context.strangers) visitor.drain();
    for (const tunnel of this.#table.active) for (const visitor of tunnel.visitors) visitor.drain();
  }

  get #openSockets(): number {
    return this.#publicSockets.size + this.#hopSockets.size;
  }

  async #emptied(endsAtMs: number): Promise<void> {
    while (this.#openSockets > 0 && performance.now() < endsAtMs) await wait(50);
    await Promise.all([this.#accessLines?.flush(), this.#otlp?.flush(), this.#feedLink?.flush()]);
  }

  /** Accepts what waits in the kernel, which a closed listener would reset. Each turn of the event loop accepts one per port. */
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
    this.#feedLink?.close();
    this.#httpsDoor.close();
    this.#httpDoor.close();
    this.#tcpDoor.close();
    this.#clientGate.close();
    for (const server of this.#hopServers) server.close();
    this.#hops.close();
    for (const socket of [...this.#publicSockets, ...this.#hopSockets, ...this.#siblingSockets]) socket.destroy();
    this.#context.deadlines.close();
    this.#otlp?.close();
    await this.#accessLines?.close();
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
