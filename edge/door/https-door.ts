// Port 443: the first flight is read, the server name looked up once, and the connection goes to one of four places.

import { constants } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import {
  createServer as createTlsServer,
  DEFAULT_CIPHERS,
  type SecureContext,
  type TLSSocket,
  type Server as TlsServer,
} from 'node:tls';
import { addressKey } from '@underpass/rules/address.ts';
import { breakOff, parentOf } from '@underpass/wire/outlet.ts';
import { HelloInPieces, type HelloPeek } from '../core/client-hello.ts';
import { type Destination, type Door, decideDestination, encodeAlert } from '../core/destination.ts';
import type { Endpoints } from '../core/proxy-protocol.ts';
import { renderErrorResponse } from '../core/visitor-error.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import type { Console } from '../visitor/console.ts';
import { httpDate } from '../visitor/http-date.ts';
import { Passthrough } from '../visitor/passthrough.ts';
import type { House } from '../visitor/visitor-context.ts';
import { ClientQueue } from './client-handshakes.ts';
import { Arrival, type ArrivalRules, doorSockets, sayAndEnd } from './unrouted-connection.ts';
import { VisitorTurns } from './visitor-handshakes.ts';

/** Where a connection belongs, remembered from the peek until TLS is up. */
interface Peeked {
  readonly host: string;
  readonly tunnel: TunnelState | null;
  readonly ends: Endpoints;
}

export interface HttpsDoorOptions {
  readonly house: House;
  readonly isBalancer: (address: string) => boolean;
  /** Connections whose server name is one of these belong to clients and ACME. */
  readonly isRegionHost: (host: string) => boolean;
  /** Missing where the dashboard is served elsewhere. */
  readonly console: Console | undefined;
  readonly ticketKeys: Buffer;
  /** Resolves when the client is in, or is not to be. */
  readonly onClient: (socket: TLSSocket, ends: Endpoints) => Promise<void>;
  readonly onHttp1: (socket: TLSSocket, peeked: Peeked) => void;
  readonly onHttp2: (socket: TLSSocket, peeked: Peeked) => void;
}

/** A visitor that comes back within this time skips half of the handshake. */
const sessionSeconds = 12 * 3600;
/** AES with 128 bits costs bulk a tenth less than with 256. Who puts ChaCha first has no AES in hardware, and gets it. */
const cipherChoice = {
  ciphers: ['TLS_AES_128_GCM_SHA256', ...DEFAULT_CIPHERS.split(':').filter((name) => name !== 'TLS_AES_128_GCM_SHA256')].join(
    ':',
  ),
  honorCipherOrder: true,
  secureOptions: constants.SSL_OP_PRIORITIZE_CHACHA | constants.SSL_OP_NO_RENEGOTIATION,
};
/** TLS 1.2 lets one connection ask for handshakes without end, each with a signature; 1.3 knows none after the first. */
const oneHandshake = { secureOptions: constants.SSL_OP_NO_RENEGOTIATION };
/** A TLS handshake that is not done by then is given up. */
const handshakeMs = 10_000;

export class HttpsDoor {
  readonly server: Server;
  readonly #clients = new ClientQueue();
  readonly #visitors = new VisitorTurns();
  readonly #options: HttpsDoorOptions;
  readonly #tls: TlsServer;
  readonly #challenges: TlsServer;
  readonly #console: TlsServer;
  readonly #names: Door<TunnelState>;
  readonly #rules: ArrivalRules;
  /** Weak, so that a connection that dies on the way is forgotten with its socket. */
  readonly #peeked = new WeakMap<Socket, Peeked>();

  constructor(options: HttpsDoorOptions) {
    const { house } = options;
    this.#options = options;
    this.#tls = this.#createTls();
    this.#challenges = this.#createChallenges();
    this.#console = this.#createConsole();
    const { table } = house;
    this.#names = {
      isConsole: (host) => host === options.console?.host,
      tunnelOf: (host) => table.tunnelOf(host),
      hasCertificate: (host) => table.hasCertificate(host),
      hasTlsChallenge: (host) => table.hasTlsChallenge(host),
    };
    this.#rules = {
      sweeper: house.sweeper,
      doorman: house.doorman,
      headMs: house.timeouts.headMs,
      isBalancer: options.isBalancer,
      isReady: () => house.table.loaded,
      glances: true,
      decider: () => {
        const hello = new HelloInPieces();
        return (arrival, bytes) => this.#decide(arrival, hello.peek(bytes), bytes);
      },
      onLost: () => {
        house.unrouted++;
      },
    };
    this.server = createServer(doorSockets, (socket) => Arrival.receive(socket, this.#rules, 'anybody'));
  }

  set ticketKeys(keys: Buffer) {
    this.#tls.setTicketKeys(keys);
    this.#console.setTicketKeys(keys);
  }

  #decide(arrival: Arrival, peek: HelloPeek, bytes: Buffer): boolean {
    if (peek.kind === 'more') return false;
    if (peek.kind === 'foreign') return this.#foreign(arrival, bytes);
    if (peek.kind === 'malformed') return this.#turnAway(arrival, encodeAlert('unexpected_message'));
    const destination = decideDestination(peek.serverName, peek.protocols, this.#names);
    if (destination.kind === 'nowhere') return this.#turnAway(arrival, encodeAlert('unrecognized_name'));
    if (this.#options.house.doorman.isFullForVisitors && !this.#servesClients(destination)) return this.#refuse(arrival);
    if (destination.kind === 'passthrough') return this.#pass(arrival, destination.tunnel, destination.host);
    if (destination.kind === 'challenge') return this.#handOver(this.#challenges, arrival, arrival.take());
    if (destination.kind === 'console') return this.#handToConsole(arrival);
    this.#peeked.set(arrival.socket, { host: destination.host, tunnel: destination.tunnel, ends: arrival.ends });
    if (destination.tunnel !== null) destination.tunnel.connections++;
    return this.#options.isRegionHost(destination.host)
      ? this.#handOver(this.#tls, arrival, arrival.read, this.#clients)
      : this.#handOver(this.#tls, arrival, arrival.take());
  }

  /** Clients dial the region's own host; the proof of a name is as rare and as needed. */
  #servesClients(destination: Destination<TunnelState>): boolean {
    return destination.kind === 'challenge' || (destination.kind === 'terminate' && this.#options.isRegionHost(destination.host));
  }

  #refuse({ socket, ends }: Arrival): true {
    this.#options.house.doorman.turnAway(socket, 'total', ends.sourceAddress);
    return true;
  }

  #turnAway(arrival: Arrival, words: Uint8Array | string): true {
    this.#options.house.unrouted++;
    sayAndEnd(arrival.socket, words, this.#options.house.sweeper);
    return true;
  }

  /** Plain HTTP gets a page in its own language; anything else gets nothing. */
  #foreign(arrival: Arrival, bytes: Buffer): true {
    const http = /^[A-Z]{3,8} /.test(bytes.toString('latin1', 0, 9));
    if (!http) return this.#turnAway(arrival, '');
    this.#options.house.countError('UNDERPASS_PLAIN_HTTP');
    return this.#turnAway(
      arrival,
      renderErrorResponse('UNDERPASS_PLAIN_HTTP', { close: true, headOnly: bytes[0] === 72, date: httpDate() }),
    );
  }

  #pass(arrival: Arrival, tunnel: TunnelState, host: string): true {
    const { house } = this.#options;
    const { socket, ends } = arrival;
    const first = arrival.take();
    tunnel.connections++;
    const refusal = house.admitTo(tunnel, ends.sourceAddress);
    if (refusal !== null) {
      house.countError(refusal);
      sayAndEnd(socket, encodeAlert('access_denied'), house.sweeper);
      return true;
    }
    // After the arrival has let go of the socket, so that no byte is heard twice.
    queueMicrotask(() => {
      new Passthrough(house, socket, { tunnel, host, kind: 'ingress-443', ends }, first, (code) => {
        if (code === 'no-client' || code === 'no-upstream' || code === 'busy')
          sayAndEnd(socket, encodeAlert('internal_error'), house.sweeper);
        else breakOff(socket);
      });
    });
    return true;
  }

  /**
   * What was read of the first flight goes back in front. A client's TLS reads all of it itself, in pieces of 64 KiB; a
   * visitor's could, but then each holds a buffer of 64 KiB (docs/decisions/008).
   */
  #handOver(
    server: TlsServer,
    { socket, ends }: Arrival,
    read: Buffer,
    queue: ClientQueue | VisitorTurns = this.#visitors,
  ): true {
    queueMicrotask(() => {
      socket.on('error', ignore);
      socket.pause();
      if (read.length > 0) socket.unshift(read);
      // Until TLS is up a visitor that ends has gone: a half-open handshake would hold its descriptor until its timeout.
      socket.allowHalfOpen = false;
      queue.add(socket, addressKey(ends.sourceAddress), () => server.emit('connection', socket));
    });
    return true;
  }

  /** TLS gives the name as it was spelled (RFC 6066 3: letter case means nothing). */
  #contextOf(host: string): SecureContext | undefined {
    return this.#options.house.table.certificates.contextOf(host.toLowerCase()) ?? undefined;
  }

  #createTls(): TlsServer {
    const server = createTlsServer(
      {
        ALPNProtocols: ['h2', 'http/1.1'],
        minVersion: 'TLSv1.2',
        ...cipherChoice,
        handshakeTimeout: handshakeMs,
        allowHalfOpen: true,
        ticketKeys: this.#options.ticketKeys,
        sessionTimeout: sessionSeconds,
        SNICallback: (host, done) => done(null, this.#contextOf(host)),
      },
      (socket) => this.#secured(socket),
    );
    server.on('tlsClientError', (_error, socket) => destroyWhole(socket));
    return server;
  }

  #handToConsole(arrival: Arrival): true {
    this.#peeked.set(arrival.socket, { host: this.#options.console?.host ?? '', tunnel: null, ends: arrival.ends });
    return this.#handOver(this.#console, arrival, arrival.take());
  }

  /** HTTP/1.1 alone: what comes goes on to control's server as it is. */
  #createConsole(): TlsServer {
    const server = createTlsServer(
      {
        ALPNProtocols: ['http/1.1'],
        minVersion: 'TLSv1.2',
        ...oneHandshake,
        handshakeTimeout: handshakeMs,
        ticketKeys: this.#options.ticketKeys,
        sessionTimeout: sessionSeconds,
        SNICallback: (host, done) => done(null, this.#contextOf(host)),
      },
      (socket) => {
        const ends = this.#peeked.get(parentOf(socket) as Socket)?.ends;
        if (ends === undefined) socket.destroy();
        else this.#options.console?.receive(socket, ends);
      },
    );
    server.on('tlsClientError', (_error, socket) => destroyWhole(socket));
    return server;
  }

  #createChallenges(): TlsServer {
    const context = (host: string): SecureContext | undefined =>
      this.#options.house.table.challengeContext(host.toLowerCase()) ?? undefined;
    const server = createTlsServer(
      {
        ALPNProtocols: ['acme-tls/1'],
        ...oneHandshake,
        handshakeTimeout: handshakeMs,
        SNICallback: (host, done) => done(null, context(host)),
      },
      // Not end(): whoever keeps his side open would keep his place.
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
    // HTTP/2 knows no half-close: a visitor that ends its side has gone.
    socket.allowHalfOpen = socket.alpnProtocol !== 'h2';
    // A half-closed socket under TLS outlives it otherwise, with its descriptor.
    socket.on('close', () => parent?.destroy());
    if (this.#options.isRegionHost(peeked.host) && socket.alpnProtocol !== 'h2') {
      void this.#options.onClient(socket, peeked.ends).then(() => this.#clients.done(parent as Socket));
      return;
    }
    // Whoever speaks HTTP/2 to the region's host is no client.
    this.#clients.done(parent as Socket);
    if (socket.alpnProtocol === 'h2') this.#options.onHttp2(socket, peeked);
    else this.#options.onHttp1(socket, peeked);
  }

  close(): void {
    this.server.close();
    this.#tls.close();
    this.#challenges.close();
    this.#console.close();
  }
}

/** TLS says it too. A function made where it is set would keep what was read of the connection for as long as that lives. */
function ignore(): void {}

/** A handshake that was broken off leaves the half-closed connection under it open, with its descriptor. */
function destroyWhole(socket: TLSSocket): void {
  socket.destroy();
  parentOf(socket)?.destroy();
}
