// Writes a stream's data to a socket. Gathers the data of one turn of the event loop, and reports what the system has taken.
// Holds at most the stream's window, because the peer may send no more until onTaken gives credit.

import type { Duplex } from 'node:stream';
import { type PoolChoice, poolsFor } from './buffer-pool.ts';
import { WriteQueue } from './write-queue.ts';

/** Writes a piece this small at once if the queue is empty, because a person may be waiting for it. */
const promptBytes = 4_096;

interface SocketWriterOptions {
  readonly pools?: PoolChoice;
  /** See WriteQueue. */
  readonly recycles?: boolean;
}

export class SocketWriter {
  readonly #socket: Duplex;
  readonly #queue: WriteQueue;
  #ended = false;

  /** The caller gives credit in onTaken: stream.consume(bytes). */
  constructor(
    socket: Duplex,
    onTaken: (bytes: number) => void,
    { pools = poolsFor.visitor, recycles }: SocketWriterOptions = {},
  ) {
    this.#socket = socket;
    this.#queue = new WriteQueue(socket, pools, onTaken, recycles);
  }

  /** Bytes accepted here and not yet taken by the system. */
  get waitingBytes(): number {
    return this.#queue.pendingBytes;
  }

  /** Copies the chunk, so the caller may use its memory again. */
  write(chunk: Buffer): void {
    if (this.#ended) return;
    const queue = this.#queue;
    const prompt = chunk.length <= promptBytes && queue.pendingBytes === 0;
    queue.put(chunk);
    if (prompt) queue.flush();
    else queue.schedule();
  }

  /** Ends the socket's writing side after everything that was written. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#queue.finish();
    this.#socket.end();
  }
}
