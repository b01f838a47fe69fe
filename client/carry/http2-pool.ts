// Connections to upstreams that speak HTTP/2. Calls of many visitors share one. A connection that the upstream leaves (GOAWAY)
// takes no further call and finishes those that it has.

import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants, type OutgoingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { formatUpstream, type Upstream, usesTls } from '@underpass/rules/tunnel/upstream.ts';
import { notHttp2Code, openSocket, type UpstreamTrust } from './upstream-socket.ts';

/** What one call may have sent before its visitor reads; the same as for a visitor's upload at an edge. */
const streamWindowBytes = 256 * 1024;
/** Calls that share one connection, if the upstream allows as many. */
const maxCalls = 100;
const idleMs = 30_000;
/** The same with a PROXY header: only the same visitor connection may use it again. */
const ownIdleMs = 1_000;
/** The number that an edge takes. */
const maxInterim = 32;
/** A visitor gave a call up this long after the last byte that the upstream sent: it may be gone without a word. */
const silentMs = 10_000;

const sessionOptions = {
  settings: { enablePush: false, initialWindowSize: streamWindowBytes, maxHeaderListSize: 64 * 1024 },
  maxHeaderListPairs: 256,
  // In megabytes, for one connection: header tables, queues and unread data.
  maxSessionMemory: 32,
  maxOutstandingPings: 4,
  maxSettings: 32,
  maxSessionInvalidFrames: 32,
  strictSingleValueFields: false,
} as const;

interface CallOptions {
  readonly endStream: boolean;
  readonly waitForTrailers: boolean;
}

/** A way to one upstream. */
export interface Http2Caller {
  /** Resolves once a connection is open. */
  connect(): Promise<unknown>;
  /** Begins a call on a connection with room for it. */
  call(fields: OutgoingHttpHeaders, options: CallOptions): Promise<ClientHttp2Stream>;
}

export class Http2Pool {
  readonly #trust: UpstreamTrust;
  readonly #silentMs: number;
  readonly #connections = new Map<string, Http2Connection[]>();
  readonly #dialling = new Map<string, Promise<Http2Connection>>();

  constructor(trust: UpstreamTrust, silentAfterMs: number = silentMs) {
    this.#trust = trust;
    this.#silentMs = silentAfterMs;
  }

  /** Visitors with different PROXY headers never share a connection. */
  for(upstream: Upstream, preface: Uint8Array): Http2Caller {
    const key = `${formatUpstream(upstream)} ${Buffer.from(preface).toString('base64')}`;
    const find = (): Http2Connection | undefined => this.#connections.get(key)?.find(({ hasRoom }) => hasRoom);
    return {
      connect: async () => find() ?? (await this.#dial(key, upstream, preface)),
      async call(fields, options) {
        for (let found = find(); ; found = find()) {
          if (found !== undefined) return found.request(fields, options);
          await this.connect();
        }
      },
    };
  }

  #dial(key: string, upstream: Upstream, preface: Uint8Array): Promise<Http2Connection> {
    const known = this.#dialling.get(key);
    if (known !== undefined) return known;
    const onOver = (connection: Http2Connection): void => this.#forget(key, connection);
    const dialling = dialHttp2(upstream, this.#trust, preface, this.#silentMs, onOver)
      .then((connection) => {
        this.#connections.set(key, [...(this.#connections.get(key) ?? []), connection]);
        return connection;
      })
      .finally(() => this.#dialling.delete(key));
    this.#dialling.set(key, dialling);
    return dialling;
  }

  #forget(key: string, connection: Http2Connection): void {
    const rest = this.#connections.get(key)?.filter((one) => one !== connection) ?? [];
    if (rest.length > 0) this.#connections.set(key, rest);
    else this.#connections.delete(key);
  }
}

/** Resolves once the upstream has sent its SETTINGS: only then it has shown that it speaks HTTP/2. */
async function dialHttp2(
  upstream: Upstream,
  trust: UpstreamTrust,
  preface: Uint8Array,
  silentAfterMs: number,
  onOver: (connection: Http2Connection) => void,
): Promise<Http2Connection> {
  const socket = openSocket(upstream, trust, preface);
  await settled(socket, usesTls(upstream) ? 'secureConnect' : 'connect');
  if (socket instanceof TLSSocket && socket.alpnProtocol !== 'h2') {
    socket.destroy();
    throw notHttp2();
  }
  const session = connect(`${usesTls(upstream) ? 'https' : 'http'}://upstream`, {
    ...sessionOptions,
    createConnection: () => socket,
  });
  const limits = { silentMs: silentAfterMs, idleMs: preface.length === 0 ? idleMs : ownIdleMs };
  const connection = new Http2Connection(session, socket, limits, onOver);
  try {
    await settled(session, 'remoteSettings');
  } catch {
    throw notHttp2();
  }
  return connection;
}

const notHttp2 = (): Error => Object.assign(new Error('the upstream does not speak HTTP/2'), { code: notHttp2Code });

/** An upstream that accepts and stays silent ends with this; a socket has no timeout of its own. */
const settleMs = 10_000;

function settled(emitter: Socket | ClientHttp2Session, event: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error?: Error): void => {
      clearTimeout(timer);
      emitter.destroy();
      reject(error ?? Object.assign(new Error('closed'), { code: 'ECONNRESET' }));
    };
    const timer = setTimeout(() => fail(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })), settleMs);
    emitter.on('error', fail);
    emitter.once('close', () => fail());
    emitter.once(event, () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

interface Limits {
  readonly silentMs: number;
  readonly idleMs: number;
}

class Http2Connection {
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #calls = new Set<ClientHttp2Stream>();
  readonly #destroy: ClientHttp2Session['destroy'];
  readonly #silentMs: number;
  readonly #idleMs: number;
  /** When the first call began after the last byte that the upstream sent, and all its bytes until then. */
  #silentSinceMs = 0;
  #bytesRead = -1;
  #idle: NodeJS.Timeout | undefined;
  /** The upstream takes no further call here. */
  #left = false;

  constructor(session: ClientHttp2Session, socket: Socket, limits: Limits, onOver: (connection: Http2Connection) => void) {
    this.#session = session;
    this.#silentMs = limits.silentMs;
    this.#idleMs = limits.idleMs;
    this.#socket = socket;
    this.#destroy = session.destroy.bind(session);
    session.destroy = (error, code) => this.#end(error, code);
    session.setLocalWindowSize(maxCalls * streamWindowBytes);
    session.on('error', () => {});
    session.on('goaway', () => this.#leave());
    session.on('close', () => {
      this.#leave();
      clearTimeout(this.#idle);
      onOver(this);
    });
    // The carriers keep the process alive.
    socket.unref();
    this.#awaitCalls();
  }

  get hasRoom(): boolean {
    const { closed, destroyed, remoteSettings } = this.#session;
    // An upstream that allows none gets one at a time, which it may refuse.
    const most = Math.max(1, Math.min(maxCalls, remoteSettings?.maxConcurrentStreams ?? maxCalls));
    return !this.#left && !closed && !destroyed && this.#calls.size < most;
  }

  /** Throws if the connection has just ended. */
  request(fields: OutgoingHttpHeaders, options: CallOptions): ClientHttp2Stream {
    const call = this.#session.request(fields, options);
    if (options.waitForTrailers) destroyLater(call);
    call.on('error', () => {});
    this.#limitInterims(call);
    clearTimeout(this.#idle);
    this.#calls.add(call);
    if (this.#bytesRead !== this.#socket.bytesRead) {
      this.#bytesRead = this.#socket.bytesRead;
      this.#silentSinceMs = performance.now();
    }
    call.once('close', () => {
      const isSilent = this.#bytesRead === this.#socket.bytesRead;
      if (isSilent && performance.now() - this.#silentSinceMs >= this.#silentMs) this.#leave();
      this.#calls.delete(call);
      if (this.#calls.size === 0) this.#awaitCalls();
    });
    return call;
  }

  /** A call with too many ends alone. If they go on after its reset, so do the others: nothing else stops such an upstream. */
  #limitInterims(call: ClientHttp2Stream): void {
    let count = 0;
    call.on('headers', () => {
      count++;
      if (count <= maxInterim) return;
      this.#leave();
      if (!call.closed) call.close(constants.NGHTTP2_CANCEL);
      else if (count > 2 * maxInterim) this.#session.destroy(new Error('too many interim answers'));
    });
  }

  #leave(): void {
    this.#left = true;
  }

  #awaitCalls(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#session.close(), this.#left ? 0 : this.#idleMs);
    this.#idle.unref();
  }

  /**
   * Node calls this while it reads, if the upstream breaks a rule. The calls end a turn later and before the session is
   * forgotten: see edge/visitor/http2-visitor.ts for what Node (26.10) does otherwise.
   */
  #end(error?: Error, code?: number): void {
    this.#leave();
    if (this.#session.destroyed) return;
    if (this.#calls.size === 0 || this.#socket.destroyed) {
      this.#destroy(error, code);
      return;
    }
    setImmediate(() => {
      this.#socket.destroy();
      for (const call of this.#calls) if (!call.closed) call.close(constants.NGHTTP2_CANCEL);
      this.#destroy(error, code);
    });
  }
}

/**
 * Node (26.10) may still ask for the trailers of a stream that is destroyed while Node reads from the connection, and then aborts
 * the process. A stream that is destroyed in the next turn sends its reset first, and nothing asks.
 */
function destroyLater(stream: ClientHttp2Stream): void {
  const destroy = stream.destroy.bind(stream);
  stream.destroy = (error) => {
    if (stream.session?.destroyed) destroy(error);
    else setImmediate(destroy, error);
    return stream;
  };
}
