// The streams of one session by id: which ids are in use, were used or are impossible, and how many each side has open.
// docs/protocol.md 4, Streams.

import { WireError } from '../core/frame.ts';
import type { MuxStream } from './stream.ts';

const maxStreamId = 0xffff_fffe;

export class StreamTable {
  readonly #streams = new Map<number, MuxStream>();
  /** The id of the next stream that this side opens; its parity tells this side's ids from the peer's. */
  nextId: number;
  /** Streams that this side opened, and streams of the peer that are not accepted yet. */
  ourCount = 0;
  pendingCount = 0;
  #lastPeerId = 0;

  constructor(side: 'dialer' | 'acceptor') {
    this.nextId = side === 'dialer' ? 1 : 2;
  }

  get size(): number {
    return this.#streams.size;
  }

  get peerCount(): number {
    return this.#streams.size - this.ourCount;
  }

  /** False once this side has used all of its ids. */
  get hasIds(): boolean {
    return this.nextId <= maxStreamId - 2;
  }

  get(id: number): MuxStream | undefined {
    return this.#streams.get(id);
  }

  /** A copy: streams may end while the caller goes through it. */
  all(): MuxStream[] {
    return [...this.#streams.values()];
  }

  add(stream: MuxStream): void {
    this.#streams.set(stream.id, stream);
    if (stream.ours) {
      this.ourCount++;
      this.nextId += 2;
    } else this.pendingCount++;
  }

  delete(stream: MuxStream): void {
    this.#streams.delete(stream.id);
    if (stream.ours) this.ourCount--;
    else if (!stream.opened) this.pendingCount--;
  }

  #isOurs(id: number): boolean {
    return id % 2 === this.nextId % 2;
  }

  /** The id of an OPEN from the peer: of the peer's parity, and above all before it. */
  usePeerId(id: number): void {
    if (this.#isOurs(id) || id <= this.#lastPeerId)
      throw new WireError('protocol', `OPEN with id ${id} after ${this.#lastPeerId}`);
    this.#lastPeerId = id;
  }

  /** A frame for a stream that is not in the table is allowed if the stream was there once. */
  requireUsed(id: number): void {
    if (this.#isOurs(id) ? id >= this.nextId : id > this.#lastPeerId)
      throw new WireError('protocol', `stream ${id} was never opened`);
  }
}
