// Writes what a stream delivers to a socket: gathered per event-loop turn, credit given back as the socket takes it.
// Holds at most the stream's window: the peer may send no more until onTaken has given credit.

import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { atTurnEnd } from './turn.ts';

/** Pieces this small are written at once when nothing waits, and joined when something does. */
const smallBytes = 4_096;
/** A joint of small pieces: without it a peer could make each of its one-byte frames cost a queue entry here. */
const jointBytes = 16_384;

export class Outlet {
  readonly #socket: Duplex;
  readonly #onTaken: (bytes: number) => void;
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** The last of #pieces while it has room for more small ones. */
  #joint: Buffer | null = null;
  #jointFill = 0;
  #scheduled = false;
  /** Bytes that the socket has buffered above its high-water mark; 0 while it takes more. */
  #owedBytes = 0;
  #ended = false;

  /** onTaken is where the caller gives credit: stream.consume(bytes). */
  constructor(socket: Duplex, onTaken: (bytes: number) => void) {
    this.#socket = socket;
    this.#onTaken = onTaken;
    socket.on('drain', this.#drained);
  }

  /** Bytes accepted here and not yet taken by the socket. */
  get waitingBytes(): number {
    return this.#bytes + this.#owedBytes;
  }

  write(chunk: Buffer): void {
    if (this.#ended) return;
    if (chunk.length <= smallBytes && this.#bytes === 0 && this.#owedBytes === 0 && this.#socket.writableLength === 0)
      this.#pass(chunk);
    else this.#collect(chunk);
  }

  /** Ends the socket's writing side behind everything written. */
  end(): void {
    if (this.#ended) return;
    this.#flush();
    this.#ended = true;
    this.#socket.end();
  }

  #pass(chunk: Buffer): void {
    if (this.#socket.write(chunk)) this.#onTaken(chunk.length);
    else this.#owedBytes = chunk.length;
  }

  #collect(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (chunk.length > smallBytes) {
      this.#closeJoint();
      this.#pieces.push(chunk);
    } else this.#join(chunk);
    if (this.#scheduled || this.#owedBytes > 0) return;
    this.#scheduled = true;
    atTurnEnd(this.#flush);
  }

  #join(chunk: Buffer): void {
    if (this.#joint === null || this.#jointFill + chunk.length > jointBytes) {
      this.#closeJoint();
      this.#joint = Buffer.allocUnsafeSlow(jointBytes);
    }
    this.#joint.set(chunk, this.#jointFill);
    this.#jointFill += chunk.length;
  }

  #closeJoint(): void {
    if (this.#joint !== null) this.#pieces.push(this.#joint.subarray(0, this.#jointFill));
    this.#joint = null;
    this.#jointFill = 0;
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.#bytes === 0 || this.#ended) return;
    this.#closeJoint();
    const pieces = this.#pieces;
    const bytes = this.#bytes;
    this.#pieces = [];
    this.#bytes = 0;
    if (this.#writeAll(pieces)) this.#onTaken(bytes);
    else this.#owedBytes += bytes;
  };

  #writeAll(pieces: readonly Buffer[]): boolean {
    const socket = this.#socket;
    if (pieces.length === 1) return socket.write(pieces[0]);
    socket.cork();
    for (const piece of pieces) socket.write(piece);
    socket.uncork();
    return !socket.writableNeedDrain;
  }

  readonly #drained = (): void => {
    const owed = this.#owedBytes;
    this.#owedBytes = 0;
    if (owed > 0) this.#onTaken(owed);
    this.#flush();
  };
}

/**
 * Ends a socket so that its peer sees a reset, not a proper end, where the transport can say so. Under TLS it is said by the
 * connection below: that no close_notify came is overlooked by most who read.
 */
export function breakOff(socket: Duplex): void {
  const below = socket instanceof TLSSocket ? parentOf(socket) : socket;
  if (below instanceof Socket && !isEnding(socket) && !isEnding(below) && !below.connecting) below.resetAndDestroy();
  else socket.destroy();
}

/** While an end() is on its way libuv refuses to reset, and Node (26.10) then never closes the descriptor. */
const isEnding = (socket: Duplex): boolean => socket.writableEnded && !socket.writableFinished;

/** The connection that was given to TLS; none where TLS dialled by itself. */
const parentOf = (socket: TLSSocket): Socket | undefined => (socket as TLSSocket & { readonly _parent?: Socket })._parent;
