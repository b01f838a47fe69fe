// The public ports of tcp tunnels: listens on those that the feed gives, accepts a visitor, and opens its stream at once, because
// some services speak first. No byte of the visitor decides anything here.

import { createServer, type ListenOptions, type Server } from 'node:net';
import { isInRange, type PortProblem, type PortRange } from '@underpass/rules/tunnel/port-range.ts';
import type { FeedTunnel } from '@underpass/wire/feed/feed.ts';
import { resetSocket } from '@underpass/wire/socket/reset-socket.ts';
import type { Logger } from 'pino';
import { errorOfFailure, type VisitorError } from '../core/visitor-error.ts';
import { portHost, type TunnelState } from '../routes/tunnel-state.ts';
import { Passthrough } from '../visitor/passthrough.ts';
import { createAcceptRules, type DoorOptions } from './door-options.ts';
import { handleOf, type Listen, listen, type NamedSocket, type SocketHandle, socketKey } from './listen.ts';
import { socketOptions, UnroutedConnection } from './unrouted-connection.ts';

interface TcpDoorOptions extends DoorOptions {
  /** The ports that this edge may open; none if missing. */
  readonly range: PortRange | undefined;
  readonly host: string | undefined;
  /** The process before this one still serves: a port that is in use may be one of its own, and nothing is wrong then. */
  readonly hasElder: () => boolean;
  /** How to listen, with what all sockets of this process share. */
  readonly listenOptions: (where: Listen) => ListenOptions;
  /** Sockets of the process before this one, by socketKey: used once, instead of new ones. */
  readonly inherited: Map<string, number>;
  readonly closeFd: (fd: number) => void;
  readonly log: Logger;
  readonly onServer: (server: Server) => void;
  /** A socket is open, or closed if there is no handle. Other processes may hold it open. */
  readonly onSocket: (name: string, handle: SocketHandle | null) => void;
}

/** A port that another program has may become free. */
const retryMs = 5_000;

interface OpenPort {
  readonly server: Server;
  readonly name: string;
}

export class TcpDoor {
  readonly #options: TcpDoorOptions;
  /** The ports that the feed gives, by tunnel. */
  readonly #given = new Map<string, number>();
  readonly #tunnelIds = new Map<number, string>();
  readonly #open = new Map<number, OpenPort>();
  readonly #problems = new Map<number, PortProblem>();
  /** Ports that the process before this one may have. */
  readonly #awaited = new Set<number>();
  #following: Promise<void> = Promise.resolve();
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: TcpDoorOptions) {
    this.#options = options;
  }

  get listening(): number {
    return this.#open.size;
  }

  /** The ports that the feed gives and that are not open, by tunnel. */
  get problems(): Readonly<Record<string, PortProblem>> {
    return Object.fromEntries([...this.#problems].flatMap(([port, problem]) => [[this.#tunnelIds.get(port) ?? '', problem]]));
  }

  sockets(): NamedSocket[] {
    return [...this.#open.values()].flatMap(({ server, name }) => {
      const handle = handleOf(server);
      return handle === null ? [] : [{ name, handle }];
    });
  }

  /** Call it when tunnels came, changed or went. Resolves once their ports are open, closed or refused. */
  async changed(tunnelIds: Iterable<string>): Promise<void> {
    const { tunnels } = this.#options.context.table;
    let isNews = false;
    for (const id of tunnelIds) {
      const port = portOf(tunnels.get(id)?.feed);
      if (port === this.#given.get(id)) continue;
      isNews = true;
      if (port === undefined) this.#given.delete(id);
      else this.#given.set(id, port);
    }
    if (isNews) await this.#follow();
  }

  /** One after the other: a server that closes while it begins to listen would listen on. */
  #follow(): Promise<void> {
    this.#following = this.#following.then(() => this.#followOnce());
    return this.#following;
  }

  async #followOnce(): Promise<void> {
    if (this.#closed) return;
    this.#tunnelIds.clear();
    this.#awaited.clear();
    for (const [id, port] of this.#given) this.#tunnelIds.set(port, id);
    for (const port of [...this.#open.keys()]) if (!this.#tunnelIds.has(port)) this.#closePort(port);
    for (const port of this.#problems.keys()) if (!this.#tunnelIds.has(port)) this.#problems.delete(port);
    await Promise.all([...this.#tunnelIds.keys()].map((port) => this.#openPort(port)));
    clearTimeout(this.#retry);
    if (this.#awaited.size > 0 || [...this.#problems.values()].some((problem) => problem !== 'outside'))
      this.#retry = setTimeout(() => void this.#follow(), retryMs).unref();
  }

  async #openPort(port: number): Promise<void> {
    if (this.#open.has(port)) return;
    const { range, host, onSocket, onServer } = this.#options;
    if (range === undefined || !isInRange(range, port)) {
      this.#fail(port, 'outside');
      return;
    }
    const name = socketKey('tcp', { host, port });
    const server = this.#createServer(port);
    this.#open.set(port, { server, name });
    try {
      await listen(server, this.#where(name, port));
      if (this.#closed) {
        server.close();
        return;
      }
      this.#problems.delete(port);
      onServer(server);
      onSocket(name, handleOf(server));
    } catch (error) {
      if (this.#open.get(port)?.server === server) this.#open.delete(port);
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      if (isTaken && this.#options.hasElder()) this.#awaited.add(port);
      else this.#fail(port, isTaken ? 'taken' : 'failed', error as Error);
    }
  }

  #where(name: string, port: number): ListenOptions {
    const { host, inherited, listenOptions } = this.#options;
    const fd = inherited.get(name);
    inherited.delete(name);
    return listenOptions(fd === undefined ? { host, port } : { host, port, fd });
  }

  #fail(port: number, problem: PortProblem, error?: Error): void {
    if (this.#problems.get(port) === problem) return;
    this.#problems.set(port, problem);
    const tunnel = this.#tunnelIds.get(port);
    this.#options.log.error({ port, tunnel, problem, error: error?.message }, 'a port of a tcp tunnel is not open');
  }

  #closePort(port: number): void {
    const open = this.#open.get(port);
    this.#open.delete(port);
    open?.server.close();
    if (open !== undefined) this.#options.onSocket(open.name, null);
  }

  #createServer(port: number): Server {
    const rules = createAcceptRules(this.#options, {
      peeks: false,
      awaitsBytes: false,
      decider: () => (connection) => this.#pass(connection, port),
    });
    return createServer(socketOptions, (socket) => UnroutedConnection.receive(socket, rules, 'visitor'));
  }

  #pass(connection: UnroutedConnection, port: number): true {
    const { context } = this.#options;
    const { socket, ends } = connection;
    const tunnel = context.table.tunnels.get(this.#tunnelIds.get(port) ?? '');
    if (tunnel === undefined) {
      context.counters.unrouted++;
      resetSocket(socket.on('error', () => {}));
      return true;
    }
    tunnel.countConnection();
    const refusal = tunnel.refusal(ends.sourceAddress);
    if (refusal !== null) {
      this.#refuse(connection, tunnel, portHost(port), refusal);
      return true;
    }
    connection.path?.decide();
    const first = connection.take();
    // Wait until UnroutedConnection has let go of the socket: no byte may be read twice.
    queueMicrotask(() => {
      new Passthrough(context, socket, { tunnel, host: portHost(port), kind: 'tcp', ends }, first, (code) => {
        context.counters.countError(errorOfFailure(code));
        resetSocket(socket);
      });
    });
    return true;
  }

  #refuse({ socket, ends }: UnroutedConnection, tunnel: TunnelState, host: string, refusal: VisitorError): void {
    const { counters, requestLog } = this.#options.context;
    counters.countError(refusal);
    const seen = requestLog.beginConnection({ tunnel, address: ends.sourceAddress, version: '' }, host);
    seen?.answered(0, refusal);
    seen?.end();
    resetSocket(socket.on('error', () => {}));
  }

  /** Closes the sockets of the process before this one that no tunnel needs now: the kernel would give them visitors. */
  closeInherited(): void {
    for (const fd of this.#options.inherited.values()) this.#options.closeFd(fd);
    this.#options.inherited.clear();
  }

  /** Accepts nothing more. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    for (const port of [...this.#open.keys()]) this.#closePort(port);
  }
}

const portOf = (feed: FeedTunnel | undefined): number | undefined => (feed?.type === 'tcp' ? feed.port : undefined);
