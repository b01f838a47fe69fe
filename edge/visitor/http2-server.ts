// Speaks HTTP/2 to visitors with Node's http2, on sockets whose TLS ended here, and bounds what a session may do.

import { createServer, type Http2Server as NodeHttp2Server, type ServerHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { headLimits } from '@underpass/wire/http/head-scan.ts';
import { streamWindowBytes } from '../core/http2-overhead.ts';
import type { Endpoints } from '../core/proxy-protocol.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import { Http2Visitor, maxStreams } from './http2-visitor.ts';
import type { VisitorContext } from './visitor-context.ts';

/**
 * Node returns the connection's credit as bytes arrive, so the windows of streams bound what is held in memory. Its default
 * of 64 KiB would limit all uploads together to 0.6 MB/s over a round trip of 100 ms.
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
      // Passes on fields that an upstream repeats; otherwise Node throws when the response is sent.
      strictSingleValueFields: false,
      // In megabytes, for one connection: header tables, queues and unread data.
      maxSessionMemory: 8,
      maxOutstandingPings: 4,
      maxSettings: 32,
      maxSessionInvalidFrames: 32,
      maxSessionRejectedStreams: 64,
      // Rapid reset: a burst as large as a page of cancelled images, then a few resets a second.
      streamResetBurst: 200,
      streamResetRate: 20,
      unknownProtocolTimeout: 10_000,
    });
    this.#server.on('session', (session) => this.#began(session));
    this.#server.on('sessionError', () => {});
  }

  receive(socket: TLSSocket, ends: Endpoints, host: string, tunnel: TunnelState | null): void {
    this.#arriving = { socket, ends, host, tunnel };
    // Emits 'session' before it returns.
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
