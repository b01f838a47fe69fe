// One process of an edge, whole: doors, gate, routes, feed. An edge with several workers has one of these in each.

import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { compileAllowList } from '@underpass/rules/allow-list.ts';
import type { Logger } from 'pino';
import { Dialer, type HopSource } from './dialer.ts';
import { FeedLink } from './feed-link.ts';
import { Gate } from './gate.ts';
import { defaultTimeouts, House, type Timeouts } from './house.ts';
import { HttpDoor } from './http-door.ts';
import { Http1Visitor } from './http1-visitor.ts';
import { Http2Door } from './http2-door.ts';
import { HttpsDoor } from './https-door.ts';
import { Reporter } from './reporter.ts';
import { RouteTable } from './route-table.ts';
import type { SnapshotFile } from './snapshot-file.ts';
import { Sweeper } from './sweeper.ts';

export interface Listen {
  /** All addresses of both families where it is missing. */
  readonly host?: string;
  readonly port: number;
}

export interface EdgeProcessOptions {
  readonly region: string;
  readonly edgeId: string;
  /** Name and version, `underpass/0.1.0`. */
  readonly software: string;
  /** Hosts on which clients dial in. */
  readonly regionHosts: readonly string[];
  readonly https: Listen;
  readonly http: Listen;
  readonly publicHttpsPort: number;
  /** Addresses and ranges of load balancers that put a PROXY header in front. */
  readonly balancers: readonly string[];
  /** 48 bytes; equal in all workers, so that a session begun at one is resumed at another. */
  readonly ticketKeys: Buffer;
  readonly timeouts?: Partial<Timeouts>;
  /** Several processes listen on the same ports. */
  readonly reusePort: boolean;
  /** Dials control; called again, with back-off, whenever the feed is lost. */
  readonly feed: () => Promise<Duplex>;
  readonly snapshot: SnapshotFile | null;
  readonly hopAddress: () => string | undefined;
  readonly hops: HopSource | null;
  readonly log: Logger;
}

/** Kernel queue of connections that are not accepted yet: a burst of a few thousand visitors. */
const backlog = 4_096;
const tokenSweepMs = 1_000;

export class EdgeProcess {
  readonly table: RouteTable;
  readonly house: House;
  readonly httpsPort: number;
  readonly httpPort: number;
  readonly #options: EdgeProcessOptions;
  readonly #parts: Parts;
  readonly #feedLink: FeedLink;
  readonly #tokenSweep: NodeJS.Timeout;

  private constructor(options: EdgeProcessOptions, parts: Parts, feedLink: FeedLink) {
    this.#options = options;
    this.#parts = parts;
    this.#feedLink = feedLink;
    this.table = parts.table;
    this.house = parts.house;
    this.httpsPort = portOf(parts.httpsDoor.server);
    this.httpPort = portOf(parts.httpDoor.server);
    this.#tokenSweep = setInterval(() => this.table.expireTokens(Date.now()), tokenSweepMs);
    this.#tokenSweep.unref();
  }

  static async start(options: EdgeProcessOptions): Promise<EdgeProcess> {
    let presence = (): void => {};
    const parts = createParts(options, () => presence());
    const held = await options.snapshot?.load();
    if (held) parts.table.applySnapshot({ type: 'snapshot', seq: held.position.seq, state: held.state });
    await listen(parts.httpsDoor.server, options.https, options.reusePort);
    await listen(parts.httpDoor.server, options.http, options.reusePort);
    const feedLink = createFeedLink(options, parts.table, held?.position ?? null);
    presence = () => feedLink.presenceChanged();
    return new EdgeProcess(options, parts, feedLink);
  }

  get feedConnected(): boolean {
    return this.#feedLink.connected;
  }

  /** Sockets of visitors and clients, and connections whose time is watched. */
  gauges(): { readonly sockets: number; readonly deadlines: number } {
    return { sockets: this.#parts.sockets.size, deadlines: this.house.sweeper.watched };
  }

  setTicketKeys(keys: Buffer): void {
    this.#parts.httpsDoor.ticketKeys = keys;
  }

  /** Takes nothing new and lets what is open finish; gives up after `graceMs`. */
  async drain(graceMs: number): Promise<void> {
    const { httpsDoor, httpDoor, house, gate, sockets } = this.#parts;
    house.draining = true;
    httpsDoor.server.close();
    httpDoor.server.close();
    gate.drain();
    const deadline = performance.now() + graceMs;
    while (sockets.size > 0 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
  }

  async close(): Promise<void> {
    const { httpsDoor, httpDoor, gate, house, sockets } = this.#parts;
    clearInterval(this.#tokenSweep);
    this.#feedLink.close();
    httpsDoor.close();
    httpDoor.close();
    gate.close();
    for (const socket of sockets) socket.destroy();
    house.sweeper.close();
    await this.#options.snapshot?.flush();
  }
}

interface Parts {
  readonly table: RouteTable;
  readonly house: House;
  readonly gate: Gate;
  readonly httpsDoor: HttpsDoor;
  readonly httpDoor: HttpDoor;
  readonly sockets: Set<Socket>;
}

function createParts(options: EdgeProcessOptions, onPresence: () => void): Parts {
  const { log, edgeId, region, software, publicHttpsPort } = options;
  const table = new RouteTable(log);
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const house = new House({ table, sweeper: new Sweeper(), dialer: new Dialer(options.hops), timeouts, log });
  const urlOf = (host: string): string => (publicHttpsPort === 443 ? `https://${host}` : `https://${host}:${publicHttpsPort}`);
  const gate = new Gate({ table, edgeId, region, software, urlOf, log, onPresence });
  const regionHosts = new Set(options.regionHosts);
  const shared = {
    house,
    isBalancer: compileAllowList(options.balancers),
    isRegionHost: (host: string) => regionHosts.has(host),
  };
  const http2 = new Http2Door(house);
  const httpsDoor = new HttpsDoor({
    ...shared,
    ticketKeys: options.ticketKeys,
    onClient: (socket, ends) => void gate.receive(socket, ends.sourceAddress),
    onHttp1: (socket, { ends, host, tunnel }) => new Http1Visitor(house, socket, ends, host, tunnel),
    onHttp2: (socket, { ends, host, tunnel }) => http2.receive(socket, ends, host, tunnel),
  });
  const httpDoor = new HttpDoor({ ...shared, publicHttpsPort });
  return { table, house, gate, httpsDoor, httpDoor, sockets: trackSockets(httpsDoor.server, httpDoor.server) };
}

function trackSockets(...servers: readonly Server[]): Set<Socket> {
  const sockets = new Set<Socket>();
  for (const server of servers) {
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
  }
  return sockets;
}

function createFeedLink(options: EdgeProcessOptions, table: RouteTable, position: FeedLink['position']): FeedLink {
  const reporter = new Reporter(table);
  return new FeedLink({
    dial: options.feed,
    edgeId: options.edgeId,
    region: options.region,
    software: options.software,
    hopAddress: options.hopAddress,
    startedAtMs: Date.now(),
    position,
    apply: (change, at) => {
      if (change.type === 'snapshot') table.applySnapshot(change);
      else table.applyDelta(change);
      options.snapshot?.save(() => ({ position: at, state: table.state() }));
    },
    report: (all) => reporter.report(all),
    log: options.log,
    random: Math.random,
  });
}

async function listen(server: Server, { host, port }: Listen, reusePort: boolean): Promise<void> {
  server.listen({ port, backlog, reusePort, ...(host === undefined ? {} : { host }) });
  await once(server, 'listening');
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
