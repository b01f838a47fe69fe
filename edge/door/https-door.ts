// Port 443: reads the first flight, looks the server name up once, and passes the connection on: to the dashboard, an ACME
// challenge, a passthrough, or TLS that ends here.

import { constants } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import {
  createServer as createTlsServer,
  type SecureContext,
  type TLSSocket,
  type TlsOptions,
  type Server as TlsServer,
} from 'node:tls';
import { addressKey } from '@underpass/rules/address/address.ts';
import { parentOf, resetSocket } from '@underpass/wire/socket/reset-socket.ts';
import { canonicalServerName, HelloInPieces, type HelloPeek } from '../core/client-hello.ts';
import { type Destination, type Door, decideDestination, encodeAlert } from '../core/destination.ts';
import { answerOfError, renderErrorResponse } from '../core/own-answer.ts';
import type { Endpoints } from '../core/proxy-protocol.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import { httpDate } from '../visitor/http-date.ts';
import { Passthrough } from '../visitor/passthrough.ts';
import { ClientHandshakes } from './client-handshakes.ts';
import { createAcceptRules, type DoorOptions } from './door-options.ts';
import { sendAndEnd, socketOptions, UnroutedConnection } from './unrouted-connection.ts';
import { VisitorHandshakes } from './visitor-handshakes.ts';
import type { UndecidedPath } from './visitor-path.ts';

/** Where a connection belongs, remembered from the peek until TLS is established. */
interface Peeked {
  readonly host: string;
  readonly tunnel: TunnelState | null;
  readonly ends: Endpoints;
  readonly path: UndecidedPath | null;
}

interface HttpsDoorOptions extends DoorOptions {
  readonly ticketKeys: Buffer;
  /** Resolves once the client's carrier takes streams, or the client is refused. */
  readonly onClient: (socket: TLSSocket, ends: Endpoints) => Promise<void>;
  readonly onHttp1: (socket: TLSSocket, peeked: Peeked) => void;
  readonly onHttp2: (socket: TLSSocket, peeked: Peeked) => void;
}

/** A visitor that returns within this time resumes its session, which skips half of the handshake. */
const sessionSeconds = 12 * 3600;
/** Authenticated encryption with forward secrecy only. AES-128 costs bulk transfer a tenth less than AES-256. */
const ciphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
];
/**
 * Node copies the protocols of a server for each connection: into a slice of the pool of small buffers if they are a Buffer, which
 * then keeps 8 KiB of other small buffers for as long as the connection lives. Of a DataView it makes a copy of its own.
 */
function holdNoPool(server: TlsServer): void {
  const own = server as TlsServer & { ALPNProtocols?: NodeJS.ArrayBufferView };
  const { ALPNProtocols: protocols } = own;
  if (protocols !== undefined) own.ALPNProtocols = new DataView(Uint8Array.from(protocols as Buffer).buffer);
}

/** Rules of every TLS server here. */
const tlsRules = {
  minVersion: 'TLSv1.2',
  ciphers: ciphers.join(':'),
  honorCipherOrder: true,
  // Clients that list ChaCha20 first usually lack AES hardware; honour their order. In TLS 1.2 one connection may ask for any
  // number of handshakes, each with a signature; TLS 1.3 has no renegotiation.
  secureOptions: constants.SSL_OP_PRIORITIZE_CHACHA | constants.SSL_OP_NO_RENEGOTIATION,
  /** The time for a handshake. */
  handshakeTimeout: 10_000,
} as const;

/**
 * A ticket of TLS 1.2 resumes the session of whatever name it was made for. RFC 6066 3 forbids that, OpenSSL leaves it to us,
 * and Node does not show the name: so TLS 1.2 has no tickets, and a server of its own.
 */
const tls12Rules = {
  ...tlsRules,
  maxVersion: 'TLSv1.2',
  secureOptions: tlsRules.secureOptions | constants.SSL_OP_NO_TICKET,
} as const;

interface TlsServers {
  readonly tls12: TlsServer;
  readonly tls13: TlsServer;
}

export class HttpsDoor {
  readonly server: Server;
  readonly #clients = new ClientHandshakes();
  readonly #visitors = new VisitorHandshakes();
  readonly #options: HttpsDoorOptions;
  readonly #tls: TlsServers;
  readonly #challenges: TlsServer;
  readonly #dashboard: TlsServers;
  readonly #names: Door<TunnelState>;
  /** Weak, so the entry of a connection that dies during the handshake goes with its socket. */
  readonly #peeked = new WeakMap<Socket, Peeked>();

  constructor(options: HttpsDoorOptions) {
    this.#options = options;
    const tls13Rules: TlsOptions = {
      ...tlsRules,
      minVersion: 'TLSv1.3',
      ticketKeys: options.ticketKeys,
      sessionTimeout: sessionSeconds,
    };
    this.#tls = { tls12: this.#createTls(tls12Rules), tls13: this.#createTls(tls13Rules) };
    this.#challenges = this.#createChallenges();
    this.#dashboard = { tls12: this.#createDashboard(tls12Rules), tls13: this.#createDashboard(tls13Rules) };
    const { table } = options.context;
    this.#names = {
      isDashboard: (host) => host === options.dashboard?.host,
      tunnelOf: (host) => table.tunnelOf(host),
      hasCertificate: (host) => table.hasCertificate(host),
      hasTlsChallenge: (host) => table.hasTlsChallenge(host),
    };
    const rules = createAcceptRules(options, {
      peeks: true,
      decider: () => {
        const hello = new HelloInPieces();
        return (connection, bytes) => this.#decide(connection, hello.peek(bytes), bytes);
      },
    });
    this.server = createServer(socketOptions, (socket) => UnroutedConnection.receive(socket, rules, 'any'));
  }

  set ticketKeys(keys: Buffer) {
    this.#tls.tls13.setTicketKeys(keys);
    this.#dashboard.tls13.setTicketKeys(keys);
  }

  #decide(connection: UnroutedConnection, peek: HelloPeek, bytes: Buffer): boolean {
    if (peek.kind === 'more') return false;
    if (peek.kind === 'foreign') return this.#foreign(connection, bytes);
    if (peek.kind === 'malformed') return this.#end(connection, encodeAlert('unexpected_message'));
    const destination = decideDestination(peek.serverName, peek.protocols, this.#names);
    if (destination.kind === 'nowhere') return this.#end(connection, encodeAlert('unrecognized_name'));
    if (this.#options.context.limiter.isFullForVisitors && !this.#servesClients(destination)) return this.#refuse(connection);
    if (destination.kind === 'passthrough') return this.#pass(connection, destination.tunnel, destination.host);
    if (destination.kind === 'challenge') return this.#handOver(this.#challenges, connection, connection.take());
    const version = peek.tls13 ? 'tls13' : 'tls12';
    if (destination.kind === 'dashboard') return this.#handToDashboard(connection, this.#dashboard[version]);
    this.#remember(connection, destination.host, destination.tunnel);
    if (destination.tunnel !== null) destination.tunnel.countConnection();
    return this.#options.isRegionHost(destination.host)
      ? this.#handOver(this.#tls[version], connection, connection.read, this.#clients)
      : this.#handOver(this.#tls[version], connection, connection.take());
  }

  /** Clients dial the region's own host. ACME challenges are rare, and must succeed too. */
  #servesClients(destination: Destination<TunnelState>): boolean {
    return destination.kind === 'challenge' || (destination.kind === 'terminate' && this.#options.isRegionHost(destination.host));
  }

  #refuse({ socket, ends }: UnroutedConnection): true {
    this.#options.context.limiter.refuse(socket, 'total', ends.sourceAddress);
    return true;
  }

  #end(connection: UnroutedConnection, answer: Uint8Array | string): true {
    this.#options.context.counters.unrouted++;
    sendAndEnd(connection.socket, answer, this.#options.context.deadlines);
    return true;
  }

  /** Plain HTTP gets an error page; anything else is closed without an answer. */
  #foreign(connection: UnroutedConnection, bytes: Buffer): true {
    const http = /^[A-Z]{3,8} /.test(bytes.toString('latin1', 0, 9));
    if (!http) return this.#end(connection, '');
    const { counters, requestLog } = this.#options.context;
    counters.countError('UNDERPASS_PLAIN_HTTP');
    const headOnly = bytes[0] === 72;
    const seen = requestLog.beginUnread({ tunnel: null, address: connection.ends.sourceAddress, version: '1.1' }, '');
    seen?.answeredByEdge(answerOfError('UNDERPASS_PLAIN_HTTP'), headOnly);
    seen?.end();
    return this.#end(connection, renderErrorResponse('UNDERPASS_PLAIN_HTTP', { close: true, headOnly, date: httpDate() }));
  }

  #pass(connection: UnroutedConnection, tunnel: TunnelState, host: string): true {
    const { context } = this.#options;
    const { socket, ends, path } = connection;
    const first = connection.take();
    path?.decide();
    tunnel.countConnection();
    const refusal = tunnel.refusal(ends.sourceAddress);
    if (refusal !== null) {
      context.counters.countError(refusal);
      const seen = context.requestLog.beginConnection({ tunnel, address: ends.sourceAddress, version: '' }, host);
      seen?.answered(0, refusal);
      seen?.end();
      sendAndEnd(socket, encodeAlert('access_denied'), context.deadlines);
      return true;
    }
    // Wait until UnroutedConnection has let go of the socket: no byte may be read twice.
    queueMicrotask(() => {
      new Passthrough(context, socket, { tunnel, host, kind: 'ingress-443', ends }, first, (code) => {
        if (code === 'no-client' || code === 'no-upstream' || code === 'busy')
          sendAndEnd(socket, encodeAlert('internal_error'), context.deadlines);
        else resetSocket(socket);
      });
    });
    return true;
  }

  /**
   * Hands the socket to TLS; bytes that were already read go back in front. A client's TLS reads everything itself, in pieces
   * of 64 KiB. A visitor's does not, because each would hold a buffer of 64 KiB (docs/decisions/008).
   */
  #handOver(
    server: TlsServer,
    { socket, ends }: UnroutedConnection,
    read: Buffer,
    queue: ClientHandshakes | VisitorHandshakes = this.#visitors,
  ): true {
    queueMicrotask(() => {
      socket.on('error', ignore);
      socket.pause();
      if (read.length > 0) socket.unshift(read);
      // A visitor that ends its side during the handshake has gone: half-open it would hold a descriptor until the timeout.
      socket.allowHalfOpen = false;
      queue.add(socket, addressKey(ends.sourceAddress), () => server.emit('connection', socket));
    });
    return true;
  }

  #contextOf(serverName: string): SecureContext | undefined {
    return this.#options.context.table.certificates.contextOf(canonicalServerName(serverName)) ?? undefined;
  }

  #createTls(rules: TlsOptions): TlsServer {
    const server = createTlsServer(
      {
        ALPNProtocols: ['h2', 'http/1.1'],
        ...rules,
        allowHalfOpen: true,
        SNICallback: (host, done) => done(null, this.#contextOf(host)),
      },
      (socket) => this.#secured(socket),
    );
    holdNoPool(server);
    server.on('tlsClientError', (_error, socket) => destroyWhole(socket));
    return server;
  }

  #remember({ socket, ends, path }: UnroutedConnection, host: string, tunnel: TunnelState | null): void {
    this.#peeked.set(socket, { host, tunnel, ends, path });
  }

  #handToDashboard(connection: UnroutedConnection, server: TlsServer): true {
    this.#remember(connection, this.#options.dashboard?.host ?? '', null);
    return this.#handOver(server, connection, connection.take());
  }

  /** HTTP/1.1 only: the bytes pass to control's server unchanged. */
  #createDashboard(rules: TlsOptions): TlsServer {
    const server = createTlsServer(
      {
        ALPNProtocols: ['http/1.1'],
        ...rules,
        SNICallback: (host, done) => done(null, this.#contextOf(host)),
      },
      (socket) => {
        const ends = this.#peeked.get(parentOf(socket) as Socket)?.ends;
        if (ends === undefined) socket.destroy();
        else this.#options.dashboard?.receive(socket, ends);
      },
    );
    server.on('tlsClientError', (_error, socket) => destroyWhole(socket));
    return server;
  }

  #createChallenges(): TlsServer {
    const context = (host: string): SecureContext | undefined =>
      this.#options.context.table.challengeContext(canonicalServerName(host)) ?? undefined;
    const server = createTlsServer(
      {
        ALPNProtocols: ['acme-tls/1'],
        ...tlsRules,
        SNICallback: (host, done) => done(null, context(host)),
      },
      // Not end(): a peer that keeps its side open would keep the connection.
      (socket) => socket.destroySoon(),
    );
    server.on('tlsClientError', (_error, socket) => destroyWhole(socket));
    return server;
  }

  #secured(socket: TLSSocket): void {
    const parent = parentOf(socket);
    const peeked = parent === undefined ? undefined : this.#peeked.get(parent);
    if (peeked === undefined) {
      socket.destroy();
      return;
    }
    // HTTP/2 has no half-close: a visitor that ends its side has gone.
    socket.allowHalfOpen = socket.alpnProtocol !== 'h2';
    // Without this a half-closed socket, and its descriptor, would outlive the TLS socket on it.
    socket.on('close', () => parent?.destroy());
    if (this.#options.isRegionHost(peeked.host) && socket.alpnProtocol !== 'h2') {
      void this.#options.onClient(socket, peeked.ends).then(() => this.#clients.done(parent as Socket));
      return;
    }
    // Clients of Underpass do not use HTTP/2 on the region's host.
    this.#clients.done(parent as Socket);
    if (socket.alpnProtocol === 'h2') {
      peeked.path?.decide();
      this.#options.onHttp2(socket, peeked);
    } else this.#options.onHttp1(socket, peeked);
  }

  close(): void {
    this.server.close();
    for (const server of [...Object.values(this.#tls), ...Object.values(this.#dashboard), this.#challenges]) server.close();
  }
}

/** TLS reports the error too. Module-level, because a closure would keep the first flight in memory as long as the connection. */
function ignore(): void {}

/** Destroys the socket under TLS too: after a failed handshake it would stay half-closed, with its descriptor. */
function destroyWhole(socket: TLSSocket): void {
  socket.destroy();
  parentOf(socket)?.destroy();
}
