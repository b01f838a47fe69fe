// A visitor's connection inside the process: one end for the relay, one for an http.Server, which takes it for a socket.
// Nothing listens. Each direction holds at most one chunk beyond the buffers of its two ends.

import { isIPv6 } from 'node:net';
import { Duplex } from 'node:stream';
import type { OpenRequest } from '@underpass/wire/core/open.ts';

class ConnectionEnd extends Duplex {
  #other: ConnectionEnd | undefined;
  /** Reports to the other end that its chunk was read. */
  #onRead: (() => void) | undefined;

  constructor() {
    super({ allowHalfOpen: true });
  }

  join(other: ConnectionEnd): void {
    this.#other = other;
  }

  override _read(): void {
    const taken = this.#onRead;
    this.#onRead = undefined;
    taken?.();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    const other = this.#other!;
    if (other.destroyed) done(Object.assign(new Error('the other end is closed'), { code: 'EPIPE' }));
    else if (other.receive(chunk)) done();
    else other.#onRead = done;
  }

  override _final(done: () => void): void {
    this.#other?.receive(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const other = this.#other!;
    queueMicrotask(() => other.lose());
    done(error);
  }

  receive(chunk: Buffer | null): boolean {
    return this.destroyed ? false : this.push(chunk);
  }

  /** The other end is gone. As with a socket, what it sent before arrives, and then the end. */
  lose(): void {
    this.receive(null);
  }
}

/** What http.Server and frameworks use of a socket. The visitor came over TLS, which the edge ended. */
class VisitorSocket extends ConnectionEnd {
  readonly encrypted = true;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly remoteFamily: 'IPv4' | 'IPv6';
  timeout = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor({ visitorAddress, visitorPort }: Pick<OpenRequest, 'visitorAddress' | 'visitorPort'>) {
    super();
    this.remoteAddress = visitorAddress;
    this.remotePort = visitorPort;
    this.remoteFamily = isIPv6(visitorAddress) ? 'IPv6' : 'IPv4';
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.#idle?.refresh();
    super._write(chunk, encoding, done);
  }

  override receive(chunk: Buffer | null): boolean {
    this.#idle?.refresh();
    return super.receive(chunk);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#idle);
    super._destroy(error, done);
  }

  /** The visitor is gone: nobody reads an answer. */
  override lose(): void {
    if (!this.readableEnded) this.destroy();
  }

  setTimeout(ms: number, listener?: () => void): this {
    clearTimeout(this.#idle);
    this.timeout = ms;
    this.#idle = ms > 0 ? setTimeout(() => this.emit('timeout'), ms).unref() : undefined;
    if (listener !== undefined) this.once('timeout', listener);
    return this;
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

export function connectVisitor(request: Pick<OpenRequest, 'visitorAddress' | 'visitorPort'>): {
  /** The relay's end. */
  readonly relayed: Duplex;
  /** The end for `server.emit('connection', socket)`. */
  readonly socket: Duplex;
} {
  const relayed = new ConnectionEnd();
  const socket = new VisitorSocket(request);
  relayed.join(socket);
  socket.join(relayed);
  return { relayed, socket };
}
