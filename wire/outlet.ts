// Writes what a stream delivers to a socket: gathered per event-loop turn, credit given back as the system takes it.
// Holds at most the stream's window: the peer may send no more until onTaken has given credit.

import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { Outbox } from './outbox.ts';
import { type SlabChoice, slabsFor } from './slab.ts';

/** Pieces this small leave at once when nothing waits: an answer that somebody waits for. */
const promptBytes = 4_096;

export interface OutletOptions {
  readonly slabs?: SlabChoice;
  /** See Outbox. */
  readonly recycles?: boolean;
}

export class Outlet {
  readonly #socket: Duplex;
  readonly #outbox: Outbox;
  #ended = false;

  /** onTaken is where the caller gives credit: stream.consume(bytes). */
  constructor(socket: Duplex, onTaken: (bytes: number) => void, { slabs = slabsFor.visitor, recycles }: OutletOptions = {}) {
    this.#socket = socket;
    this.#outbox = new Outbox(socket, slabs, onTaken, recycles);
  }

  /** Bytes accepted here and not yet taken by the system. */
  get waitingBytes(): number {
    return this.#outbox.pendingBytes;
  }

  /** Copies: the chunk is the caller's again. */
  write(chunk: Buffer): void {
    if (this.#ended) return;
    const outbox = this.#outbox;
    const prompt = chunk.length <= promptBytes && outbox.pendingBytes === 0;
    outbox.put(chunk);
    if (prompt) outbox.flush();
    else outbox.schedule();
  }

  /** Ends the socket's writing side behind everything written. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#outbox.finish();
    this.#socket.end();
  }
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
export const parentOf = (socket: TLSSocket): Socket | undefined => (socket as TLSSocket & { readonly _parent?: Socket })._parent;
