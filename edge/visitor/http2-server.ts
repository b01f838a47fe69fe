// HTTP/2 to visitors: Node's http2 on a socket whose TLS already ended here, with bounds on what a session may do.

import { createServer, type Http2Server as NodeHttp2Server, type ServerHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { headLimits } from '../core/head-scan.ts';
import { streamWindowBytes } from '../core/http2-overhead.ts';
import type { Endpoints } from '../core/proxy-protocol.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import { Http2Visitor } from './http2-visitor.ts';
import type { VisitorContext } from './visitor-context.ts';

/** Requests of one connection that run at the same time, each with an upstream connection of its own. */
const maxStreams = 100;
/**
 * Node gives credit for a connection as bytes come, so that streams bound what is held. The 64 KiB that it begins with would
 * bound what is under way as well: 0.5 MB/s for all uploads together over 100 ms.
 */
const connectionWindowBytes = maxStreams * streamWindowBytes;

export class Http2Server {
  readonly #context: VisitorContext;
  readonly #server: NodeHttp2Server;
  #arriving: {
    readonly socket: TLSSocket;
    readonly ends: Endpoints;
    readonly host: string;
    readonly tunnel: TunnelState | null;
  } | null = null;

  constructor(context: VisitorContext) {
    this.#context = context;
    this.#server = createServer({
      settings: {
        maxConcurrentStreams: maxStreams,
        maxHeaderListSize: headLimits.headBytes,
        initialWindowSize: streamWindowBytes,
        enablePush: false,
      },
      maxHeaderListPairs: headLimits.fieldLines,
      // An upstream that repeats a field is passed on as it is: refusing to send it would throw behind its carrier.
      strictSingleValueFields: false,
      // In megabytes: header tables, queues and what has not been read, of one connection.
      maxSessionMemory: 8,
      maxOutstandingPings: 4,
      maxSettings: 32,
      maxSessionInvalidFrames: 32,
      maxSessionRejectedStreams: 64,
      // Rapid reset: a burst as large as a page full of cancelled images, then a few a second.
      streamResetBurst: 200,
      streamResetRate: 20,
      // Reading continues where HTTP/2 says; SETTINGS and PING answers that are not read end the session below us.
      unknownProtocolTimeout: 10_000,
    });
    this.#server.on('session', (session) => this.#began(session));
    this.#server.on('sessionError', () => {});
  }

  receive(socket: TLSSocket, ends: Endpoints, host: string, tunnel: TunnelState | null): void {
    this.#arriving = { socket, ends, host, tunnel };
    // Emits "session" before it returns.
    this.#server.emit('connection', socket);
    this.#arriving = null;
  }

  #began(session: ServerHttp2Session): void {
    session.setLocalWindowSize(connectionWindowBytes);
    const arriving = this.#arriving;
    if (arriving === null) session.destroy();
    else new Http2Visitor(this.#context, session, arriving);
  }
}
